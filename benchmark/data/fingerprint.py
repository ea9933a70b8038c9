"""What tells one state of a data set's files from another, without reading a gigabyte at every start."""

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from benchmark.data.files import replace_text
from benchmark.data.folder import matches
from benchmark.data.sources import wanted
from benchmark.spec.errors import UserError

Stamp = list[int]
"""Size in bytes and time of change in ns: while both stay, so do the contents."""


def fingerprint(address: str, root: Path, memory: Path) -> str:
    """A hash of the files that an address needs.

    Files that are needed by name count with their contents, those of a tree with path, size and time of
    change: to read 100,000 of them would take longer than what the cache saves.

    Args:
        address: such as lra/listops.
        root: the folder below which they lie.
        memory: a JSON file that keeps what was hashed before, so that an unchanged file is read once.
    """
    known = _load(memory)
    seen: dict[str, list[Any]] = {}
    entries: list[list[Any]] = []
    for need in wanted(address).needs:
        for name in matches(need, root):
            path = os.path.join(root, name)
            stamp = _stamp(path)
            if need.is_glob:
                entries.append([name, *stamp])
            else:
                seen[path] = _entry(path, stamp, known)
                entries.append([name, seen[path][1]])
    if not seen.items() <= known.items():
        with contextlib.suppress(UserError):  # a folder that cannot be written costs time, no more
            replace_text(memory, json.dumps(known | seen, indent=1))
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


def _entry(path: str, stamp: Stamp, known: dict[str, list[Any]]) -> list[Any]:
    """Stamp and hash of a file, read only where it has changed."""
    kept = known.get(path)
    if kept and kept[0] == stamp:
        return kept
    with open(path, "rb") as file:
        return [stamp, hashlib.file_digest(file, "sha256").hexdigest()]


def _stamp(path: str) -> Stamp:
    found = os.stat(path)  # without a Path, of which 100,000 take seconds
    return [found.st_size, found.st_mtime_ns]


def _load(memory: Path) -> dict[str, list[Any]]:
    try:
        found = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    good = isinstance(found, dict) and all(isinstance(entry, list) and len(entry) == 2 for entry in found.values())
    return found if good else {}
