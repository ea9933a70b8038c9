"""What tells one state of a training's data from another, on every machine and without reading gigabytes."""

import hashlib
import json
import mmap
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.data.arrays import META, flatten
from benchmark.tasks import Splits


def fingerprint(splits: Splits) -> str:
    """A hash of the contents of all arrays of some splits, 16 hexadecimal digits.

    It rests on the CRC-32 that each array has as a .npy file. Of a memory map that is in the meta.json of its
    cache; other arrays, which are small or were drawn a moment ago, are read.
    """
    sums = {name: _checksum(array) for name, array in flatten(splits).items()}
    return hashlib.sha256(json.dumps(sums, sort_keys=True).encode()).hexdigest()[:16]


def _checksum(array: np.ndarray) -> int:
    """Of the array as a .npy file: header and contents."""
    if (path := _mapped_from(array)) is not None:
        said = json.loads((path.parent / META).read_text(encoding="utf-8"))["arrays"]
        found: int = said[path.stem]["crc32"]
        return found
    written = _Sum()
    np.save(written, array, allow_pickle=False)  # which needs no more of a file than write
    return written.crc32


def _mapped_from(array: np.ndarray) -> Path | None:
    """The file of a cache of which an array is the whole; None of any other array."""
    owner: Any = array if isinstance(array, np.memmap) else array.base
    whole = isinstance(owner, np.memmap) and isinstance(owner.base, mmap.mmap) and _layout(array) == _layout(owner)
    path = Path(owner.filename) if whole else None
    return path if path and (path.parent / META).exists() else None


def _layout(array: np.ndarray) -> tuple[Any, ...]:
    """Where and how an array lies in memory: equal for an array and a view of all of it."""
    found = array.__array_interface__
    return tuple(found[name] for name in ("data", "shape", "strides", "typestr"))


class _Sum:
    """A file that keeps nothing but the CRC-32 of what is written into it."""

    def __init__(self) -> None:
        self.crc32 = 0

    def write(self, data: bytes) -> int:
        self.crc32 = zlib.crc32(data, self.crc32)
        return len(data)
