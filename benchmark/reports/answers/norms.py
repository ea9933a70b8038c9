"""Q6: whether the norm of a layer's state explodes, or only gets large."""

from collections.abc import Sequence

from benchmark.reports import numbers as n
from benchmark.reports.answers.amounts import effect
from benchmark.reports.answers.charts import line_chart
from benchmark.reports.answers.contrasts import Contrast, Decision
from benchmark.reports.answers.layers import Results
from benchmark.reports.answers.making import answer, endings
from benchmark.reports.answers.norm_course import course_sentences, courses
from benchmark.reports.answers.norm_values import (
    alike,
    curve,
    drive_of,
    ended,
    exponents,
    is_exact,
    level,
    limit,
    setting_of,
    subject_of,
)
from benchmark.reports.answers.places import place
from benchmark.reports.answers.record import Answer, Case, Chart, Question, Verdict
from benchmark.reports.answers.seeds import too_few
from benchmark.reports.answers.telling import sizes
from benchmark.reports.answers.variants import defaults, named, option
from benchmark.reports.answers.words import p_text, verdict_of, word
from benchmark.reports.evidence import state_words
from benchmark.reports.tables import Table
from benchmark.store.row import Row
from benchmark.studies.names import ALONE, study_of
from benchmark.studies.norms import MARGIN, over_seeds

THEIRS = "lru"
BASE = "rotrnn with normalizer stationary"
"""Beside whose level the others are told."""

NEAR = 0.01
"""A level that lies so near to its limit has reached it."""

COMMAND = "rotbench study norms --seeds 0:5"
TRAINED = "rotbench study norms --weights RESULTS/weights/CELL.safetensors"
COURSE = (
    "norms over the course of a training: run `rotbench train digits --layer all --snapshots --out RESULTS`, then "
    "`rotbench study norms --weights RESULTS/snapshots`"
)


def _contrasts(results: Results) -> list[Contrast]:
    return [entry for part in alike(ended(results.rows)) if (entry := _contrast(part)) is not None]


def _contrast(rows: Sequence[Row]) -> Contrast | None:
    found, first = exponents(rows), rows[0]
    if not found:
        return None
    where = {"framework": first.framework, "device": first.device, "seq_len": first.seq_len}
    return Contrast(
        family="norm",
        unit="slope",
        ours=subject_of(first),
        theirs="",
        place=(drive_of(first), *place(where), state_words(first)),
        estimate=over_seeds(found),
        margin=MARGIN,
        figures=_levels(rows),
        size=n.counted(len(found), "seed"),
        basis="Student's t",
        our_rows=tuple(rows),
        their_rows=(),
        setting=setting_of(first),
    )


def _levels(rows: Sequence[Row]) -> str:
    """What the mean square came to at the last time, and where it tends."""
    how = " (exact)" if is_exact(rows) else ""
    text = f"mean square {n.significant(level(rows))}{how} at t = {n.count(rows[0].detail['times'][-1])}"
    tends, now = limit(rows), level(rows)
    if tends is None or now is None:
        return text
    return f"{text}, its limit" if abs(now - tends) < NEAR * tends else f"{text}, tending to {n.significant(tends)}"


def _answer(question: Question, case: Case) -> Answer:
    over_training = courses(case.rows)
    rows = [row for course in over_training for row in course.rows]
    if not case.decided:
        short = ", of more steps than those that were measured" if ended(case.rows) else ""
        return answer(
            question,
            "not measured",
            course_sentences(over_training),
            rows,
            missing=[f"norms of states over time{short}: run `{COMMAND}`"],
            caveats=[*(CAVEATS if over_training else ()), *endings(case.rows, ("study",))],
        )
    rows += [row for decision in case.decided for row in decision.contrast.rows]
    return answer(
        question,
        _verdict(case.decided),
        [*map(_sentence, by_place(case.decided)), *_ratios(case.decided), *course_sentences(over_training)],
        rows,
        table=_table(case.decided),
        chart=_chart(case.decided),
        missing=[*_missing(case.decided), *([] if over_training else [COURSE])],
        caveats=[*CAVEATS, *endings(case.rows, ("study",))],
    )


CAVEATS = (
    "Mean squares are of one real coordinate of the state, the same scale for all layers; norms of whole vectors or of "
    "heads are not, and grow with their size.",
    "Growth is that over the last decade of time measured; with every modulus below 1 a norm is bounded in the end, "
    "and one that is still filling reads as growing.",
)


def turns(row: Row) -> bool:
    """Whether the verdict rests on a row: an LRU with its own gamma, driven by itself and so over any length."""
    own = option(row, "gamma") == defaults(row.layer).get("gamma")
    return row.layer == THEIRS and own and study_of(row.task).inputs in ALONE


