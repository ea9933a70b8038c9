"""Q7: how time and memory grow with the length, where two layers cross, and where memory ends."""

import math
from collections.abc import Sequence

import numpy as np

from benchmark.metrics.inference import Student
from benchmark.metrics.scaling import Crossover, crossovers, growth
from benchmark.reports import numbers as n
from benchmark.reports.answers.amounts import effect
from benchmark.reports.answers.charts import line_chart
from benchmark.reports.answers.contrasts import Contrast, Decision
from benchmark.reports.answers.layers import Results, timed
from benchmark.reports.answers.lengths import by_length, place_of, size_of
from benchmark.reports.answers.making import answer, endings, not_measured
from benchmark.reports.answers.memory import memory_ends, memory_growth, sized
from benchmark.reports.answers.places import shared
from benchmark.reports.answers.record import Answer, Case, Chart, Question
from benchmark.reports.answers.seeds import too_few
from benchmark.reports.answers.telling import told
from benchmark.reports.answers.words import p_text, verdict_of, word
from benchmark.reports.evidence import Group, groups
from benchmark.reports.measures import values
from benchmark.reports.tables import Table

OURS = "rotrnn"
COMMAND = "rotbench speed --layer all --seq-len 1024:65536:x2 --processes 3"
MEMORY = "rotbench memory --layer all --seq-len 1024:65536:x2"
NEAR_LINEAR = 0.1
"""How near to 1 an exponent of linear growth is."""


def _contrasts(results: Results) -> list[Contrast]:
    found = (_exponent(group) for group in groups(timed(results.rows), "seq_len"))
    return [*(entry for entry in found if entry is not None), *results.times]


def _exponent(group: Group) -> Contrast | None:
    """How one layer's time grows, as the distance of its exponent from 1; None with fewer than three lengths."""
    measured = by_length(group.rows)
    if len(measured) < 3:
        return None
    found = growth(measured)
    return Contrast(
        family="time",
        unit="exponent",
        ours=group.rows[0].layer,
        theirs="",
        place=place_of(group),
        estimate=Student(found.value - 1, found.standard_error, found.freedom, found.test),
        margin=NEAR_LINEAR,
        figures="",
        size=size_of(measured),
        basis=found.test,
        our_rows=tuple(group.rows),
        their_rows=(),
        setting=group.setting,
    )


def _answer(question: Question, case: Case) -> Answer:
    exponents = [decision for decision in case.decided if decision.contrast.unit == "exponent"]
    ends = memory_ends(case.rows)
    memory = memory_growth(case.rows)
    if not exponents and not ends and not memory:
        return not_measured(question, "times at three lengths or more", COMMAND, endings(case.rows, ("speed",)))
    crossed = _crossings([decision for decision in case.decided if decision.contrast.unit == "ratio"])
    return answer(
        question,
        verdict_of([decision for decision in exponents if decision.contrast.ours == OURS], "same", "less"),
        [*told(exponents), *crossed, *memory, *ends],
        sized(case.rows),
        table=_table(exponents),
        chart=_chart(exponents),
        missing=_missing(exponents, memory),
        caveats=[
            "An exponent holds in the range of lengths measured; where a power law does not fit, it is that between "
            "the last two lengths.",
            *endings(case.rows, ("speed", "memory")),
        ],
    )


def _crossings(decisions: Sequence[Decision]) -> list[str]:
    """Where the faster of two layers changes, of those pairs that are faster at one length and slower at another."""
    along: dict[tuple[object, ...], list[Decision]] = {}
    for decision in decisions:
        c = decision.contrast
        where = tuple(sorted((name, str(value)) for name, value in c.setting.items() if name != "seq_len"))
        along.setdefault((c.ours, c.theirs, c.our_rows[0].d_state, c.their_rows[0].d_state, where), []).append(decision)
    found = [_crossing(sorted(part, key=_length)) for part in along.values()]
    return [text for text in found if text is not None]


def _length(decision: Decision) -> int:
    return decision.contrast.our_rows[0].seq_len or 0


def _crossing(decisions: Sequence[Decision]) -> str | None:
    """In words; None unless both sides of it are decided."""
    if not {"less", "more"} <= {decision.side for decision in decisions}:
        return None
    first = decisions[0].contrast
    ours, theirs = (
        [(_length(d), values(side(d), "time")) for d in decisions]
        for side in (lambda d: d.contrast.our_rows, lambda d: d.contrast.their_rows)
    )
    crossings = crossovers(ours, theirs, np.random.default_rng(0))
    common, _ = shared([decision.contrast.place for decision in decisions])
    listed = " and ".join(f"at about length {_at(crossing)}" for crossing in crossings)
    return (
        f"{', '.join(common)}: {first.ours} becomes {crossings[-1].then} than {first.theirs} {listed} "
        f"({first.size} at each of {len(decisions)} lengths)."
    )


def _at(crossing: Crossover) -> str:
    low, high = (
        n.count(round(end)) if end is not None else "beyond the range" for end in (crossing.low, crossing.high)
    )
    return f"{n.count(round(crossing.seq_len))} [{low} to {high}]"


def _table(exponents: Sequence[Decision]) -> Table | None:
    if not exponents:
        return None
    names = ["layer", "where", "exponent and 95 % interval", "values", "adjusted p", "growth"]
    lines = [
        [
            decision.contrast.ours,
            " ".join(decision.contrast.place),
            effect(decision).removeprefix("exponent "),
            decision.contrast.size,
            p_text(decision.p_adjusted),
            word(decision),
        ]
        for decision in exponents
    ]
    note = f"exponent b of time = a length^b; linear: within {NEAR_LINEAR:g} of 1. Methods: docs/statistics.md."
    return Table(
        "Growth of time with length", names, lines, frozenset({"adjusted p"}), [note], ("values", "adjusted p")
    )


def _chart(exponents: Sequence[Decision]) -> Chart | None:
    points = [
        {
            "layer": decision.contrast.ours,
            "place": ", ".join(decision.contrast.place),
            "length": length,
            "value": ms,
        }
        for decision in exponents
        for length, listed in by_length(decision.contrast.our_rows)
        for ms in [math.exp(sum(map(math.log, listed)) / len(listed))]
    ]
    return line_chart("time of a call, ms", points) if points else None


def _missing(exponents: Sequence[Decision], memory: Sequence[str]) -> list[str]:
    found = []
    if not any(decision.contrast.ours == OURS for decision in exponents):
        found.append(f"times of {OURS} at three lengths or more: run `{COMMAND}`")
    if not memory:
        found.append(f"memory at three lengths or more: run `{MEMORY}`")
    if (why := too_few(exponents)) is not None:
        found.append(f"{why}: run `{COMMAND}`")
    return found


SCALING = Question(
    id="Q7",
    text="Does RotRNN scale up to long sequences?",
    needs="speed rows of one layer at three lengths or more that differ in nothing else; memory rows likewise; cells "
    "that ran out of memory",
    statistic="exponent of time over length; lengths at which two layers cross, where both sides are decided; the "
    "largest length that fits in memory",
    rule=f"of rotrnn's time. yes: its exponent lies within {NEAR_LINEAR:g} of 1, or below, in every setting; partly: "
    "in some; no: in none; undecided: else",
    answer=_answer,
    contrasts=_contrasts,
)
