"""Whether a file is the published one: its size and its sums."""

import hashlib
from pathlib import Path

from benchmark.data.sources import File
from benchmark.spec.errors import UserError
from benchmark.tasks.base import Tell, quiet

CHUNK_BYTES = 1 << 20


class Digest:
    """The size and the sums of what has streamed past."""

    def __init__(self) -> None:
        """Of nothing yet."""
        self.size_bytes = 0
        self.sums = {"sha256": hashlib.sha256(), "md5": hashlib.md5(usedforsecurity=False)}

    def update(self, data: bytes) -> None:
        """More of the file."""
        self.size_bytes += len(data)
        for each in self.sums.values():
            each.update(data)

    def fault(self, file: File) -> str:
        """In what the file differs from the published one, in words; empty if in nothing."""
        if file.size_bytes is not None and self.size_bytes != file.size_bytes:
            return f"it has {self.size_bytes:,} bytes, not {file.size_bytes:,}"
        for name, found in self.sums.items():
            published = getattr(file, name)
            if published and found.hexdigest() != published:
                return f"its {name} is {found.hexdigest()}, not {published}"
        return ""


def digest(path: Path, tell: Tell = quiet) -> Digest:
    """The size and the sums of a file that is here."""
    found, total = Digest(), path.stat().st_size
    with path.open("rb") as file:
        while data := file.read(CHUNK_BYTES):
            found.update(data)
            tell(found.size_bytes, total)
    return found


def check(file: File, path: Path, tell: Tell = quiet) -> None:
    """Raise UserError unless the file at ``path`` is the published one."""
    if fault := digest(path, tell).fault(file):
        raise UserError(f"{path} is not the published file: {fault}; delete it and run `rotbench data get` again")
