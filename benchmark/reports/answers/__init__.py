"""What reviewers ask of a paper, answered from result rows: ``answers(rows)``.

A question is one frozen record (``record.Question``) in ``QUESTIONS``: which rows it needs, which
statistic is made of them, which verdict follows, and the function that says so. Other packages add
questions by the entry point group ``rotbench.questions``. docs/answers.md has them all.
"""

from collections.abc import Sequence

from benchmark.reports.answers.ablations import BEFORE_ATTENTION, NORMALISER
from benchmark.reports.answers.added import added_questions
from benchmark.reports.answers.apart import told_apart
from benchmark.reports.answers.best import BEST, published_tables
from benchmark.reports.answers.contrasts import Contrast, decided
from benchmark.reports.answers.costs import FLOPS
from benchmark.reports.answers.differences import DIFFERENCES
from benchmark.reports.answers.growth import SCALING
from benchmark.reports.answers.hours import HOURS
from benchmark.reports.answers.layers import Results
from benchmark.reports.answers.norms import NORMS
from benchmark.reports.answers.record import Answer, Case, Question, Verdict
from benchmark.reports.answers.relations import EQUIVALENT, PERIODS
from benchmark.reports.answers.robustness import ROBUSTNESS
from benchmark.reports.environments import environments
from benchmark.reports.results import latest
from benchmark.store.row import Row

QUESTIONS: dict[str, Question] = {
    question.id: question
    for question in (
        FLOPS,
        HOURS,
        DIFFERENCES,
        BEST,
        NORMALISER,
        NORMS,
        SCALING,
        EQUIVALENT,
        ROBUSTNESS,
        PERIODS,
        BEFORE_ATTENTION,
    )
}

__all__ = [
    "QUESTIONS",
    "Answer",
    "Case",
    "Contrast",
    "Question",
    "Results",
    "Verdict",
    "answers",
    "published_tables",
    "questions",
]


def questions() -> dict[str, Question]:
    """All questions by id: those of this package, then those that others add."""
    return QUESTIONS | added_questions(QUESTIONS)


def answers(rows: Sequence[Row], asked: Sequence[Question] | None = None) -> list[Answer]:
    """An answer to each question, from one set of rows.

    All contrasts of all questions are decided together, also where few answers are wanted, so that an
    answer is the same alone and in a report.

    Args:
        rows: all results; of a cell that was measured more than once the last row counts.
        asked: which are wanted; all if left out.
    """
    rows = latest(rows)
    every = list(questions().values())
    results = Results(rows)
    names = environments(rows)
    contrasts = {question.id: told_apart(question.contrasts(results), names) for question in every}
    found = decided(contrast for own in contrasts.values() for contrast in own)
    return [
        question.answer(question, Case(rows, [found[contrast.key] for contrast in contrasts[question.id]]))
        for question in (every if asked is None else asked)
    ]
