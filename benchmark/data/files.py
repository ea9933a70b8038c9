"""Writing into the data folder: one process at a time, whole or not at all, with errors that say what to do."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from benchmark.spec.errors import UserError

Say = Callable[[str], None]
"""Called with a line for the user."""

SPARE_BYTES = 64 << 20
"""Left free on a disk: what else runs there needs some."""


class NotWrittenError(UserError):
    """Something could not be written into the data folder."""


def silent(line: str) -> None:
    """A Say that says nothing."""


@contextmanager
def held(path: Path, say: Say = silent) -> Iterator[None]:
    """Hold what is to be written at ``path`` while the context lasts; waits, with a line, for whoever holds it.

    Raises:
        NotWrittenError: if the folder cannot be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            say(f"waiting for another process that works on {path}")
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the file system into one line. Raises NotWrittenError."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise _full(path) from None
        why = error.strerror or str(error)
        raise NotWrittenError(f"cannot write {path}: {why}; choose another folder with --data-dir") from None


def _full(path: Path) -> NotWrittenError:
    return NotWrittenError(
        f"the disk is full: {path} could not be written; free some space, or choose another folder with --data-dir"
    )


def need_space(folder: Path, size_bytes: int, what: str) -> None:
    """Raise NotWrittenError unless so much fits on the disk of ``folder``, which exists, beside what others need."""
    free = shutil.disk_usage(folder).free
    if free < size_bytes + SPARE_BYTES:
        raise NotWrittenError(
            f"{what} needs {size_bytes / 1e9:,.2f} GB and {free / 1e9:,.2f} GB are free at {folder}; "
            "free some space, or choose another folder with --data-dir"
        )


def sync(path: Path) -> None:
    """Wait until a file has reached the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def remove(path: Path) -> None:
    """Remove a file or a folder, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def aside(path: Path) -> Path:
    """Move a file or folder out of the way, to a name that is free, and return that."""
    number = 1
    while (kept := path.with_name(f"{path.name}.old-{number}")).exists():
        number += 1
    return path.rename(kept)


def replace_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all. Raises NotWrittenError."""
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            staged.write_text(text, encoding="utf-8")
            sync(staged)
            staged.replace(path)
        finally:
            staged.unlink(missing_ok=True)


def size_bytes(folder: Path) -> int:
    """Of all files below a folder; 0 if there is none."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
