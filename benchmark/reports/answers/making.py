"""An answer put together: the trace of its rows, and what a reader must keep in mind of them."""

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmark.reports import numbers as n
from benchmark.reports.again import commands
from benchmark.reports.answers.record import Answer, Chart, Question, Verdict
from benchmark.reports.evidence import machine
from benchmark.reports.recipes import preset_of
from benchmark.reports.results import latest
from benchmark.reports.tables import Table
from benchmark.reports.trained import notes_on_data
from benchmark.store.row import Row
from benchmark.training.published import RECIPES

CLOCKED = ("speed", "train", "train-step")


def answer(
    question: Question,
    verdict: Verdict,
    sentences: Sequence[str],
    rows: Iterable[Row] = (),
    *,
    table: Table | None = None,
    chart: Chart | None = None,
    again: Sequence[str] = (),
    missing: Sequence[str] = (),
    caveats: Sequence[str] = (),
) -> Answer:
    """The answer to a question, with its trace and the caveats of its rows.

    Args:
        question: what was asked.
        verdict: its answer in a word.
        sentences: what was found.
        rows: everything that the sentences rest on.
        table: the figures.
        chart: a picture of them.
        again: commands beside those that the rows tell.
        missing: what was not measured, and how to.
        caveats: beside those that the rows tell.
    """
    rows = latest(rows)
    return Answer(
        id=question.id,
        question=question.text,
        verdict=verdict,
        sentences=list(sentences),
        table=table,
        chart=chart,
        cells=[row.cell_id for row in rows],
        again=list(dict.fromkeys([*again, *commands(rows)])),
        missing=list(dict.fromkeys(missing)),
        caveats=list(dict.fromkeys([*caveats, *caveats_of(rows)])),
    )


def not_measured(question: Question, why: str, command: str, caveats: Sequence[str] = ()) -> Answer:
    """The answer where there are no rows: what is missing, and the command that measures it."""
    return answer(question, "not measured", [], missing=[f"{why}: run `{command}`"], caveats=caveats)


def caveats_of(rows: Sequence[Row]) -> list[str]:
    """What a reader must know of rows: their data, recipes and machines."""
    return [*(f"{note}." for row in rows for note in notes_on_data(row)), *recipe_notes(rows), *_machines(rows)]


def recipe_notes(rows: Iterable[Row]) -> list[str]:
    """How recipes of trainings deviate from the published ones."""
    found: dict[str, None] = {}
    for row in rows:
        if row.metric != "train" or row.task is None:
            continue
        if preset_of(row) == "paper" and (recipe := RECIPES.get(row.task, {}).get(row.layer)):
            found |= {f"{row.layer} on {row.task}: {text}.": None for text in recipe.deviations}
        else:
            name = preset_of(row)
            recipe_name = f"preset {name}" if name else "a recipe of its own"
            found[f"{row.task} was trained by {recipe_name}, which is not the published recipe."] = None
    return list(found)


def _machines(rows: Sequence[Row]) -> list[str]:
    devices = {str(machine(row)["device name"]) for row in rows}
    clocked = any(row.device == "cpu" and row.metric in CLOCKED for row in rows)
    said = ["Times and device-hours on cpu are those of that processor, not of a GPU."] if clocked else []
    codes = {machine(row)["code"] for row in rows}
    if len(devices) > 1:
        said.append(
            f"Rows come from {len(devices)} devices ({', '.join(sorted(devices))}), never compared or added up."
        )
    if len(codes) > 1:
        said.append(f"Rows come from {len(codes)} versions of the code; only rows of one version are compared.")
    return said


def endings(rows: Iterable[Row], metrics: Sequence[str]) -> list[str]:
    """How many cells of some metrics have no result, and why."""
    own = [row for row in rows if row.metric in metrics]
    failed = Counter(row.status for row in own if row.status != "ok")
    if not failed:
        return []
    listed = ", ".join(f"{count} {status}" for status, count in failed.items())
    return [
        f"Without a result, and in no comparison: {sum(failed.values())} of {n.counted(len(own), 'cell')} ({listed})."
    ]
