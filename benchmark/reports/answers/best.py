"""Q4: which layer has the best scores, in what papers print and in what was measured."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.answers.best_means import Measured, means, measured_means
from benchmark.reports.answers.contrasts import Contrast, Decision
from benchmark.reports.answers.layers import Results, attention_of, trained
from benchmark.reports.answers.making import answer, endings
from benchmark.reports.answers.record import Answer, Case, Question, Verdict
from benchmark.reports.answers.seeds import more_seeds
from benchmark.reports.answers.telling import told
from benchmark.reports.environments import environments
from benchmark.reports.published import published_table
from benchmark.reports.recipes import preset_of
from benchmark.reports.tables import Table
from benchmark.store.published import Score, published_scores
from benchmark.store.row import Row

OURS = "rotrnn"
SCORES = "rotbench train TASK --layer all --seeds 0:10"
PRINTED_TASKS = ("lra-listops", "lra-text", "lra-retrieval", "lra-image", "lra-pathfinder", "lra-pathx")


class Best(NamedTuple):
    """What papers print of a task: the best model, scored on the test set, and all figures of RotRNN."""

    task: str
    best: Score | None
    ours: Score | None


def printed() -> list[Best]:
    """By task of LRA."""
    scores = [score for score in published_scores() if score.split == "test"]
    found = []
    for task in PRINTED_TASKS:
        given = [score for score in scores if score.task == task and score.status == "ok"]
        own = [score for score in given if score.layer == OURS]
        best = max(given, key=lambda score: score.score_percent or 0, default=None)
        found.append(Best(task, best, own[0] if own else None))
    return found


def published_tables(rows: Iterable[Row]) -> list[Table]:
    """Every published figure on each task that was trained: a table of its own, never among measured rows."""
    known = {score.task for score in published_scores()}
    tasks = dict.fromkeys(row.task for row in trained(rows) if row.task in known)
    return [published_table(task) for task in tasks if task]


def _contrasts(results: Results) -> list[Contrast]:
    return [contrast for contrast in results.scores if OURS in (contrast.ours, contrast.theirs)]


def _answer(question: Question, case: Case) -> Answer:
    rows = [row for row in trained(case.rows) if not attention_of(row)]
    best, measured = printed(), measured_means(rows, environments(case.rows))
    return answer(
        question,
        _verdict(case.decided),
        [*_printed_sentences(best), *means(measured), *told(case.decided)],
        rows,
        table=_table(best, measured),
        again=[],
        missing=_missing(best, case.decided),
        caveats=[*CAVEATS, *endings(case.rows, ("train",))],
    )


CAVEATS = (
    "Printed figures are of other code, budgets and often of one seed; no test is made of them, and they are never "
    "compared with measured ones.",
    "The verdict rests on measured trainings by the published recipe on real or generated data alone.",
)


def counts(contrast: Contrast) -> bool:
    """Whether a comparison bears on what papers claim: the published recipe on the task's own data."""
    row = contrast.our_rows[0]
    return preset_of(row) == "paper" and row.recipe is not None and row.recipe.data != "stand-in"


def _verdict(decisions: Sequence[Decision]) -> Verdict:
    """yes: best on every task; no: beaten on every task; partly: best on some; else open."""
    bearing = [decision for decision in decisions if counts(decision.contrast)]
    if not bearing:
        return "not measured"
    tasks: dict[str, list[str | None]] = {}
    for decision in bearing:
        tasks.setdefault(str(decision.contrast.setting.get("task")), []).append(our_side(decision))
    best = [set(sides) == {"more"} for sides in tasks.values()]
    beaten = ["less" in sides for sides in tasks.values()]
    if any(best):
        return "yes" if all(best) else "partly"
    return "no" if all(beaten) else "undecided"


def our_side(decision: Decision) -> str | None:
    """The side on which RotRNN is: more if it is better."""
    if decision.contrast.ours == OURS or decision.side in {None, "same"}:
        return decision.side
    return "less" if decision.side == "more" else "more"


def _printed_sentences(best: Sequence[Best]) -> list[str]:
    """The best printed on each task, and that RotRNN's own figures are not at hand."""
    listed = "; ".join(
        f"{entry.task} {entry.best.model} {entry.best.score_percent} %" for entry in best if entry.best is not None
    )
    ours = [entry for entry in best if entry.ours is not None]
    own = "; ".join(f"{entry.task} {entry.ours.score_percent} %" for entry in ours if entry.ours)
    row = f"RotRNN's own: {own}." if own else "RotRNN's own row was not found, so its text cannot be held to its table."
    return [f"Best printed on the test set, not measured here: {listed}. {row}"]


def _table(best: Sequence[Best], measured: Sequence[Measured]) -> Table:
    names = [
        "task",
        "PRINTED: best",
        "PRINTED: %",
        "PRINTED: RotRNN %",
        "measured: best mean",
        "on",
        "measured: accuracy",
    ]
    lines = []
    printed_by = {entry.task: entry for entry in best}
    tasks = dict.fromkeys([*printed_by, *(entry.place[0] for entry in measured)])
    for task in tasks:
        entry = printed_by.get(task, Best(task, None, None))
        found: list[Measured | None] = [own for own in measured if own.place[0] == task]
        lines += [[task, *_printed_cells(entry), *_measured_cells(own)] for own in found or [None]]
    notes = [
        "PRINTED: by papers, on the test set, best of all models in results/published; measured: by rotbench. "
        "Two columns of one line are not comparable unless recipe and data are the papers'.",
    ]
    return Table("Best scores, printed and measured", names, lines, frozenset(names[2:4] + names[6:]), notes, ("on",))


def _printed_cells(entry: Best) -> list[str]:
    best, ours = entry.best, entry.ours
    return [
        best.model if best else n.MISSING,
        str(best.score_percent) if best else n.MISSING,
        str(ours.score_percent) if ours else n.MISSING,
    ]


def _measured_cells(entry: Measured | None) -> list[str]:
    if entry is None:
        return [n.MISSING] * 3
    best = entry.ranked[0]
    return [f"{best}, {entry.runs(best)}", ", ".join(entry.place[1:]), n.percent(entry.mean(best))]


def _missing(best: Sequence[Best], decisions: Sequence[Decision]) -> list[str]:
    found = []
    if all(entry.ours is None for entry in best):
        found.append("RotRNN's printed figures: its paper's table was not at hand, and no command can give it")
    if not any(counts(decision.contrast) for decision in decisions):
        command = "rotbench train lra-listops --layer all --preset paper --seeds 0:10 --device cuda"
        found.append(f"trainings of {OURS} and another layer by the published recipe: run `{command}`, for each task")
    return [*found, *more_seeds(decisions, SCORES)]


BEST = Question(
    id="Q4",
    text="Does RotRNN have the best scores, as its text claims?",
    needs="trainings of rotrnn and other layers from the same seeds; what papers print ships with the package",
    statistic="differences of test scores over pairs of seeds, as in Q3; printed figures are only listed",
    rule="of trainings by the published recipe on real or generated data. yes: better than every other layer on every "
    "task; partly: on some; no: beaten on every task; undecided: else; not measured: no such comparison",
    answer=_answer,
    contrasts=_contrasts,
)
