"""Q8: what is left between LRU and RotRNN, and Q10: whether a rotation's period can be set and found."""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmark.metrics.paired import sign_flips
from benchmark.reports import numbers as n
from benchmark.reports.answers.contrasts import Contrast
from benchmark.reports.answers.differences import decision_table
from benchmark.reports.answers.layers import Results
from benchmark.reports.answers.making import answer, endings, not_measured
from benchmark.reports.answers.places import place
from benchmark.reports.answers.record import Answer, Case, Question
from benchmark.reports.answers.seeds import more_seeds
from benchmark.reports.answers.studied import studied
from benchmark.reports.answers.telling import told
from benchmark.reports.answers.words import verdict_of
from benchmark.reports.evidence import machine, state_words
from benchmark.reports.recipes import words
from benchmark.reports.tables import Table
from benchmark.store.row import Row
from benchmark.studies.equivalence import BOUND
from benchmark.studies.names import study_of

OURS = "rotrnn"
EQUIVALENCE = "rotbench study equivalence"
PERIOD = "rotbench study period --seeds 0:12"


def _equivalence(question: Question, case: Case) -> Answer:
    rows = studied(case.rows, "equivalence")
    if not rows:
        return not_measured(question, "conversions between the layers", EQUIVALENCE, endings(case.rows, ("study",)))
    errors = {name: max(row.detail["errors"].get(name, 0.0) for row in rows) for name in _names(rows)}
    worst = max([*errors.values(), *(float(row.detail.get("conjugate_pairs", 0.0)) for row in rows)])
    frameworks = dict.fromkeys(row.framework for row in rows)
    return answer(
        question,
        "yes" if worst <= BOUND else "no",
        [
            "An LRU written as a RotRNN with one plane a head and no P, and back, a RotRNN written as an LRU, and an "
            f"LRU as a real system of conjugate pairs agree to a relative error of at most {n.error(worst)}, float64, "
            f"in {' and '.join(frameworks)}, in {n.counted(len(rows), 'cell')} (bound {n.error(BOUND)}).",
            *_left(rows),
        ],
        rows,
        table=_errors_table(errors),
        caveats=["Equal functions need not train alike: Q5, Q6 and Q9 look at what the parametrisation changes."],
    )


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.detail["errors"]))


def _left(rows: Sequence[Row]) -> list[str]:
    """The accounts of both layers at the largest size: what the one has and the other has not."""
    row = max(rows, key=lambda row: (row.d_model, row.d_state))
    found = []
    for book in row.detail["books"]:
        heads = f" with {n.counted(book['heads'], 'head')}, P {book['mixing']}" if book.get("heads") else ""
        found.append(
            f"{book['layer']}{heads}: {n.count(book['parameters'])} parameters, of which {n.count(book['free'])} make "
            f"a difference, {n.counted(book['decays'], 'decay')} and {n.counted(book['angles'], 'angle')} for a state "
            f"of {n.count(book['real_state_size'])} real numbers"
        )
    return [f"At d_model {row.d_model}: {'; '.join(found)}. What is left is that a head's planes share one decay."]


def _errors_table(errors: dict[str, float]) -> Table:
    lines = [[name, n.error(value), "equal" if value <= BOUND else "DIFFERENT"] for name, value in errors.items()]
    notes = ["Relative error over all outputs, the largest of all rows; held against the oracle and both frameworks."]
    return Table("Conversions", ["conversion", "error", "verdict"], lines, frozenset({"error"}), notes)


def _period_contrasts(results: Results) -> list[Contrast]:
    return [entry for part in _alike(results.rows) for entry in _of_period(part)]


