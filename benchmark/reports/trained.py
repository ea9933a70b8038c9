"""Trained weights, evaluated."""

from collections.abc import Sequence

from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.store.row import Row
from benchmark.sweeps.evaluate import Evaluation


def score_text(measure: str | None, score: float | None) -> str:
    """An accuracy in percent, or a mean squared error by its name."""
    if score is None:
        return n.MISSING
    return f"MSE {n.significant(score)}" if measure == "mse" else n.percent(score)


def notes_on_data(row: Row) -> list[str]:
    """What a reader must know of the data that a training saw."""
    recipe = row.recipe
    if recipe is None:
        return []
    notes = []
    if recipe.data == "stand-in":
        notes.append(f"STAND-IN: {row.task} was not trained on its own data but on invented ones, which are easier")
    if recipe.task_options.get("validation") == "test":
        notes.append(f"{row.task}: the epoch was chosen by the test set, as some papers do")
    if recipe.shuffled:
        notes.append("labels SHUFFLED: a control, which must end at chance")
    return notes


def evaluation_table(found: Sequence[Evaluation]) -> Table:
    """One line a file and framework."""
    names = ["task", "layer", "trained in", "evaluated in", "noted in training", "test score", "weights"]
    lines = [
        [
            e.task,
            e.layer,
            e.trained_in,
            e.evaluated_in,
            score_text(e.measure, e.noted_score),
            score_text(e.measure, e.score),
            e.weights,
        ]
        for e in found
    ]
    return Table("Evaluation on the test set", names, lines, frozenset(names[4:6]), [], ("weights",))
