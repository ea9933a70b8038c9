"""Results folders: ``FOLDER/cells/*.parquet``, written whole or not at all, read file by file."""

import base64
import contextlib
import hashlib
import itertools
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from benchmark.spec.errors import UserError
from benchmark.store import index
from benchmark.store.row import Row, arrow_schema

STEPS, SIGNAL, SCAN_ACCURACY = "steps", "signal", "scan-accuracy"
"""Folders of losses by step (``benchmark.store.trained``), of signal propagation (``benchmark.studies``) and of
errors of scans (``benchmark.verification``)."""
OTHER_TABLES = (STEPS, SIGNAL, SCAN_ACCURACY)


SUMMED = re.compile(r"[0-9a-f]{16}-([0-9a-f]{16})\.parquet")
"""Names of files whose contents have a sum; those of earlier versions have not."""


class Loaded(NamedTuple):
    """Rows read, and the files that could not be, each with the reason."""

    rows: list[Row]
    bad: list[tuple[Path, str]]


def prepare_folder(folder: Path) -> None:
    """Make the folder and see that it can be written. Raises UserError, before anything is measured."""
    name = f"probe-{secrets.token_hex(4)}"
    with _named(folder):
        (folder / "cells").mkdir(parents=True, exist_ok=True)
        (folder / ".staging").mkdir(exist_ok=True)
        (folder / ".staging" / name).write_bytes(b"")
        (folder / ".staging" / name).replace(folder / "cells" / name)
        (folder / "cells" / name).unlink()


def write(folder: Path, row: Row) -> Path:
    """Write one row as a new file; a crash leaves either the whole file or none.

    Returns:
        The file's path, FOLDER/cells/CELL-SUM.parquet, where SUM is that of the file's contents.

    Raises:
        UserError: if it cannot be written, such as on a full disk. What was there stays, and this row
            is kept in the system's folder for temporary files if that can be written.
    """
    contents = _packed(_table([row]))
    name = f"{row.cell_id}-{_sum(contents)}.parquet"
    try:
        with _named(folder / "cells" / name):
            return _write(contents, folder / ".staging" / name, folder / "cells" / name)
    except UserError as error:
        rescue = Path(tempfile.gettempdir()) / f"rotbench-rescued-{name}"
        try:
            _write(contents, rescue.with_suffix(".part"), rescue)
        except OSError:
            raise error from None
        raise UserError(f"{error}; the row that was just measured is kept as {rescue}") from None


def write_table(path: Path, table: pa.Table) -> Path:
    """Write any table, whole or not at all. Raises UserError if it cannot be written."""
    with _named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        return _write(_packed(table), _staged(path), path)


def write_rows(path: Path, rows: Sequence[Row]) -> Path:
    """Write many rows as one file, a twentieth as large as a file each, that reads as they do.

    Raises:
        UserError: if it cannot be written.
    """
    return write_table(path, _table(rows))


def write_whole(path: Path, contents: str | bytes) -> None:
    """Write a file, whole or not at all. Raises UserError if it cannot be written."""
    with _named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(contents.encode() if isinstance(contents, str) else contents, _staged(path), path)


def _table(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([row.arrow_values() for row in rows], schema=arrow_schema())


def _packed(table: pa.Table) -> bytes:
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream, write_page_checksum=True)
    return bytes(stream.getvalue())


