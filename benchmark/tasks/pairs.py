r"""Pairs of documents as the Long Range Arena stores them, read line by line.

A line has five columns between tabs, quotes mean nothing: label, two ids, two texts. A text is
either plain or what Python prints of its bytes, such as ``b'two\nlines'``.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmark.spec.errors import UserError
from benchmark.tasks.paths import unlike

COLUMNS = 5
LABELS = (0.0, 1.0)
EMPTY = (b"", b"b''", b'b""')

ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
LONGEST_ESCAPE = 4


class Pair(NamedTuple):
    """Two texts as they stand in the file, and 1 if they are related; ``place`` is file and line, for messages."""

    place: str
    label: int
    texts: tuple[bytes, bytes]


class Survey(NamedTuple):
    """Rows of a file with both texts, and rows that lack one."""

    kept: int
    skipped: int


def pairs(path: Path) -> Iterator[Pair | None]:
    """Each row; None for one that lacks a text.

    Raises:
        UserError: for a web page, another number of columns, or a label that is not 0 or 1, naming file and line.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            columns = line.rstrip(b"\r\n").split(b"\t")
            place = f"{path} line {number}"
            if len(columns) != COLUMNS:
                page = number == 1 and line.lstrip().startswith(b"<")
                given = "a web page" if page else f"{len(columns)} in line {number}"
                raise UserError(unlike(path, f"rows of {COLUMNS} columns between tabs", given))
            texts = (columns[3], columns[4])
            yield None if any(text in EMPTY for text in texts) else Pair(place, _label(columns[0], place), texts)


def _label(column: bytes, place: str) -> int:
    """0 or 1 from a float in words."""
    given = column.decode("utf-8", "replace")
    try:
        label = float(given)
    except ValueError:
        label = -1.0
    if label not in LABELS:
        raise UserError(f"{place}: the label must be 0.0 or 1.0, got {given[:20]!r}; get the archive again")
    return int(label)


def survey(path: Path) -> Survey:
    """Counts the rows. Raises UserError as ``pairs`` does."""
    kept = skipped = 0
    for pair in pairs(path):
        kept, skipped = kept + (pair is not None), skipped + (pair is None)
    return Survey(kept, skipped)


def decoded(text: bytes, most: int) -> bytes:
    r"""The first bytes of a text; what Python prints of bytes is turned into these bytes.

    >>> decoded(rb"b'a\tb'", 9), decoded(rb"a\tb", 9), decoded(rb"b'caf\xc3\xa9'", 4)
    (b'a\tb', b'a\\tb', b'caf\xc3')
    """
    if len(text) < 3 or text[:1] != b"b" or text[1:2] not in (b"'", b'"') or text[-1:] != text[1:2]:
        return text[:most]
    return ESCAPE.sub(_character, text[2:-1][: LONGEST_ESCAPE * most])[:most]


def _character(escape: re.Match[bytes]) -> bytes:
    """What stands for itself, but for control characters and numbers."""
    code = escape[1]
    return bytes([int(code[1:], 16)]) if len(code) > 1 else CONTROLS.get(code, code)
