"""What a question is, what it is given, and what an answer holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmark.reports.answers.contrasts import Contrast, Decision
from benchmark.reports.answers.layers import Results
from benchmark.reports.tables import Table
from benchmark.store.row import Row

Verdict = Literal["yes", "no", "partly", "undecided", "not measured"]
"""partly: in some of the places looked at; undecided: the data leave it open."""

Chart = dict[str, Any]
"""A Vega-Lite specification."""


@dataclass(frozen=True)
class Answer:
    """One question answered by results.

    ``cells`` holds the ids of all rows that the sentences rest on, ``again`` the commands that measure
    these once more; figures that are computed and not measured have commands alone. ``missing`` says
    what was not measured, and the command for it.
    """

    id: str
    question: str
    verdict: Verdict
    sentences: list[str]
    table: Table | None = None
    chart: Chart | None = None
    cells: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """What a question is answered from.

    ``rows``: the last row of every cell, however it ended. ``decided``: the contrasts that the question
    asked for, in their order, each with a p that is adjusted over those of all questions.
    """

    rows: Sequence[Row]
    decided: Sequence[Decision] = ()


def no_contrasts(results: Results) -> list[Contrast]:  # noqa: ARG001 - of a question that chance has no part in
    """None."""
    return []


@dataclass(frozen=True)
class Question:
    """A question and how it is answered, in words and in code.

    Args:
        id: one word, such as Q3.
        text: one plain sentence.
        needs: which rows, in words.
        statistic: what is computed of them.
        rule: which verdict follows.
        answer: makes the answer.
        contrasts: the differences on which a verdict rests that chance has a part in.
    """

    id: str
    text: str
    needs: str
    statistic: str
    rule: str
    answer: Callable[["Question", Case], Answer]
    contrasts: Callable[[Results], list[Contrast]] = no_contrasts