def _sum(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()[:16]


def name_of(path: Path, rows: Sequence[Row]) -> str:
    """The name, with the sum of its contents, under which a file that was read belongs in a results folder."""
    total = _sum(path.read_bytes())
    beginning = rows[0].cell_id if len(rows) == 1 else path.stem.removesuffix(f"-{total}")
    return f"{beginning}-{total}.parquet"


def _staged(path: Path) -> Path:
    return path.with_name(f".{path.name}-{secrets.token_hex(4)}")


def _write(contents: bytes, staged: Path, final: Path) -> Path:
    try:
        with staged.open("wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        return staged.replace(final)
    finally:
        staged.unlink(missing_ok=True)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turn an error of the file system into one line that names what stands in the way."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {why}{_obstacle(path)}; choose another place with --out") from None


def _obstacle(path: Path) -> str:
    """What stands in the way: the nearest part of the path that is a file."""
    for part in (*reversed(path.parents), path, path / "cells"):
        with contextlib.suppress(OSError):
            if part.exists() and not part.is_dir():
                return f" ({part} is a file)"
    return ""


def _holds_no_rows(part: str) -> bool:
    return part.startswith(".") or part in OTHER_TABLES


def paths(sources: Sequence[Path]) -> list[Path]:
    """The results files below folders, and files themselves; temporaries and indices are none.

    Raises:
        UserError: if a source does not exist.
    """
    found: list[Path] = []
    for source in sources:
        if not source.exists():
            raise UserError(f"no results at {source}: run `rotbench speed` or `rotbench train` first, or name a folder")
        if source.is_file():
            found.append(source)
        else:
            listed = sorted(source.rglob("*.parquet"))
            found += [p for p in listed if not any(map(_holds_no_rows, p.relative_to(source).parts))]
    return found


def read_file(path: Path) -> Loaded:
    """The rows of one file, or why it cannot be read."""
    try:
        contents = path.read_bytes()
        if (named := SUMMED.fullmatch(path.name)) and named[1] != _sum(contents):
            return Loaded([], [(path, "damaged: its contents are not those whose sum its name bears")])
        file = pq.ParquetFile(pa.BufferReader(contents), page_checksum_verification=True)
        if odd := _renamed(file):
            return Loaded([], [(path, f"damaged: column {odd[0]!r} was written under another name")])
        table = file.read(use_threads=False)
        if missing := {"cell_id", "status", "metric"} - set(table.schema.names):
            return Loaded([], [(path, f"no results file of rotbench: it has no {', '.join(sorted(missing))}")])
        rows = [Row.from_arrow(values) for values in table.to_pylist()]
        return Loaded(rows, [] if rows else [(path, "damaged: it has no row")])
    except ValidationError as error:
        first = error.errors()[0]
        return Loaded([], [(path, f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}")])
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        return Loaded([], [(path, str(error).splitlines()[0] if str(error) else type(error).__name__)])


def _renamed(file: pq.ParquetFile) -> list[str]:
    """Columns whose name is not the one that they were written under, in files whose name bears no sum.

    Checksums guard pages, not the footer: one wrong bit in a name would read as a column that is not known, and
    the known one as null. Arrow writes the names twice, as Parquet's schema and as its own.
    """
    written = (file.metadata.metadata or {}).get(b"ARROW:schema")
    if written is None:  # by another writer
        return []
    names = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(written))).names
    found = file.schema_arrow.names
    return [name for name, other in itertools.zip_longest(found, names, fillvalue="") if name != other]


def read(sources: Sequence[Path]) -> Loaded:
    """All rows of the sources, oldest first. Files that are damaged are named, not fatal.

    Folders keep an index of what was read before, so that thousands of files are read once; it is
    rebuilt where it is missing or does not fit.

    Raises:
        UserError: if a source does not exist.
    """
    rows: list[Row] = []
    bad: list[tuple[Path, str]] = []
    seen: set[Path] = set()
    for source in sources:
        loaded = _read_source(source, seen)
        rows += loaded.rows
        bad += loaded.bad
    return Loaded(sorted(rows, key=lambda row: row.created_at), bad)


def _read_source(source: Path, seen: set[Path]) -> Loaded:
    """The rows of one file or folder, without files that were seen before; they are added to ``seen``."""
    known = index.load(source) if source.is_dir() else {}
    kept: index.Entries = {}
    rows: list[Row] = []
    bad: list[tuple[Path, str]] = []
    fresh = 0
    resolved = source.resolve()
    for path in paths([source]):
        name = str(path.relative_to(source))
        if (place := resolved / name) in seen:
            continue
        seen.add(place)
        stamp = index.stamp_of(path)
        entry = known.get(name)
        if entry is None or entry[0] != stamp:
            loaded = read_file(path)
            bad += loaded.bad
            entry = (stamp, loaded.rows) if stamp is not None else None
            fresh += bool(loaded.rows)
        if entry is not None and entry[1]:
            kept[name] = entry
            rows += entry[1]
    if source.is_dir() and fresh >= index.LEAST_NEW:
        index.save(source, kept)
    return Loaded(rows, bad)
