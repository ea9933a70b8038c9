"""What a study found: its tables, its findings in sentences, and a line for a finished cell."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.answers import QUESTIONS, answers
from benchmark.reports.study_cells import books_table, course_table, errors_table, norms_table, period_table
from benchmark.reports.study_trainings import arms_table, spread_table
from benchmark.reports.tables import Traced
from benchmark.spec.errors import UserError
from benchmark.store.row import Row
from benchmark.studies.names import study_of

TABLES: Mapping[str, Sequence[Callable[[Sequence[Row]], Traced]]] = {
    "normaliser": (arms_table,),
    "norms": (norms_table, course_table),
    "equivalence": (errors_table, books_table),
    "initialisation": (arms_table, spread_table),
    "period": (period_table,),
    "hybrid": (arms_table,),
}
"""By study."""

ANSWERS = {
    "normaliser": "Q5",
    "norms": "Q6",
    "equivalence": "Q8",
    "initialisation": "Q9",
    "period": "Q10",
    "hybrid": "Q11",
}
"""The question of the report that each study answers."""


class Finding(NamedTuple):
    """One sentence of a study's, and the cells that it rests on."""

    study: str
    text: str
    cells: tuple[str, ...] = ()


def tables(rows: Sequence[Row], study: str) -> list[Traced]:
    """The tables of a study, each line with its cells. ``rows`` are its own, however they ended."""
    return [table for make in TABLES[study] if (table := make(rows)).rows]


def findings(rows: Sequence[Row], study: str | None = None) -> list[Finding]:
    """What the rows say on the question of each study; where they say nothing, the command that would measure it.

    Args:
        rows: results of any kind.
        study: its name; all studies if left out.
    """
    names = list(ANSWERS) if study is None else [study]
    found = []
    for name, answer in zip(names, answers(rows, [QUESTIONS[ANSWERS[name]] for name in names]), strict=True):
        if answer.verdict != "not measured":
            found.append(Finding(name, f"{answer.question} {answer.verdict}.", tuple(answer.cells)))
        found += [Finding(name, sentence, tuple(answer.cells)) for sentence in answer.sentences]
        found += [Finding(name, f"Not measured: {text}.") for text in answer.missing]
    return found


def result_line(row: Row) -> str:
    """What came out of one study cell, in a few words, for the line of progress."""
    found = row.detail
    try:
        name = study_of(row.task).name
    except UserError:
        return n.MISSING
    match name:
        case "norms":
            last = found["blocks"][-1]["mean_square"][-1]
            return f"mean square {n.significant(last)} at t = {n.count(found['times'][-1])}"
        case "equivalence":
            return f"largest relative error {n.error(max(found['errors'].values()))}"
        case _:
            return f"angle off by {n.significant(found['after']['error'])}, MSE {n.significant(found['test_score'])}"