def _verdict(decisions: Sequence[Decision]) -> Verdict:
    """As decided; what was looked at with one kind of inputs alone can neither be yes nor no."""
    turning = [decision for decision in decisions if turns(decision.contrast.our_rows[0])]
    found = verdict_of(turning, "more")
    if found in {"yes", "no"} and _undriven(turning):
        return "partly" if found == "yes" else "undecided"
    return found


def _undriven(turning: Sequence[Decision]) -> list[str]:
    """The kinds of inputs with which nobody drove the layer alone."""
    driven = {study_of(decision.contrast.our_rows[0].task).inputs for decision in turning}
    return [inputs for inputs in ALONE if inputs not in driven]


def by_place(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """Decisions with the same inputs, weights and sizes together."""
    found: dict[tuple[str, ...], list[Decision]] = {}
    for decision in sorted(decisions, key=lambda d: (d.contrast.place, d.contrast.ours)):
        found.setdefault(decision.contrast.place, []).append(decision)
    return list(found.values())


def _sentence(decisions: Sequence[Decision]) -> str:
    """All layers in one place: verdict, exponent and level of each."""
    first = decisions[0].contrast
    parts = [f"{d.contrast.ours} {word(d)}, {effect(d)}, {d.contrast.figures}" for d in decisions]
    few = ", too few ever to decide" if any(decision.p_adjusted is None for decision in decisions) else ""
    tests = dict.fromkeys(decision.contrast.estimate.test for decision in decisions)
    return (
        f"{', '.join(first.place)}: growth of the mean square of a real coordinate over the last decade of time "
        f"[95 % interval]: {'; '.join(parts)} ({sizes(decisions, list(tests))}{few})."
    )


def _ratios(decisions: Sequence[Decision]) -> list[str]:
    """How much larger other layers' states are than RotRNN's in the same place."""
    found = []
    for members in by_place(decisions):
        levels = {d.contrast.ours: value for d in members if (value := level(d.contrast.our_rows))}
        own = levels.pop(BASE, None)
        if own and levels:
            listed = ", ".join(f"{name} x{n.significant(value / own)}" for name, value in levels.items())
            where = ", ".join(members[0].contrast.place)
            found.append(f"{where}: mean square at the end over that of {BASE}, means over seeds: {listed}.")
    return found


def _missing(decisions: Sequence[Decision]) -> list[str]:
    turning = [decision for decision in decisions if turns(decision.contrast.our_rows[0])]
    found = [f"{THEIRS} driven by {inputs} inputs: run `{COMMAND}`" for inputs in _undriven(turning)]
    if all(study_of(decision.contrast.our_rows[0].task).weights is None for decision in decisions):
        found.append(f"norms after a training: run `{TRAINED}`")
    short = too_few(decisions)
    return [*found, f"{short}: run `{COMMAND}`"] if short else found


def _table(decisions: Sequence[Decision]) -> Table:
    names = ["layer", "where", "level", "growth exponent and 95 % interval", "values", "adjusted p", "verdict"]
    lines = [
        [
            decision.contrast.ours,
            " ".join(decision.contrast.place),
            decision.contrast.figures,
            effect(decision).removeprefix("exponent "),
            decision.contrast.size,
            p_text(decision.p_adjusted),
            word(decision),
        ]
        for members in by_place(decisions)
        for decision in members
    ]
    notes = [
        f"growth exponent: 0 is bounded, 1 a random walk; bounded: within {MARGIN:g} of 0. level: of a real "
        "coordinate; exact: of all white inputs, by formula, else of the inputs that were drawn.",
    ]
    return Table("State norms", names, lines, frozenset({"adjusted p"}), notes, ("values", "adjusted p"))


def _chart(decisions: Sequence[Decision]) -> Chart | None:
    """A line for each contrast of a layer as it is."""
    own = [decision.contrast for decision in decisions if named(decision.contrast.our_rows[0]) == _layer(decision)]
    points = [
        {"layer": contrast.our_rows[0].layer, "place": ", ".join(contrast.place), "length": t, "value": value}
        for contrast in own
        for t, value in curve(contrast.our_rows)
    ]
    return line_chart("mean square of a real coordinate", points, "time, steps") if points else None


def _layer(decision: Decision) -> str:
    return decision.contrast.our_rows[0].layer


NORMS = Question(
    id="Q6",
    text="Does the norm of the LRU's state explode?",
    needs="rows of `rotbench study norms`, two seeds or more, with white and with constant inputs; of trainings with "
    "--snapshots, for their course",
    statistic="exponent of the mean square of a real coordinate over the last decade of time, mean over seeds, by "
    "Student's t; the level reached beside that of the other layers",
    rule=f"of lru with its own gamma, driven by itself. yes: the exponent lies above {MARGIN:g} with white and with "
    "constant inputs; partly: with one of them; no: with neither; undecided: else",
    answer=_answer,
    contrasts=_contrasts,
)
