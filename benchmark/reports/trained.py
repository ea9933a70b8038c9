"""Trainings as tables: what they reached and for how much, and their weights, evaluated."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from benchmark.reports import numbers as n
from benchmark.reports.recipes import made_by
from benchmark.reports.results import STATUS, Column, data_kind, history, table_of
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


def test_score(row: Row) -> str:
    """On the test set, of the weights that were best on the validation set."""
    return score_text(history(row).get("measure"), history(row).get("test_score", row.test_accuracy))


TRAINING = [
    Column("task", lambda r: r.task or n.MISSING, False),
    Column("data", data_kind, False),
    Column("recipe", made_by, False),
    Column("layer", lambda r: r.layer, False),
    Column("framework", lambda r: r.framework, False),
    Column("seed", lambda r: str(r.seed)),
    Column("parameters", lambda r: n.count(r.model_param_count)),
    Column("test score", test_score),
    Column("chance", lambda r: score_text(history(r).get("measure"), history(r).get("chance"))),
    Column("validation", lambda r: score_text(history(r).get("measure"), history(r).get("validation_score"))),
    Column("best epoch", lambda r: n.count(history(r).get("best_epoch"))),
    Column("tokens/s", lambda r: n.scaled(r.detail.get("tokens_per_s"))),
    Column("wall time", lambda r: n.duration(r.train_wall_s)),
    Column("device-hours", lambda r: n.significant(r.device_hours)),
    Column("device", lambda r: str(r.detail.get("device_name", r.device)), False),
    STATUS,
]
AFTER_TEST = [column.name for column in TRAINING].index("test score") + 1
OPTIONAL = (
    "device",
    "best epoch",
    "validation",
    "chance",
    "tokens/s",
    "wall time",
    "parameters",
    "seed",
    "recipe",
    "task",
)


def training_table(rows: Sequence[Row], title: str = "Training") -> Table:
    """One line a training; a column for each further test set that any of them has."""
    ordered = sorted(rows, key=lambda r: (r.task or "", r.framework, r.layer, r.seed))
    extras = [history(row).get("extra", {}) for row in ordered]
    found = [note for row in ordered for note in (*notes_on_data(row), *map(str, row.detail.get("notes", [])))]
    notes = [
        "Test score: accuracy, or mean squared error, of the weights that were best on the validation split. "
        "chance: of the best constant answer. tokens/s: steps of sequences in a second of updates. "
        "Device-hours are wall time x devices of the device named.",
        *(f"{note}." for note in dict.fromkeys(found)),
        *extra_notes(extras),
    ]
    further = [Column(f"test {name}", partial(_extra_score, name)) for name in names_of(extras)]
    return table_of(title, ordered, [*TRAINING[:AFTER_TEST], *further, *TRAINING[AFTER_TEST:]], notes, OPTIONAL)


Extras = Mapping[str, float | str]
"""Scores on further test sets by name; text says why there is none."""


def names_of(extras: Iterable[Extras]) -> list[str]:
    """Every further test set, once."""
    return list(dict.fromkeys(name for extra in extras for name in extra))


def extra_notes(extras: Iterable[Extras]) -> list[str]:
    """What further test sets are, and why any has no score."""
    listed = list(extras)
    names = ", ".join(names_of(listed))
    why = dict.fromkeys(score for extra in listed for score in extra.values() if isinstance(score, str))
    what = f"test {names}: the test set at that rate; steps are rescaled, and nothing was trained on it."
    return [what, *(f"{text}." for text in why)] if names else []


def extra_text(measure: str | None, extra: Extras, name: str) -> str:
    """A score on a further test set, a dash where there is none."""
    score = extra.get(name)
    return score_text(measure, score if isinstance(score, float) else None)


def _extra_score(name: str, row: Row) -> str:
    return extra_text(history(row).get("measure"), history(row).get("extra", {}), name)


def evaluation_table(found: Sequence[Evaluation]) -> Table:
    """One line a file and framework; a column for each further test set that any of them has."""
    extras = [e.extra for e in found]
    further = [f"test {name}" for name in names_of(extras)]
    names = ["task", "layer", "trained in", "evaluated in", "noted in training", "test score", *further, "weights"]
    lines = [
        [
            e.task,
            e.layer,
            e.trained_in,
            e.evaluated_in,
            score_text(e.measure, e.noted_score),
            score_text(e.measure, e.score),
            *(extra_text(e.measure, e.extra, name) for name in names_of(extras)),
            e.weights,
        ]
        for e in found
    ]
    notes, numeric = extra_notes(extras), frozenset(names[4:-1])
    return Table("Evaluation on the test set", names, lines, numeric, notes, ("weights",))
