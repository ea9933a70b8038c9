"""What unpacked archives turned out to lack, so that none is unpacked twice in vain.

::

    DATA_DIR/SOURCE/.unpacked.json     {"lra_release.gz": {"stamp": [size in bytes, time of change in ns],
                                                           "lacks": ["lra", "lra/retrieval"]}}
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmark.data.files import replace_text

NAME = ".unpacked.json"


def remember(archive: Path, folder: Path, lacks: Iterable[str]) -> None:
    """Note that an archive has been unpacked.

    Args:
        archive: the file.
        folder: of its source.
        lacks: the addresses whose files are not all in it.

    Raises:
        NotWrittenError: if the folder cannot be written.
    """
    entry = {"stamp": _stamp(archive), "lacks": [*lacks]}
    replace_text(folder / NAME, json.dumps(_load(folder) | {archive.name: entry}, indent=1))


def is_lacking(archive: Path, folder: Path, address: str) -> bool:
    """Whether this very archive has been unpacked and did not hold all files of an address."""
    entry = _load(folder).get(archive.name)
    return isinstance(entry, dict) and entry.get("stamp") == _stamp(archive) and address in entry.get("lacks", ())


def _stamp(archive: Path) -> list[int]:
    """While size and time of change stay, so do the contents."""
    found = archive.stat()
    return [found.st_size, found.st_mtime_ns]


def _load(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
