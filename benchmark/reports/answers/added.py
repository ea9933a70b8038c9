"""Questions that other packages add, by the entry point group ``rotbench.questions``."""

from collections.abc import Collection
from importlib.metadata import EntryPoint, entry_points

from benchmark.reports.answers.record import Question
from benchmark.spec.errors import UserError, short

GROUP = "rotbench.questions"


def added_questions(taken: Collection[str]) -> dict[str, Question]:
    """By id. Each entry point names a Question.

    Args:
        taken: ids that are in use.

    Raises:
        UserError: for an entry point that cannot be loaded, is no Question, or takes an id that is in use.
    """
    found: dict[str, Question] = {}
    for point in entry_points(group=GROUP):
        question = _loaded(point)
        if question.id in (*taken, *found):
            raise UserError(f"entry point {point.name} of {GROUP}: its question's id must be new, got {question.id!r}")
        found[question.id] = question
    return found


def _loaded(point: EntryPoint) -> Question:
    try:
        question = point.load()
    except (ImportError, AttributeError) as error:
        raise UserError(f"entry point {point.name} of {GROUP} must name a Question, got {error}") from None
    if not isinstance(question, Question):
        raise UserError(f"entry point {point.name} of {GROUP} must name a Question, got {short(question)}")
    return question
