"""How wide a table gets in LaTeX, and the largest type and the page that hold it."""

import math
from typing import NamedTuple

from benchmark.reports.tables import Table, column

PORTRAIT_PT, LANDSCAPE_PT = 480.0, 680.0
"""Width of text on A4 and on letter paper, whichever has less, with margins of 2 cm."""

EM_PER_CHARACTER = 0.52
"""A little more than a digit, which has half an em."""

BROKEN = 26
"""Characters of a line of a column whose texts are longer than that."""


class Fit(NamedTuple):
    """How a table is set: a size of type with its em, half the room between columns, and on which page."""

    size: str
    em_pt: float
    separation_pt: float
    landscape: bool

    @property
    def room_pt(self) -> float:
        """The width that there is."""
        return LANDSCAPE_PT if self.landscape else PORTRAIT_PT


FITS = (
    Fit("small", 9.25, 6, False),
    Fit("footnotesize", 8.5, 4, False),
    Fit("scriptsize", 7.97, 3, False),
    Fit("scriptsize", 7.97, 3, True),
    Fit("tiny", 6.81, 2, True),
)


def fitting(table: Table) -> Fit:
    """The first of ``FITS`` in which a table is no wider than its page, else the last."""
    return next((fit for fit in FITS if _width_pt(table, fit) <= fit.room_pt), FITS[-1])


def _width_pt(table: Table, fit: Fit) -> float:
    text = sum(characters(table, name) for name in table.columns) * EM_PER_CHARACTER * fit.em_pt
    return text + 2 * fit.separation_pt * len(table.columns)


def characters(table: Table, name: str) -> int:
    """The width of a column, whose heading is broken between its words; its texts too, if they are long."""
    longest = max(map(len, column(table, name)), default=0)
    return max(_longest_word([name]), longest if longest <= BROKEN else broken_at(table, name))


def broken(table: Table, name: str) -> bool:
    """Whether the texts of a column are so long that they are broken into lines."""
    return name not in table.numeric and max(map(len, column(table, name)), default=0) > BROKEN


def broken_at(table: Table, name: str) -> int:
    """The characters of a line of a column that is broken; a single word may be longer than is usual."""
    return max(BROKEN, _longest_word(column(table, name)))


def lines(table: Table) -> int:
    """How many lines the body of a table has when it is set."""
    return sum(
        max((_lines(table, name, text) for name, text in zip(table.columns, row, strict=True)), default=1)
        for row in table.rows
    )


def _lines(table: Table, name: str, text: str) -> int:
    return math.ceil(len(text) / broken_at(table, name)) if broken(table, name) else 1


def _longest_word(texts: list[str]) -> int:
    return max((len(word) for text in texts for word in text.split()), default=0)
