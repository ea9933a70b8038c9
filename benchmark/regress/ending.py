"""A command that is told to end takes away what it has built on the way out."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

TERMINATED = 128 + signal.SIGTERM
"""The exit code, as a shell tells it."""


@contextmanager
def unwinding() -> Iterator[None]:
    """Let SIGTERM, by which builds are cancelled, end the block as an exception does, with all clearing up."""
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's alone
        yield
        return
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(TERMINATED)


def told_by(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a command and return its exit code and what it said on stderr; it is ended if this process is."""
    with subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            told = process.communicate()[1]
        except BaseException:
            process.terminate()
            raise
        return process.returncode, told
