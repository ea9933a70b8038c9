"""Device-hours: measured for trainings that ran, projected from step times for published recipes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.labels import algorithm
from benchmark.reports.recipes import made_by, task_words
from benchmark.reports.results import data_kind
from benchmark.reports.tables import Table
from benchmark.reports.trained import notes_on_data, score_text
from benchmark.store.row import Row
from benchmark.tasks import TASKS, Task
from benchmark.training.published import RECIPES

TARGETS = Task.targets
"""Validation accuracies whose first time is reported of a task that names no others."""

HOURS_OPTIONAL = ("device", "steps", "step", "seed")


class Hours(NamedTuple):
    """Device-hours of one training and how they are known."""

    kind: str
    task: str
    layer: str
    framework: str
    device: str
    steps: int | None
    step_ms: float | None
    device_hours: float
    how: str
    data: str | None
    """Its kind; a projection has seen none."""
    recipe: str
    seed: int


def hours_of(rows: Sequence[Row]) -> list[Hours]:
    """Measured trainings as they were, step times projected to their published recipes."""
    found = []
    for row in rows:
        device = str(row.detail.get("device_name", row.device))
        if row.device == "cpu":
            device = f"cpu ({row.environment.get('cpu', 'unknown')}, {n.counted(row.threads, 'thread')})"
        if row.status != "ok" or row.task is None:
            continue
        if row.metric == "train" and row.device_hours is not None:
            found.append(_measured(row, device, row.device_hours))
        elif row.metric == "train-step" and row.median_ms and row.layer in RECIPES.get(row.task, {}):
            found.append(_projected(row, device))
    return found


def _measured(row: Row, device: str, device_hours: float) -> Hours:
    how = "wall time of the whole training, compilation and evaluation included"
    made = data_kind(row) if row.recipe else None, made_by(row), row.seed
    return Hours("measured", row.task or "", row.layer, row.framework, device, None, None, device_hours, how, *made)


def _projected(row: Row, device: str) -> Hours:
    recipe = RECIPES[row.task or ""][row.layer]
    steps, step_ms = recipe.steps_on(row.task or ""), row.median_ms or 0.0
    how = f"{n.count(steps)} published steps of batch {recipe.batch} x the measured step"
    if row.batch != recipe.batch:
        step_ms *= recipe.batch / row.batch
        how += f" of batch {row.batch}, taken to grow in proportion to the batch"
    hours = steps * step_ms / 3.6e6
    made = None, f"published recipe{task_words(row)}", row.seed
    return Hours("projected", row.task or "", row.layer, row.framework, device, steps, step_ms, hours, how, *made)


def hours_tables(rows: Sequence[Row], price: float | None) -> list[Table]:
    """Device-hours of every training, and times to target accuracies of those that ran."""
    found = hours_of(rows)
    names = ["kind", "task", "data", "recipe", "layer", "framework", "seed", "device", "steps", "step", "device-hours"]
    lines = []
    for h in found:
        step = n.duration(h.step_ms / 1000) if h.step_ms is not None else n.MISSING
        made = h.data or n.MISSING, h.recipe or n.MISSING
        line = [h.kind, h.task, *made, h.layer, h.framework, str(h.seed), h.device, n.count(h.steps), step]
        line.append(n.significant(h.device_hours))
        lines.append(line if price is None else [*line, n.significant(h.device_hours * price)])
    notes = [f"{how}: {kind}." for kind, how in dict.fromkeys((h.kind, h.how) for h in found)]
    notes += [*data_notes(rows), "Device-hours of different devices are never added up."]
    columns = names if price is None else [*names, "cost"]
    hours = Table("Device-hours", columns, lines, frozenset({"seed", *columns[8:]}), notes, HOURS_OPTIONAL)
    return [hours, *(targets_table(part) for part in by_targets(rows))]


def data_notes(rows: Sequence[Row]) -> list[str]:
    """What a reader must know of the data of trainings, each once."""
    return list(dict.fromkeys(f"{note}." for row in rows if row.metric == "train" for note in notes_on_data(row)))


def by_targets(rows: Sequence[Row]) -> list[list[Row]]:
    """The trainings that ended well, in groups that have the same targets."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row.metric == "train" and row.status == "ok":
            groups.setdefault((measure_of(row), targets_of(row)), []).append(row)
    return list(groups.values())


def measure_of(row: Row) -> str:
    """What the scores of a training are: accuracy or mse."""
    return str(row.detail.get("history", {}).get("measure", "accuracy"))


def targets_of(row: Row) -> tuple[float, ...]:
    """The validation scores of a training's task whose first time is reported."""
    known = TASKS.get(row.task or "")
    return known.targets if known else TARGETS


def targets_table(rows: Sequence[Row]) -> Table:
    """When each training of a group of ``by_targets`` first reached a validation score, and the energy in all."""
    measure, targets = measure_of(rows[0]), targets_of(rows[0])
    what = "mean squared error" if measure == "mse" else "accuracy"
    head = ["task", "data", "recipe", "layer", "framework", "algorithm", "seed"]
    names = [*head, *(score_text(measure, t) for t in targets), "energy"]
    lines = [
        [
            row.task or n.MISSING,
            data_kind(row),
            made_by(row) or n.MISSING,
            row.layer,
            row.framework,
            algorithm(row),
            str(row.seed),
            *(_reached(row, target) for target in targets),
            n.scaled(row.energy_j, "J"),
        ]
        for row in rows
    ]
    notes = [
        f"Wall time until the validation {what} was first reached, evaluations included (and in which epoch); "
        f"{n.MISSING}: never in this run. Energy is of the whole training.",
        *data_notes(rows),
    ]
    return Table(f"Time to {what}", names, lines, frozenset(names[6:]), notes, ("algorithm", "energy", "seed"))


def _reached(row: Row, target: float) -> str:
    """When a validation score was first reached, and in which epoch."""
    found = reached(row, target)
    return n.MISSING if found is None else f"{n.duration(found[0])} ({found[1]})"


def time_to(row: Row, target: float) -> float | None:
    """Seconds until a training first reached a validation score; None if it never did."""
    found = reached(row, target)
    return None if found is None else found[0]


def reached(row: Row, target: float) -> tuple[float, int] | None:
    """Seconds and validations until a training was first as good as a score of its measure; None if it never was."""
    history, lower = row.detail.get("history", {}), measure_of(row) == "mse"
    pairs = zip(history.get("epoch_validation_score", []), history.get("epoch_end_s", []), strict=True)
    good = (
        (seconds, at) for at, (score, seconds) in enumerate(pairs, 1) if (score <= target if lower else score >= target)
    )
    return next(good, None)


def hours_as_json(rows: Sequence[Row], price: float | None) -> list[dict[str, Any]]:
    """The same as JSON values."""
    return [h._asdict() | ({} if price is None else {"cost": h.device_hours * price}) for h in hours_of(rows)]
