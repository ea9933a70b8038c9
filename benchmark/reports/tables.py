"""Tables as data, and their three forms: terminal, Markdown, HTML (by the page's template)."""

import io
from dataclasses import dataclass, field, replace
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

UNLIMITED = 100_000


@dataclass(frozen=True)
class Table:
    """Text cells under named columns. ``numeric`` columns are set to the right; ``notes`` stand below.

    ``optional`` names the columns that a narrow terminal may do without, the least missed first.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    numeric: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    optional: tuple[str, ...] = ()


@dataclass(frozen=True)
class Traced(Table):
    """A table, and for each of its lines the ids of the cells behind it."""

    cells: list[list[str]] = field(default_factory=list)


def to_terminal(table: Table, width: int | None = None, color: bool = False, encoding: str = "utf-8") -> str:
    """The table in box characters, of ASCII where the encoding has no others.

    Without a width nothing is cut off, folded or left out.
    """
    table = narrowed(table, width) if width else table
    plain = not encoding.lower().replace("-", "").startswith("utf")
    drawn = RichTable(box=box.ASCII2 if plain else box.HEAVY_HEAD)
    for name in table.columns:
        justify: Literal["left", "right"] = "right" if name in table.numeric else "left"
        drawn.add_column(name, justify=justify, overflow="fold", no_wrap=name in table.numeric, min_width=4)
    for row in table.rows:
        drawn.add_row(*row)
    text = io.StringIO()
    console = Console(
        file=text,
        width=width or UNLIMITED,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
    )
    console.print(table.title, style="italic", soft_wrap=width is None)
    console.print(drawn)
    for note in table.notes:
        console.print(note, soft_wrap=width is None)
    lines = "\n".join(line.rstrip() for line in text.getvalue().splitlines())
    return lines.replace("\N{EN DASH}", "-") if plain else lines


def narrowed(table: Table, width: int) -> Table:
    """The table without what does not fit: first columns that are the same in all rows, then optional ones.

    What is taken out is said in the notes.
    """
    same, missing = [], []
    for name in [*table.columns]:
        if natural_width(table) > width and len(table.rows) > 1 and len(values := set(column(table, name))) == 1:
            if value := values.pop():
                same.append(f"{name} {value}")
            table = without(table, name)
    for name in table.optional:
        if natural_width(table) > width and name in table.columns:
            missing.append(name.replace("\n", " "))
            table = without(table, name)
    notes = [*table.notes]
    if same:
        notes.insert(0, f"In all rows: {', '.join(same)}.")
    if missing:
        notes.insert(0, f"Left out for want of room: {', '.join(missing)}; a wider terminal shows them.")
    return replace(table, notes=notes)


def condensed(table: Table) -> Table:
    """The table with what all of its rows share in a note instead of in columns; one of a single row stays as it is."""
    same = [name for name in table.columns if len(table.rows) > 1 and len(set(column(table, name))) == 1]
    words = [f"{name} {column(table, name)[0]}".strip() for name in same]
    for name in same:
        table = without(table, name)
    return replace(table, notes=[f"In all rows: {', '.join(words)}.", *table.notes]) if same else table


def natural_width(table: Table) -> int:
    """Columns of a terminal that the table fills if nothing is folded."""
    widths = [
        max(len(line) for cell in (name, *column(table, name)) for line in cell.split("\n")) for name in table.columns
    ]
    return sum(widths) + 3 * len(widths) + 1


def column(table: Table, name: str) -> list[str]:
    """The cells of one column."""
    index = table.columns.index(name)
    return [row[index] for row in table.rows]


def without(table: Table, name: str) -> Table:
    """The table without one column."""
    index = table.columns.index(name)
    rows = [row[:index] + row[index + 1 :] for row in table.rows]
    return replace(table, columns=[c for c in table.columns if c != name], rows=rows)


def to_markdown(table: Table) -> str:
    """A pipe table under its title."""
    marks = ["---:" if name in table.numeric else "---" for name in table.columns]
    lines = [
        [name.replace("\n", " ") for name in table.columns],
        marks,
        *([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in table.rows),
    ]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([f"### {table.title}", body, *table.notes])
