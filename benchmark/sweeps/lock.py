"""One sweep at a time measures on a device."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from benchmark.spec import UserError


class DeviceBusyError(UserError):
    """Another sweep measures on the device."""


def lock_path(device: str) -> Path:
    """The lock of a device, the same for all checkouts of one user on this machine, and for no other machine."""
    folder = Path(tempfile.gettempdir()) / f"rotbench-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{device.replace(':', '-')}.lock"


@contextmanager
def device_lock(device: str, wait: bool = False, on_wait: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Hold the device while the context lasts.

    Args:
        device: its name.
        wait: for another sweep to end, instead of giving up at once.
        on_wait: called with one line that says for whom.

    Raises:
        DeviceBusyError: if it is taken and ``wait`` is False.
    """
    path = lock_path(device)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if not wait:
            raise DeviceBusyError(f"{holder(path)} measures on {device}; wait for it with --wait") from None
        on_wait(f"waiting for {holder(path)}, which measures on {device}")
        lock.acquire()
    try:
        note_of(path).write_text(json.dumps({"pid": os.getpid(), "command": " ".join(sys.argv)[:200]}))
        yield
    finally:
        note_of(path).unlink(missing_ok=True)
        lock.release()


def note_of(path: Path) -> Path:
    """Where the holder of a lock writes who it is."""
    return path.with_suffix(".json")


def holder(path: Path) -> str:
    """Who holds a lock, in words."""
    try:
        note = json.loads(note_of(path).read_text())
        return f"process {note['pid']} ({note['command']})"
    except (OSError, ValueError, KeyError):
        return "another sweep"
