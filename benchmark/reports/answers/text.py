"""Answers for the terminal."""

import textwrap
from collections.abc import Sequence

from benchmark.reports.answers.record import Answer
from benchmark.reports.listing import SHORT_ID
from benchmark.reports.tables import to_terminal

INDENT = "    "
MOST_CELLS = 24
"""Ids that are printed; JSON has all."""


def brief(answer: Answer, width: int | None = None) -> str:
    """Question, verdict, sentences, and what is missing.

    Args:
        answer: to print.
        width: columns of the terminal; None folds nothing.
    """
    lines = [_head(answer, width), *_listed("- ", answer.sentences, width)]
    return "\n".join([*lines, *_listed("not measured: ", answer.missing, width)])


def full(answer: Answer, width: int | None = None, color: bool = False, encoding: str = "utf-8") -> str:
    """Everything that is known: also the table, caveats, cells and the commands that measure them again.

    Args:
        answer: to print.
        width: columns of the terminal; None folds nothing.
        color: whether escape codes are shown.
        encoding: of the stream.
    """
    parts = [brief(answer, width)]
    if answer.table:
        parts.append(to_terminal(answer.table, width, color, encoding))
    trace = [
        *_listed("keep in mind: ", answer.caveats, width),
        *_listed("again: ", answer.again, width),
        *_listed("cells: ", _cells(answer.cells), width),
    ]
    return "\n\n".join([*parts, *(["\n".join(trace)] if trace else [])])


def _head(answer: Answer, width: int | None) -> str:
    return _folded(f"{answer.id} [{answer.verdict}] {answer.question}", width, "", INDENT)


def _cells(cells: Sequence[str]) -> list[str]:
    if not cells:
        return []
    more = f" and {len(cells) - MOST_CELLS} more, see --json" if len(cells) > MOST_CELLS else ""
    return [" ".join(cell[:SHORT_ID] for cell in cells[:MOST_CELLS]) + more]


def _listed(mark: str, texts: Sequence[str], width: int | None) -> list[str]:
    """One entry a text, set in below the question."""
    return [_folded(text, width, INDENT + mark, INDENT + "  ") for text in texts]


def _folded(text: str, width: int | None, first: str, others: str) -> str:
    if width is None:
        return first + text
    return textwrap.fill(
        text,
        width=max(width, 40),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
