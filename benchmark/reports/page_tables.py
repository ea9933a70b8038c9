"""Tables as the page's template reads them: how a cell sorts, what it links to."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.again import again
from benchmark.reports.listing import SHORT_ID
from benchmark.reports.tables import Table
from benchmark.store.row import Row

_PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"([-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?)(?: ([A-Za-z/]+))?")


class PageCell(NamedTuple):
    """Text, and the number by which it sorts where its column is numeric."""

    text: str
    value: float | None


class PageRow(NamedTuple):
    """A line and the ids of its cells."""

    cells: list[PageCell]
    ids: Sequence[str]


class PageTable(NamedTuple):
    """A table with an anchor. ``traced`` says whether its lines know their cells."""

    anchor: str
    title: str
    columns: list[str]
    numeric: frozenset[str]
    rows: list[PageRow]
    notes: list[str]
    traced: bool


def sort_value(text: str) -> float | None:
    """The number that a text of ``numbers`` stands for, in base units; of an interval its lower end; None if none.

    >>> sort_value("12.3 kB"), sort_value("1 min 15 s"), sort_value("97.5 %"), sort_value("–")
    (12300.0, 75.0, 97.5, None)
    """
    found = _NUMBER.findall(text)
    if not found:
        return None
    if " to " in text or found[0][1] not in _SECONDS:
        return _scaled(*found[0])
    return sum(float(number.replace(",", "")) * _SECONDS[unit] for number, unit in found if unit in _SECONDS)


def _scaled(number: str, unit: str) -> float:
    factor = _PREFIXES.get(unit[:1], 1.0) if unit not in _SECONDS else 1.0
    return float(number.replace(",", "")) * factor


def page_table(table: Table, anchor: str) -> PageTable:
    """A table for the template. One made by ``traced`` brings the cells of its lines along."""
    ids: Sequence[Sequence[str]] = getattr(table, "cells", None) or []
    right = [name in table.numeric for name in table.columns]
    rows = [
        PageRow(
            [PageCell(text, sort_value(text) if number else None) for text, number in zip(line, right, strict=True)],
            ids[i] if i < len(ids) else (),
        )
        for i, line in enumerate(table.rows)
    ]
    return PageTable(anchor, table.title, table.columns, table.numeric, rows, table.notes, bool(ids))


class CellLine(NamedTuple):
    """What a reader needs to look a cell up and to measure it again."""

    id: str
    what: str
    when: str
    status: str
    environment: str
    command: str


def cell_lines(rows: Sequence[Row], environments: Mapping[str, str]) -> list[CellLine]:
    """One line a cell, in the order of the rows."""
    return [
        CellLine(
            row.cell_id,
            " ".join(part for part in (row.metric, row.layer, row.framework, row.direction, _size(row)) if part),
            row.created_at.strftime("%Y-%m-%d %H:%M"),
            row.status,
            environments[row.cell_id],
            command(row),
        )
        for row in rows
    ]


def _size(row: Row) -> str:
    return row.task or (f"length {n.count(row.seq_len)}" if row.seq_len else "")


def command(row: Row) -> str:
    """What measures a cell again; what shows everything about it where no command can."""
    return again([row]) or f"rotbench results show {row.cell_id[:SHORT_ID]}"
