"""The published files of Pathfinder: grey PNG images, and tables that name them with their labels."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmark.spec.errors import UserError, short
from benchmark.tasks.base import MissingDataError

NUMPY_MAGIC = b"\x93NUMPY"


class Entry(NamedTuple):
    """One image, and whether its two discs lie on one contour (1) or not (0)."""

    path: Path
    label: int


def entries(folder: Path) -> list[Entry]:
    """Every image that the tables ``metadata/K.npy`` of a level name, by the number K, then line by line.

    Raises:
        MissingDataError: if there are no tables.
        UserError: naming table and line, for a line that is not as published or names a file that is not there.
    """
    tables = sorted((p for p in folder.glob("metadata/*.npy") if p.stem.isdecimal()), key=lambda p: int(p.stem))
    if not tables:
        raise MissingDataError(f"no tables {folder / 'metadata' / '*.npy'} are there; get the archive of pathfinder")
    return [
        entry(folder, fields, f"{table}, line {number}")
        for table in tables
        for number, fields in enumerate(read_table(table), 1)
    ]


def read_table(path: Path) -> list[list[str]]:
    """The fields of each line; despite the name most tables are plain text, but some are arrays of strings."""
    try:
        data = path.read_bytes()
        if not data.startswith(NUMPY_MAGIC):
            return [line.split() for line in data.decode("ascii").splitlines()]
        return [[str(field) for field in row] for row in np.load(path, allow_pickle=False)]
    except (ValueError, EOFError, TypeError) as error:
        raise UserError(f"{path} must be a table of text: {short(str(error))}; unpack the archive anew") from None


def entry(folder: Path, fields: list[str], place: str) -> Entry:
    """What one line says: folder, file, number, label, and more that is not needed."""
    if len(fields) < 4 or fields[3] not in ("0", "1"):
        given = short(" ".join(fields))
        raise UserError(f"{place}: folder, file, number and a label 0 or 1 must come first, got {given}; get it anew")
    path = folder / fields[0] / fields[1]
    if not path.is_file():
        raise UserError(f"{place}: names the image {path}, which is not there; unpack the archive anew")
    return Entry(path, int(fields[3]))


def read_image(path: Path, size: int) -> np.ndarray:
    """Grey values (size, size) uint8. Raises UserError for a file that holds no such image."""
    from PIL import Image  # only the published files need it

    try:
        with Image.open(path) as image:
            if image.mode != "L" or image.size != (size, size):
                given = f"{image.size[0]} x {image.size[1]} of mode {image.mode}"
                raise UserError(f"{path}: the image must be {size} x {size} of mode L, got {given}; get it anew")
            return np.asarray(image)
    except (OSError, SyntaxError) as error:
        raise UserError(f"{path} must be a PNG image: {short(str(error))}; unpack the archive anew") from None
