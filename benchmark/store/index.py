"""What a folder's files held when they were last read: a cache that may be deleted at any time."""

import os
import secrets
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.store.row import Row, arrow_schema

NAME = ".index.parquet"

LEAST_NEW = 100
"""So many files must be new before the index is written again."""

STAMPS = {"_file": pa.string(), "_size": pa.int64(), "_mtime_ns": pa.int64()}


class Stamp(NamedTuple):
    """What tells that a file is still the one that was read: results files are never changed, only added."""

    size: int
    mtime_ns: int


Entries = dict[str, tuple[Stamp, list[Row]]]


def stamp_of(path: Path) -> Stamp | None:
    """Of a file now; None if it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return Stamp(found.st_size, found.st_mtime_ns)


def load(folder: Path) -> Entries:
    """The entries by file; none where there is no index or it cannot be read."""
    try:
        table = pq.ParquetFile(folder / NAME, page_checksum_verification=True).read()
        if table.schema.names != [*arrow_schema().names, *STAMPS]:
            return {}
        entries: Entries = {}
        for values in table.to_pylist():
            name, stamp = values.pop("_file"), Stamp(values.pop("_size"), values.pop("_mtime_ns"))
            entries.setdefault(name, (stamp, []))[1].append(Row.from_arrow(values))
    except (pa.ArrowException, OSError, ValueError, KeyError):
        return {}
    return entries


def save(folder: Path, entries: Entries) -> None:
    """Write the index anew; a folder that cannot be written goes without."""
    values = [
        row.arrow_values() | {"_file": name, "_size": stamp.size, "_mtime_ns": stamp.mtime_ns}
        for name, (stamp, rows) in entries.items()
        for row in rows
    ]
    schema = pa.schema([*arrow_schema(), *(pa.field(name, kind) for name, kind in STAMPS.items())])
    staged = folder / f"{NAME}.{secrets.token_hex(4)}"
    try:
        pq.write_table(pa.Table.from_pylist(values, schema=schema), staged, write_page_checksum=True)
        os.replace(staged, folder / NAME)
    except OSError:
        staged.unlink(missing_ok=True)
