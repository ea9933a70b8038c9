"""Tables for LaTeX, by booktabs. Nothing is set in bold: a table does not know what is significant."""

import unicodedata
from collections.abc import Sequence

from benchmark.reports.tables import Table, column

LONG = 40
"""Lines beyond which a table runs over pages (longtable)."""

BROKEN_EM = 13
"""Width of a column whose texts are longer, at about two characters an em."""

PACKAGES = ("booktabs", "longtable")

COMMANDS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "-": "-",
    "\N{EN DASH}": "--",
    "\N{EM DASH}": "---",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MICRO SIGN}": r"$\mu$",
    "\N{LESS-THAN OR EQUAL TO}": r"$\leq$",
    "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
    "\N{NO-BREAK SPACE}": "~",
    "\N{SUPERSCRIPT TWO}": r"$^2$",
}


def escaped(text: str) -> str:
    r"""Plain text as LaTeX sets it; a character that pdfLaTeX may not know loses its accents or becomes ``?``.

    >>> print(escaped("lru_1: 5 % of x<y – ok"))
    lru\_1: 5 \% of x\textless{}y -- ok
    """
    return "".join(COMMANDS.get(character) or _plain(character) for character in " ".join(text.split("\n")))


def _plain(character: str) -> str:
    if " " <= character <= "~":
        return character
    if not character.isprintable():
        return " "
    found = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return "".join(COMMANDS.get(part, part) for part in found) or "?"


def to_latex(table: Table, label: str | None = None) -> str:
    """A table with its title as caption and its notes below; a long one runs over pages.

    Args:
        table: to set. Its numeric columns stand to the right.
        label: to refer to it by.

    Returns:
        A ``table`` or ``longtable`` environment. Its packages are those of ``PACKAGES``.
    """
    mark = rf"\label{{{label}}}" if label else ""
    caption = rf"\caption{{{escaped(table.title)}}}{mark}"
    make = _over_pages if len(table.rows) > LONG else _afloat
    return "\n".join(make(table, caption))


def _afloat(table: Table, caption: str) -> list[str]:
    return [
        r"\begin{table}[htbp]",
        r"\centering\small",
        caption,
        rf"\begin{{tabular}}{{{_columns(table)}}}",
        r"\toprule",
        _head(table),
        r"\midrule",
        *_body(table),
        r"\bottomrule",
        r"\end{tabular}",
        *_notes(table),
        r"\end{table}",
    ]


def _over_pages(table: Table, caption: str) -> list[str]:
    return [
        r"\begingroup\small",
        rf"\begin{{longtable}}{{{_columns(table)}}}",
        rf"{caption}\\",
        r"\toprule",
        _head(table),
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
        *_body(table),
        r"\end{longtable}",
        *_notes(table),
        r"\endgroup",
    ]


def _columns(table: Table) -> str:
    """Of a table without columns one, which stays empty."""
    return "".join(_alignment(table, name) for name in table.columns) or "l"


def _alignment(table: Table, name: str) -> str:
    """To the right, to the left, or broken into lines where a text is long."""
    if name in table.numeric:
        return "r"
    return f"p{{{BROKEN_EM}em}}" if max(map(len, column(table, name)), default=0) > BROKEN_EM * 2 else "l"


def _head(table: Table) -> str:
    return _line(table.columns)


def _body(table: Table) -> list[str]:
    return [_line(row) for row in table.rows]


def _line(cells: Sequence[str]) -> str:
    r"""Cells between ampersands. The braces keep a cell that begins with ``[`` from being an option of ``\\``."""
    return " & ".join(f"{{{text}}}" if text.startswith("[") else text for text in map(escaped, cells)) + r" \\"


def _notes(table: Table) -> list[str]:
    return [rf"\par\smallskip\footnotesize {escaped(note)}" for note in table.notes]
