"""Tables for LaTeX, by booktabs. Nothing is set in bold: a table does not know what is significant."""

import re
import unicodedata
from collections.abc import Sequence

from benchmark.reports.history import BARS
from benchmark.reports.latex_width import EM_PER_CHARACTER, FITS, Fit, broken, broken_at, fitting, lines
from benchmark.reports.tables import Table, condensed

LONG = 40
"""Lines beyond which a table runs over pages (longtable)."""

PACKAGES = ("booktabs", "longtable", "array", "lscape")

APART = "\N{ZERO WIDTH NON-JOINER}"
"""Put between two hyphens, of which LaTeX would make a dash: those of an option are two."""

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
    APART: "{}",
    "\N{EN DASH}": "--",
    "\N{EM DASH}": "---",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MICRO SIGN}": r"$\mu$",
    "\N{LESS-THAN OR EQUAL TO}": r"$\leq$",
    "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
    "\N{NO-BREAK SPACE}": "~",
    "\N{SUPERSCRIPT TWO}": r"$^2$",
} | {bar: rf"\rule{{.4em}}{{{height / 4:.2f}ex}}" for height, bar in enumerate(BARS, 1)}


def escaped(text: str) -> str:
    r"""Plain text as LaTeX sets it; a character that pdfLaTeX may not know loses its accents or becomes ``?``.

    >>> print(escaped("lru_1: 5 % of x<y – ok"))
    lru\_1: 5 \% of x\textless{}y -- ok
    """
    apart = re.sub("-(?=-)", f"-{APART}", " ".join(text.split("\n")))
    return "".join(COMMANDS.get(character) or _plain(character) for character in apart)


def _plain(character: str) -> str:
    if " " <= character <= "~":
        return character
    if not character.isprintable():
        return " "
    found = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return "".join(COMMANDS.get(part, part) for part in found) or "?"


def to_latex(table: Table, label: str | None = None) -> str:
    """A table with its title as caption and its notes below; a long one runs over pages, a wide one lies on its side.

    Args:
        table: to set. Its numeric columns stand to the right.
        label: to refer to it by.

    Returns:
        A ``table`` or ``longtable`` environment. Its packages are those of ``PACKAGES``.
    """
    mark = rf"\label{{{label}}}" if label else ""
    caption = rf"\caption{{{escaped(table.title)}}}{mark}"
    table = condensed(table) if fitting(table).landscape else table
    fit = fitting(table)
    made = (_over_pages if lines(table) > LONG else _afloat)(table, caption, fit)
    return "\n".join([r"\begin{landscape}", *made, r"\end{landscape}"] if fit.landscape else made)


def _afloat(table: Table, caption: str, fit: Fit) -> list[str]:
    return [
        r"\begin{table}[htbp]",
        rf"\centering{_type(fit)}",
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


def _over_pages(table: Table, caption: str, fit: Fit) -> list[str]:
    return [
        rf"\begingroup{_type(fit)}",
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


def _type(fit: Fit) -> str:
    apart = rf"\setlength{{\tabcolsep}}{{{fit.separation_pt:g}pt}}" if fit is not FITS[0] else ""
    return rf"\{fit.size}{apart}"


def _columns(table: Table) -> str:
    """Of a table without columns one, which stays empty."""
    return "".join(_alignment(table, name) for name in table.columns) or "l"


def _alignment(table: Table, name: str) -> str:
    """To the right, to the left, or broken into lines where a text is long."""
    if name in table.numeric:
        return "r"
    if not broken(table, name):
        return "l"
    return rf">{{\raggedright\arraybackslash}}p{{{broken_at(table, name) * EM_PER_CHARACTER:.1f}em}}"


def _head(table: Table) -> str:
    return " & ".join(_heading(name, "r" if name in table.numeric else "l") for name in table.columns) + r" \\"


def _heading(name: str, side: str) -> str:
    """The words of a heading one above the other: figures are mostly narrower than what they are called."""
    words = [_shielded(word) for word in name.split()] or [""]
    return words[0] if len(words) == 1 else rf"\shortstack[{side}]{{" + r" \\ ".join(words) + "}"


def _body(table: Table) -> list[str]:
    return [_line(row) for row in table.rows]


def _line(cells: Sequence[str]) -> str:
    r"""Cells between ampersands. The braces keep a cell that begins with ``[`` from being an option of ``\\``."""
    return " & ".join(map(_shielded, cells)) + r" \\"


def _shielded(text: str) -> str:
    return f"{{{escaped(text)}}}" if text.startswith("[") else escaped(text)


def _notes(table: Table) -> list[str]:
    return [rf"\par\smallskip\footnotesize {escaped(note)}" for note in table.notes]