def _alike(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of period that differ in their seeds alone."""
    found: dict[str, list[Row]] = {}
    for row in studied(rows, "period"):
        found.setdefault(words(period_setting(row)), []).append(row)
    return list(found.values())


def period_setting(row: Row) -> dict[str, Any]:
    """What rows of period that are taken together agree in."""
    names = ("layer", "task", "framework", "device", "threads", "d_model", "d_state", "options")
    found = {name: getattr(row, name) for name in names} | machine(row)
    recipe = row.recipe.model_dump(mode="json") if row.recipe else None
    return {name: words(value) for name, value in found.items()} | {"recipe": words(recipe)}


def _of_period(rows: Sequence[Row]) -> list[Contrast]:
    """Of learned angles how much nearer they come, of held ones how much better than a constant answer they do."""
    first = rows[0]
    if study_of(first.task).inputs == "fixed":
        gains = [row.detail["chance"] - row.detail["test_score"] for row in rows]
        score = statistics.fmean(row.detail["test_score"] for row in rows)
        figures = f"MSE {n.significant(score)}, of a constant answer {n.significant(first.detail['chance'])}"
        return [_contrast(rows, "mse", f"{first.layer} with its angles held", "a constant answer", gains, figures)]
    gains = [row.detail["before"]["error"] - row.detail["after"]["error"] for row in rows]
    before, after = (statistics.fmean(row.detail[when]["error"] for row in rows) for when in ("before", "after"))
    angle = first.detail["angle"]
    figures = (
        f"error of the angle read out {n.significant(before)} radians before and {n.significant(after)} after "
        f"training, truth {n.significant(angle)} radians a step"
    )
    return [_contrast(rows, "radians", f"the angle of {first.layer}", "the truth", gains, figures)]


def _contrast(rows: Sequence[Row], unit: str, ours: str, theirs: str, gains: Sequence[float], figures: str) -> Contrast:
    first = rows[0]
    where = place({name: getattr(first, name) for name in ("framework", "device", "threads")})
    period = f"period {2 * math.pi / first.detail['angle']:.4g} steps"
    return Contrast(
        family="score",
        unit="mse" if unit == "mse" else "radians",
        ours=ours,
        theirs=theirs,
        place=(*where, period, f"d_model {first.d_model}", state_words(first)),
        estimate=sign_flips(gains),
        margin=0.0,
        figures=figures,
        size=n.counted(len(rows), "seed"),
        basis="sign flips",
        our_rows=tuple(rows),
        their_rows=(),
        setting=period_setting(first),
    )


def _period(question: Question, case: Case) -> Answer:
    if not case.decided:
        return not_measured(question, "recovery of a known period", PERIOD, endings(case.rows, ("study",)))
    turning = [decision for decision in case.decided if OURS in decision.contrast.ours]
    held = any("held" in decision.contrast.ours for decision in turning)
    learned = any("held" not in decision.contrast.ours for decision in turning)
    return answer(
        question,
        verdict_of(turning, "more"),
        told(case.decided),
        [row for decision in case.decided for row in decision.contrast.rows],
        table=decision_table("Recovery of a known period", case.decided),
        missing=[
            *more_seeds(case.decided, PERIOD),
            *([] if held else [f"{OURS} with its angles held: run `{PERIOD}`"]),
            *([] if learned else [f"{OURS} with learned angles: run `{PERIOD}`"]),
        ],
        caveats=["One noisy sinusoid and one small model: that a period is found here says little of real data."],
    )


EQUIVALENT = Question(
    id="Q8",
    text="Are LRU and RotRNN the same functions once conjugate pairs are counted, and what is left between them?",
    needs="rows of `rotbench study equivalence`",
    statistic="largest relative error of conversions both ways in float64; parameters, decays and angles of each",
    rule=f"yes: every error is at most {BOUND:g}; no: one is larger",
    answer=_equivalence,
)
PERIODS = Question(
    id="Q10",
    text="Can the period of a rotation be controlled through the blocks, and found from data?",
    needs="rows of `rotbench study period`, six seeds or more, with angles learned and held",
    statistic="by how much the angle that is read out most comes nearer to the truth in training; by how much the "
    "error with held angles lies below that of a constant answer; over seeds, by sign flips",
    rule="of rotrnn. yes: nearer, and better than a constant answer; partly: one of them; no: neither; undecided: else",
    answer=_period,
    contrasts=_period_contrasts,
)
