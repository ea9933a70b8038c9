"""Q3: which differences between layers are significant."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from benchmark.metrics.inference import ALPHA, MINIMUM_EFFECT
from benchmark.reports import numbers as n
from benchmark.reports.answers.amounts import amount, bounds
from benchmark.reports.answers.charts import interval_chart
from benchmark.reports.answers.contrasts import Contrast, Decision
from benchmark.reports.answers.effects import COLUMNS, NOTE, effect
from benchmark.reports.answers.layers import Results, timed, trained
from benchmark.reports.answers.making import answer, endings, not_measured
from benchmark.reports.answers.record import Answer, Case, Question, Verdict
from benchmark.reports.answers.seeds import more_seeds
from benchmark.reports.answers.telling import told
from benchmark.reports.answers.words import p_text, word
from benchmark.reports.evidence import MATCHED, why_not
from benchmark.reports.tables import Table, column, without
from benchmark.store.row import Row

SPEED = "rotbench speed --layer all --seq-len 1024:16384:x2 --match state --processes 3"
SCORES = "rotbench train TASK --layer all --seeds 0:10"


def _contrasts(results: Results) -> list[Contrast]:
    return [*results.times, *results.scores]


def _answer(question: Question, case: Case) -> Answer:
    if not case.decided:
        return not_measured(question, _why_none(case.rows), f"{SPEED}` and `{SCORES}", endings(case.rows, METRICS))
    used = [row for decision in case.decided for row in decision.contrast.rows]
    return answer(
        question,
        _verdict(case.decided),
        [*_counts(case.decided), *told(case.decided)],
        used,
        table=decision_table("Differences between layers", case.decided),
        chart=interval_chart(case.decided),
        missing=[*_absent(case), *_short(case.decided), *_unmatched(case.decided)],
        caveats=[*_unpaired(case, used), *endings(case.rows, METRICS)],
    )


METRICS = ("speed", "train")
MOST_LINES = 200
"""Lines of a table of comparisons; sentences and counts take in all."""


def _verdict(decisions: Sequence[Decision]) -> Verdict:
    """yes: all decided and some differ; partly: some differ, others are open; no: all are the same."""
    sides = {decision.side for decision in decisions}
    if not sides - {None}:
        return "undecided"
    if sides <= {"same", None}:
        return "undecided" if None in sides else "no"
    return "partly" if None in sides else "yes"


def _counts(decisions: Sequence[Decision]) -> list[str]:
    """How many differences of each kind were looked at and decided."""
    found = []
    for family, name in (("time", "time of a call"), ("score", "test score")):
        own = [decision for decision in decisions if decision.contrast.family == family]
        if own:
            found.append(f"Of {n.counted(len(own), 'comparison')} by {name}: {_count(own)}.")
    return found


def _count(decisions: Sequence[Decision]) -> str:
    apart = sum(decision.side in {"less", "more"} for decision in decisions)
    same = sum(decision.side == "same" for decision in decisions)
    hopeless = sum(decision.p_adjusted is None for decision in decisions)
    alike = f", {same} decided as none of {100 * MINIMUM_EFFECT:g} % or more" if same else ""
    left = len(decisions) - apart - same
    few = f", {hopeless if hopeless < left else 'all'} of them with too few values ever to decide" if hopeless else ""
    return f"{apart} decided as a difference{alike}, {left} open{few}"


def decision_table(title: str, decisions: Sequence[Decision]) -> Table:
    """Every decision: figures, difference, interval, effect size, p, and the verdict in a word."""
    names = ["compared", "where", "figures", "difference", "95 % interval", *COLUMNS, "values"]
    names += ["p", "adjusted p", "verdict"]
    shown = sorted(decisions, key=_rank)[:MOST_LINES] if len(decisions) > MOST_LINES else decisions
    rows = [_line(decision) for decision in shown]
    families = decisions[0].families if decisions else 1
    shares = f", with {100 * ALPHA / families:.2g} % for each of {families} families" if families > 1 else ""
    notes = [
        "difference: x is the ratio of the first side's time to the second's, points are percentage points of "
        "accuracy, a negative MSE is the better. Intervals are of the one comparison.",
        f"adjusted p: over all comparisons of all questions (Holm){shares}; {n.MISSING}: too few values ever to "
        "decide. Methods: docs/statistics.md and docs/answers.md.",
    ]
    if len(shown) < len(decisions):
        notes.insert(0, f"The {len(shown)} of {n.count(len(decisions))} comparisons of the smallest adjusted p.")
    numeric = frozenset({"difference", "95 % interval", *COLUMNS, "p", "adjusted p"})
    optional = ("p", "order", "values", "figures", "effect size", "95 % interval")
    return _without_empty(Table(title, names, rows, numeric, notes, optional))


def _without_empty(table: Table) -> Table:
    """The table without the columns of effects that have nothing in them, and with what the others are."""
    empty = [name for name in COLUMNS if all(value == n.MISSING for value in column(table, name))]
    table = replace(table, notes=[*table.notes, *([NOTE] if len(empty) < len(COLUMNS) else [])])
    return reduce(without, empty, table)


def _rank(decision: Decision) -> float:
    return 2.0 if decision.p_adjusted is None else decision.p_adjusted


def _line(decision: Decision) -> list[str]:
    c, (value, low, high) = decision.contrast, decision.comparison.difference
    finite = abs(low) != float("inf") and abs(high) != float("inf")
    ends = bounds(low, high, c.unit) if finite else n.MISSING
    p = decision.comparison.p if decision.p_adjusted is not None else None
    return [
        f"{c.ours} to {c.theirs}",
        " ".join(c.place),
        c.figures,
        amount(value, c.unit),
        ends,
        *effect(c),
        c.size,
        p_text(p),
        p_text(decision.p_adjusted),
        word(decision),
    ]


def _absent(case: Case) -> list[str]:
    """Which of times and scores nobody measured of two layers."""
    families = {decision.contrast.family for decision in case.decided}
    wanted = (("time", "times of two layers", SPEED), ("score", "scores of two layers from the same seeds", SCORES))
    return [f"{what}: run `{command}`" for family, what, command in wanted if family not in families]


def _short(decisions: Sequence[Decision]) -> list[str]:
    """Where values are too few ever to decide."""
    found = []
    for family, command in (("time", SPEED), ("score", SCORES)):
        own = [decision for decision in decisions if decision.contrast.family == family]
        found += more_seeds(own, command)
    return found


def _unmatched(decisions: Sequence[Decision]) -> list[str]:
    """How many comparisons are of sizes that match in d_state alone."""
    count = sum(MATCHED["d_state"] in decision.contrast.basis for decision in decisions)
    if not count:
        return []
    how = f"{n.counted(count, 'comparison')} at equal d_state alone, where states are NOT of one size"
    return [f"equal states in {how}: run `{SPEED}`, or trainings with --d-state"]


def _why_none(rows: Sequence[Row]) -> str:
    """Why no two layers can be compared."""
    good = [*timed(rows), *trained(rows)]
    reasons = [why_not(a, b) for a in good[:30] for b in good[:30] if a.layer < b.layer and a.metric == b.metric]
    if not reasons:
        return "times or scores of two layers"
    nearest = min(reasons, key=len)
    return f"no two layers may be compared; the nearest rows differ in {'; '.join(nearest[:3])}"


def _unpaired(case: Case, used: Sequence[Row]) -> list[str]:
    """How many rows have nothing to be compared with."""
    known = {row.cell_id for row in used}
    good = [*timed(case.rows), *trained(case.rows)]
    alone = sum(row.cell_id not in known for row in good)
    if not alone:
        return []
    return [
        f"{alone} of {len(good)} rows have no partner: no other layer was measured in the same setting, "
        "which takes in machine, versions, code, recipe and seeds."
    ]


DIFFERENCES = Question(
    id="Q3",
    text="Which differences between the layers are statistically significant?",
    needs="speed rows of two layers or more, best of three processes or more; trainings of two layers from the same "
    "seeds, six or more",
    statistic="ratio of times over process medians (Welch's t on logarithms, differences below 2 % do not count); "
    "difference of test scores over pairs of seeds (sign flips, exact); Holm over all comparisons",
    rule="yes: every comparison is decided and some differ; partly: some differ, others are open; no: all are the same "
    "within the margin; undecided: none differs and some are open",
    answer=_answer,
    contrasts=_contrasts,
)
