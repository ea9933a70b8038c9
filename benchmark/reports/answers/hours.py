"""Q2: device-hours of trainings, measured or projected, never mixed."""

from collections.abc import Sequence
from typing import NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.answers.making import answer, endings, not_measured
from benchmark.reports.answers.record import Answer, Case, Question, Verdict
from benchmark.reports.environments import environments
from benchmark.reports.hours import Hours, hours_of
from benchmark.reports.recipes import own_recipe, preset_of, task_words
from benchmark.reports.results import data_kind
from benchmark.reports.tables import Table
from benchmark.spec.errors import UserError
from benchmark.store.row import Row

OURS = "rotrnn"
MEASURE = "rotbench train TASK --layer all --preset paper --device cuda"
PROJECT = "rotbench gpu-hours --layer all --device cuda"


class Known(NamedTuple):
    """Device-hours of one row."""

    row: Row
    hours: Hours
    data: str
    recipe: str
    environment: str
    """Its short name; empty where there is one alone."""

    @property
    def place(self) -> tuple[str, ...]:
        """What may be put side by side: kind of figure, task, data, recipe, framework, device and environment."""
        h = self.hours
        return h.kind, h.task, self.data, self.recipe, h.framework, h.device, self.environment


def known(rows: Sequence[Row]) -> list[Known]:
    """The device-hours that rows tell of."""
    found, names = [], environments(rows)
    several = len(set(names.values())) > 1
    for row in rows:
        if row.recipe is None or row.recipe.shuffled:
            continue
        for hours in _hours(row):
            preset = preset_of(row)
            recipe = "published recipe" if hours.kind == "projected" or preset == "paper" else f"preset {preset}"
            data = "" if hours.kind == "projected" else f"{data_kind(row)} data"
            recipe = recipe if preset or hours.kind == "projected" else f"own recipe: {own_recipe(row)}"
            recipe += task_words(row)
            found.append(Known(row, hours, data, recipe, names[row.cell_id] if several else ""))
    return found


def _hours(row: Row) -> list[Hours]:
    """None of a row whose recipe this version does not know."""
    try:
        return hours_of([row])
    except (UserError, KeyError):
        return []


def _answer(question: Question, case: Case) -> Answer:
    found = known(case.rows)
    if not found:
        caveats = endings(case.rows, ("train", "train-step"))
        return not_measured(question, "device-hours of any training", f"{MEASURE}` or, projected, `{PROJECT}", caveats)
    places = list(dict.fromkeys(entry.place for entry in found))
    return answer(
        question,
        _verdict(found),
        [_sentence(place, [entry for entry in found if entry.place == place]) for place in places],
        [entry.row for entry in found],
        table=_table(found),
        missing=_missing(found),
        caveats=[
            *CAVEATS,
            *_shared_processors([entry.row for entry in found]),
            *endings(case.rows, ("train", "train-step")),
        ],
    )


CAVEATS = ("Device-hours of different devices, tasks or recipes are never added up, and no test is made of them.",)


UNSHARED = 0.9
"""Of its time a thread that has a processor to itself computes at least so much."""


def _shared_processors(rows: Sequence[Row]) -> list[str]:
    """How many trainings on one thread had to wait for their processor."""
    alone = {row.cell_id: row for row in rows if row.metric == "train" and row.device == "cpu" and row.threads == 1}
    shares = [
        sum(row.detail["process_cpu_s"]) / row.train_wall_s
        for row in alone.values()
        if row.train_wall_s and row.detail.get("process_cpu_s")
    ]
    waited = [share for share in shares if share < UNSHARED]
    if not waited:
        return []
    span = f"{n.percent(min(waited))} to {n.percent(max(waited))}"
    return [
        f"{len(waited)} of {n.counted(len(shares), 'training')} on one thread had a processor for {span} of their "
        "time, as others used it too: such hours are upper bounds, and layers may differ by that alone."
    ]


def _verdict(found: Sequence[Known]) -> Verdict:
    """yes: measured on a GPU by the published recipe for RotRNN and a baseline; else partly."""
    for place in {entry.place for entry in found}:
        layers = {entry.row.layer for entry in found if entry.place == place}
        rows = [entry.row for entry in found if entry.place == place]
        whole = place[0] == "measured" and place[3] == "published recipe" and place[2] == "real data"
        if whole and rows[0].device != "cpu" and OURS in layers and len(layers) > 1:
            return "yes"
    return "partly"


def _sentence(place: tuple[str, ...], found: Sequence[Known]) -> str:
    """The layers side by side that may be."""
    kind, task, data, recipe, framework, device, environment = place
    unit = "hours of this CPU" if found[0].row.device == "cpu" else "GPU-hours"
    layers = list(dict.fromkeys(entry.row.layer for entry in found))
    parts = [_part(layer, [e.hours.device_hours for e in found if e.row.layer == layer], kind) for layer in layers]
    where = ", ".join(word for word in (task, data, recipe, framework, device, environment) if word)
    head = "Measured" if kind == "measured" else "Projected from the time of a step, not measured"
    return f"{head}, in {unit} a training ({where}): {'; '.join(parts)}."


def _part(layer: str, hours: Sequence[float], kind: str) -> str:
    mean = sum(hours) / len(hours)
    count = n.counted(len(hours), "run" if kind == "measured" else "projection")
    took = f"{layer} {n.significant(mean)} h = {n.duration(3600 * mean)}"
    if len(hours) == 1:
        return f"{took} ({count})"
    return f"{took} (mean of {count}, {n.significant(min(hours))} to {n.significant(max(hours))} h)"


def _table(found: Sequence[Known]) -> Table:
    names = ["kind", "task", "data", "recipe", "layer", "framework", "device", "seed", "device-hours"]
    rows = [
        [
            entry.hours.kind,
            entry.hours.task,
            entry.data or n.MISSING,
            entry.recipe,
            entry.row.layer,
            entry.hours.framework,
            entry.hours.device,
            str(entry.row.seed),
            n.significant(entry.hours.device_hours),
        ]
        for entry in sorted(found, key=lambda entry: (entry.place, entry.row.layer, entry.row.seed))
    ]
    hows = dict.fromkeys((entry.hours.kind, entry.hours.how) for entry in found)
    notes = [f"{kind}: {how}." for kind, how in hows]
    return Table("Device-hours", names, rows, frozenset({"seed", "device-hours"}), notes, ("seed", "device"))


def _missing(found: Sequence[Known]) -> list[str]:
    gpu = [entry for entry in found if entry.row.device != "cpu"]
    whole = [entry for entry in gpu if entry.hours.kind == "measured" and entry.recipe == "published recipe"]
    said = []
    if not any(entry.row.layer == OURS for entry in found):
        said.append(f"device-hours of {OURS}: run `{PROJECT}`")
    if not gpu:
        said.append(f"hours on a GPU: run `{PROJECT}`")
    if not whole:
        said.append(f"whole trainings by a published recipe on a GPU: run `{MEASURE}`")
    return said


HOURS = Question(
    id="Q2",
    text="How many GPU-hours does a training take, and how do the layers compare?",
    needs="trainings, or steps of published recipes timed by `rotbench gpu-hours`",
    statistic="wall time times devices of whole trainings, mean over seeds; projections are a step's time times the "
    "steps of the recipe",
    rule="yes: figures were measured on a GPU, with the published recipe on real data, for rotrnn and another layer; "
    "partly: there are figures, but on a CPU, by projection, by another recipe or not of both; not measured: none",
    answer=_answer,
)
