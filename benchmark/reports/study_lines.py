"""Rows of a study as lines of a table: those that differ in their seeds alone stand in one line."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmark.reports.answers.apart import Placed, places_apart
from benchmark.reports.environments import environments
from benchmark.reports.labels import variants
from benchmark.reports.recipes import words
from benchmark.store.row import Row


class Line(NamedTuple):
    """One line: the texts of its first columns, what else tells it from the other lines, and the rows behind it."""

    head: tuple[str, ...]
    variant: str
    rows: list[Row]

    @property
    def cells(self) -> list[str]:
        """The ids of its rows."""
        return [row.cell_id for row in self.rows]


def study_lines(
    rows: Sequence[Row], setting: Callable[[Row], Mapping[str, Any]], head: Callable[[Row], tuple[str, ...]]
) -> list[Line]:
    """Rows by setting, in the order of their heads.

    Args:
        rows: of one study.
        setting: what the rows of one line agree in: everything but their seeds.
        head: the texts of a line's first columns, which follow from its setting.
    """
    options = option_words(rows)
    groups = _alike(rows, setting)
    placed = [Placed((*head(m[0]), options[m[0].cell_id]), (), setting(m[0]), m) for m in groups]
    apart = places_apart(placed, environments(rows))
    lines = [
        Line(head(members[0]), ", ".join(filter(None, (options[members[0].cell_id], *more))), members)
        for members, more in zip(groups, apart, strict=True)
    ]
    return sorted(lines, key=lambda line: [*map(_in_order, line.head), _in_order(line.variant)])


def _alike(rows: Sequence[Row], setting: Callable[[Row], Mapping[str, Any]]) -> list[list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(words(setting(row)), []).append(row)
    return list(found.values())


def _in_order(text: str) -> tuple[int, str]:
    """Numbers by their size, words by the alphabet.

    >>> sorted(["1,024", "512", "jax"], key=_in_order)
    ['jax', '512', '1,024']
    """
    digits = text.replace(",", "")
    return (int(digits) if digits.isdecimal() else -1), text


def option_words(rows: Sequence[Row]) -> dict[str, str]:
    """By cell, the options in which rows of one layer differ."""
    return variants([row.model_copy(update={"seed": 0, "replicate": 0, "options": _shortened(row)}) for row in rows])


def _shortened(row: Row) -> dict[str, Any]:
    """Options with numbers as short as a table needs."""
    return {name: float(f"{v:.5g}") if isinstance(v, float) else v for name, v in row.options.items()}
