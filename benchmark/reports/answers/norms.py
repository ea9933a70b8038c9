"""Q6: whether the norm of a layer's state explodes, or only gets large."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmark.reports import numbers as n
from benchmark.reports.answers.charts import line_chart
from benchmark.reports.answers.contrasts import Contrast, Decision
from benchmark.reports.answers.layers import Results
from benchmark.reports.answers.making import answer, endings, not_measured
from benchmark.reports.answers.places import place
from benchmark.reports.answers.record import Answer, Case, Chart, Question
from benchmark.reports.answers.studied import studied
from benchmark.reports.answers.variants import defaults, named, option
from benchmark.reports.answers.words import by_sides, effect, p_text, summary, too_few, verdict_of, word
from benchmark.reports.recipes import words
from benchmark.reports.tables import Table
from benchmark.store.row import Row
from benchmark.studies.names import study_of
from benchmark.studies.norms import MARGIN, growth_exponent, over_seeds

THEIRS = "lru"
ALONE = ("white", "constant")
"""Inputs of a layer by itself; all others are a task's data, as long as its sequences are."""

COMMAND = "rotbench study norms --seeds 0:5"


def _alike(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of norms that differ in their seeds alone."""
    found: dict[str, list[Row]] = {}
    for row in studied(rows, "norms"):
        found.setdefault(words(_setting(row)), []).append(row)
    return list(found.values())


def _setting(row: Row) -> dict[str, Any]:
    names = ("layer", "task", "framework", "seq_len", "d_model", "d_state", "options", "dtype", "device", "batch")
    return {name: getattr(row, name) for name in names}


def exponents(rows: Sequence[Row]) -> list[float]:
    """By seed, the growth of the mean square over the last decade of time; of several blocks that which grows most."""
    found = []
    for row in rows:
        detail = row.detail
        grown = [_exponent(detail["times"], squares(block)) for block in detail["blocks"]]
        known = [value for value in grown if value is not None]
        if known:
            found.append(max(known))
    return found


def squares(block: Mapping[str, Any]) -> list[float | None]:
    """Mean squares over time: of all white inputs where these are known exactly, else of those that were drawn."""
    return list(block.get("exact") or block["mean_square"])


def _exponent(times: Sequence[int], values: Sequence[float | None]) -> float | None:
    known = [(t, v) for t, v in zip(times, values, strict=True) if v is not None]
    return growth_exponent([t for t, _ in known], [v for _, v in known]) if known else None


def _contrasts(results: Results) -> list[Contrast]:
    return [entry for part in _alike(results.rows) if (entry := _contrast(part)) is not None]


def _contrast(rows: Sequence[Row]) -> Contrast | None:
    found, first = exponents(rows), rows[0]
    if not found:
        return None
    inputs = study_of(first.task)
    return Contrast(
        family="norm",
        unit="slope",
        ours=named(first),
        theirs="",
        place=(
            *(f"{inputs.inputs} inputs{', trained' if inputs.weights else ', as initialised'}",),
            *place({"framework": first.framework, "device": first.device, "seq_len": first.seq_len}),
            f"d_state {first.d_state}",
        ),
        estimate=over_seeds(found),
        margin=MARGIN,
        figures=_levels(rows),
        size=n.counted(len(found), "seed"),
        basis="Student's t",
        our_rows=tuple(rows),
        their_rows=(),
        setting={name: str(value) for name, value in _setting(first).items()},
    )


def _levels(rows: Sequence[Row]) -> str:
    """What the mean square came to at the last time, and where it tends."""
    last = statistics.fmean(level for row in rows if (level := level_of(row)) is not None)
    limits = [limit_of(row) for row in rows]
    text = f"mean square {n.significant(last)} a real coordinate at t = {n.count(rows[0].detail['times'][-1])}"
    known = [limit for limit in limits if limit is not None and math.isfinite(limit)]
    if len(known) == len(limits):
        return f"{text}, tending to {n.significant(statistics.fmean(known))}"
    return text


def level_of(row: Row) -> float | None:
    """The largest mean square of any block at the last time that is known."""
    last = [next((v for v in reversed(squares(b)) if v is not None), None) for b in row.detail["blocks"]]
    return max((value for value in last if value is not None), default=None)


def limit_of(row: Row) -> float | None:
    """Where the mean square of a layer's one block tends by formula; None where that is not known."""
    blocks = row.detail["blocks"]
    found = blocks[0].get("limit") if len(blocks) == 1 else None
    return float(found) if found is not None else None


def _answer(question: Question, case: Case) -> Answer:
    if not case.decided:
        return not_measured(question, "norms of states over time", COMMAND, endings(case.rows, ("study",)))
    turning = [decision for decision in case.decided if turns(decision.contrast.our_rows[0])]
    rows = [row for decision in case.decided for row in decision.contrast.rows]
    short = too_few(case.decided)
    return answer(
        question,
        verdict_of(turning, "more"),
        [*map(summary, by_sides(case.decided)), *_ratios(case.decided)],
        rows,
        table=_table(case.decided),
        chart=_chart(rows),
        again=[f"{COMMAND} --again"],
        missing=[f"{short}: run `{COMMAND}`"] if short else [],
        caveats=[
            "Mean squares are of one real coordinate of the state, the same scale for all layers; norms of whole "
            "vectors or of heads are not, and grow with their size.",
            "Growth is that over the last decade of time measured; with every modulus below 1 a norm is bounded in the "
            "end.",
        ],
    )


def turns(row: Row) -> bool:
    """Whether the verdict rests on a row: an LRU with its own gamma, driven by itself and so over any length."""
    own = option(row, "gamma") == defaults(row.layer).get("gamma")
    return row.layer == THEIRS and own and study_of(row.task).inputs in ALONE


def _ratios(decisions: Sequence[Decision]) -> list[str]:
    """How much larger other layers' states are than RotRNN's in the same place."""
    levels: dict[tuple[str, ...], dict[str, float]] = {}
    for decision in decisions:
        known = [value for row in decision.contrast.our_rows if (value := level_of(row))]
        if known:
            levels.setdefault(decision.contrast.place[:-1], {})[decision.contrast.ours] = statistics.fmean(known)
    found = []
    for where, by_layer in levels.items():
        own = by_layer.get("rotrnn")
        others = [
            f"{name} x{n.significant(value / own)}" for name, value in by_layer.items() if own and name != "rotrnn"
        ]
        if others:
            found.append(f"{', '.join(where)}: mean square against that of rotrnn: {', '.join(others)}.")
    return found


def _table(decisions: Sequence[Decision]) -> Table:
    names = ["layer", "where", "mean square", "growth exponent and 95 % interval", "values", "adjusted p", "verdict"]
    lines = [
        [
            decision.contrast.ours,
            " ".join(decision.contrast.place),
            decision.contrast.figures.removeprefix("mean square "),
            effect(decision).removeprefix("exponent "),
            decision.contrast.size,
            p_text(decision.p_adjusted),
            word(decision),
        ]
        for decision in decisions
    ]
    note = f"growth exponent: 0 is bounded, 1 a random walk; bounded: within {MARGIN:g} of 0."
    return Table("State norms", names, lines, frozenset({"adjusted p"}), [note], ("values", "adjusted p"))


def _chart(rows: Sequence[Row]) -> Chart | None:
    points = [
        {"layer": row.layer, "place": f"{row.task} {row.framework}", "length": t, "value": value}
        for row in {
            (row.layer, row.task, row.framework): row for row in reversed(rows) if named(row) == row.layer
        }.values()
        for t, value in zip(row.detail["times"], squares(row.detail["blocks"][-1]), strict=True)
        if value
    ]
    return line_chart("mean square of a real coordinate of the state", points, "time, steps") if points else None


NORMS = Question(
    id="Q6",
    text="Does the norm of the LRU's state explode?",
    needs="rows of `rotbench study norms`, two seeds or more",
    statistic="exponent of the mean square of a real coordinate over the last decade of time, mean over seeds, by "
    "Student's t; the level reached beside that of the other layers",
    rule=f"of lru with its own gamma, driven by itself. yes: the exponent lies above {MARGIN:g} with white and with "
    "constant inputs; partly: with one of them; no: with neither; undecided: else",
    answer=_answer,
    contrasts=_contrasts,
)
