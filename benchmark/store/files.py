"""Results folders: ``FOLDER/cells/*.parquet``, written whole or not at all, read file by file."""

import os
import secrets
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.spec.errors import UserError
from benchmark.store.row import Row, arrow_schema

DEFAULT_FOLDER = Path("results/runs")


class Loaded(NamedTuple):
    """Rows read, and the files that could not be, each with the reason."""

    rows: list[Row]
    bad: list[tuple[Path, str]]


def prepare_folder(folder: Path) -> None:
    """Make the folder and see that it can be written. Raises UserError, before anything is measured."""
    probe = folder / ".staging" / f"probe-{secrets.token_hex(4)}"
    try:
        (folder / "cells").mkdir(parents=True, exist_ok=True)
        probe.parent.mkdir(exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise UserError(
            f"results cannot be written to {folder}: {error.strerror or error}"
            f"{_obstacle(folder)}; choose another folder with --out"
        ) from None


def _obstacle(folder: Path) -> str:
    """What stands in the way: the nearest part of the path that is a file."""
    for part in (*reversed(folder.parents), folder, folder / "cells"):
        if part.exists() and not part.is_dir():
            return f" ({part} is a file)"
    return ""


def write(folder: Path, row: Row) -> Path:
    """Write one row as a new file; a crash leaves either the whole file or none.

    Returns:
        The file's path, FOLDER/cells/CELL-RANDOM.parquet.
    """
    name = f"{row.cell_id}-{secrets.token_hex(4)}.parquet"
    staged, final = folder / ".staging" / name, folder / "cells" / name
    values = row.arrow_values()
    table = pa.Table.from_pylist([values], schema=arrow_schema())
    with staged.open("wb") as file:
        pq.write_table(table, file, write_page_checksum=True)
        file.flush()
        os.fsync(file.fileno())
    staged.replace(final)
    return final


def read(folders: list[Path]) -> Loaded:
    """All rows below the folders, oldest first. Files that are damaged are named, not fatal.

    Raises:
        UserError: if a folder does not exist.
    """
    rows: list[Row] = []
    bad: list[tuple[Path, str]] = []
    for folder in folders:
        if not folder.exists():
            raise UserError(f"no results at {folder}: run `rotbench speed` or `rotbench train` first, or name a folder")
        files = [folder] if folder.is_file() else sorted(folder.rglob("*.parquet"))
        for path in files:
            if ".staging" in path.parts:
                continue
            try:
                table = pq.ParquetFile(path, page_checksum_verification=True).read()
                rows += [Row.from_arrow(values) for values in table.to_pylist()]
            except (pa.ArrowException, OSError, ValueError) as error:
                bad.append((path, str(error).splitlines()[0]))
    return Loaded(sorted(rows, key=lambda row: row.created_at), bad)
