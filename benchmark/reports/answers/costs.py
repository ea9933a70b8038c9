"""Q1: how many FLOPs RotRNN takes, and whether that is seen in its time."""

from collections.abc import Iterable, Sequence

from benchmark.metrics.inference import MINIMUM_EFFECT
from benchmark.reports import numbers as n
from benchmark.reports.answers.charts import bar_chart
from benchmark.reports.answers.contrasts import Contrast, Decision
from benchmark.reports.answers.layers import Results
from benchmark.reports.answers.making import answer, endings
from benchmark.reports.answers.matched import COUNTED, Cost, Size, costs, sizes
from benchmark.reports.answers.record import Answer, Case, Chart, Question, Verdict
from benchmark.reports.answers.telling import told
from benchmark.reports.flops import CONVENTION
from benchmark.reports.results import latest
from benchmark.reports.tables import Table
from benchmark.store.row import Row

OURS = "rotrnn"
SPEED = "rotbench speed --layer all --seq-len 1024:16384:x2 --match state --processes 3"
Costs = dict[str, Cost]


def _contrasts(results: Results) -> list[Contrast]:
    return [contrast for contrast in results.times if OURS in (contrast.ours, contrast.theirs)]


def _answer(question: Question, case: Case) -> Answer:
    counted = {size: costs(size) for size in sizes(case.rows)}
    rows = latest(row for decision in case.decided for row in decision.contrast.rows)
    return answer(
        question,
        _verdict(list(counted.values())),
        [*(_compared(*entry) for entry in counted.items()), *_measured(rows), *told(case.decided)],
        rows,
        table=_table(counted),
        chart=_chart(counted),
        again=[_command(size, cost) for size, found in counted.items() for cost in found.values()],
        missing=_missing(case.decided, next(iter(counted))),
        caveats=[*CAVEATS, *_unmatched(counted.values()), *endings(case.rows, ("speed",))],
    )


CAVEATS = (
    "FLOPs are counted by formula, not measured; the algorithm counted is the sequential scan, and the FFT for a layer "
    "with a recurrence a channel.",
    "At equal state S4D does less because its channels do not mix in the recurrence: a dense map outside the layer "
    "does that, and is not in the count.",
)


def _verdict(found: Sequence[Costs]) -> Verdict:
    """yes: fewer than every baseline of equal state in every size; no: than none; partly: than some."""
    ratios = [_ratio(costs_, name) for costs_ in found for name in costs_ if name != OURS and _is_matched(costs_, name)]
    if not ratios:
        return "not measured"
    fewer = [ratio < 1 - MINIMUM_EFFECT for ratio in ratios]
    return "yes" if all(fewer) else "partly" if any(fewer) else "no"


def _ratio(found: Costs, name: str) -> float:
    return found[OURS].forward / found[name].forward


def _is_matched(found: Costs, name: str) -> bool:
    """Whether a layer has a size of RotRNN's very state; S4D, with two numbers a channel at least, may have none."""
    return OURS in found and found[name].spec.real_state_size == found[OURS].spec.real_state_size


def _compared(size: Size, found: Costs) -> str:
    """One sentence a size: FLOPs a token, and ratios to the baselines."""
    head = f"By formula, at d_model {size.d_model} and length {n.count(size.seq_len)}"
    if OURS not in found:
        return f"{head}, no size of {OURS} has a real state near {n.count(size.state)} numbers."
    own = found[OURS]
    others = ", ".join(
        f"{_ratio(found, name):.3f} times those of {name} (state {_state(found, name)})"
        for name in found
        if name != OURS
    )
    return (
        f"{head}, {OURS} with a state of {n.count(own.spec.real_state_size)} real numbers takes "
        f"{n.scaled(own.forward / size.seq_len, 'FLOP')} a token forward, {others}."
    )


def _unmatched(found: Iterable[Costs]) -> list[str]:
    """What becomes of layers that have no size of equal state."""
    names = dict.fromkeys(
        name for costs_ in found if OURS in costs_ for name in costs_ if not _is_matched(costs_, name)
    )
    if not names:
        return []
    return [f"Where a state is NOT matched ({', '.join(names)}), the layer has no part in the verdict and no bar."]


def _state(found: Costs, name: str) -> str:
    """The real numbers of a layer's state, and whether they are not RotRNN's."""
    count = n.count(found[name].spec.real_state_size)
    return f"{count}, NOT matched" if OURS in found and not _is_matched(found, name) else count


def _measured(rows: Sequence[Row]) -> list[str]:
    """FLOPs of the calls that were timed, with the algorithm that ran."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row.flops:
            key = f"{row.layer} {row.direction or ''}".strip()
            found.setdefault(key, []).append(row.flops / row.tokens)
    if not found:
        return []
    listed = "; ".join(f"{key} {_span(values)}" for key, values in sorted(found.items()))
    return [f"In the calls whose times are compared, by formula and with the algorithm that ran: {listed}."]


def _span(values: Sequence[float]) -> str:
    low, high = n.scaled(min(values), "FLOP"), n.scaled(max(values), "FLOP")
    return f"{low} a token" if low == high else f"{low} to {high} a token"


def _table(counted: dict[Size, Costs]) -> Table:
    names = ["d_model", "length", "layer", "d_state", "real state", "parameters", "forward", "forward+backward", "step"]
    rows = [
        [
            n.count(size.d_model),
            n.count(size.seq_len),
            name,
            n.count(cost.spec.d_state),
            _state(found, name),
            n.count(cost.spec.param_count),
            n.scaled(cost.forward, "FLOP"),
            n.scaled(cost.training, "FLOP"),
            n.scaled(cost.step, "FLOP"),
        ]
        for size, found in counted.items()
        for name, cost in found.items()
    ]
    notes = ["Of one sequence, matched in real state as nearly as each layer's sizes allow.", CONVENTION]
    return Table("FLOPs at equal state, by formula", names, rows, frozenset(names) - {"layer"}, notes, ("d_state",))


def _chart(counted: dict[Size, Costs]) -> Chart:
    size, found = next(iter(counted.items()))
    bars = [
        {"layer": name, "group": panel, "value": value / tokens}
        for name, cost in found.items()
        if OURS not in found or _is_matched(found, name)
        for panel, value, tokens in (
            ("forward", cost.forward, size.seq_len),
            ("forward+backward", cost.training, size.seq_len),
            ("step", cost.step, 1),
        )
    ]
    return bar_chart(f"FLOPs a token, by formula, real state about {size.state}", bars)


def _command(size: Size, cost: Cost) -> str:
    """The command that prints a formula's value again."""
    return (
        f"rotbench flops --layer {cost.spec.name} --d-model {size.d_model} --d-state {cost.spec.d_state} "
        f"--seq-len {size.seq_len} --batch 1 --algorithm {COUNTED[cost.spec.per_channel]}"
    )


def _missing(decisions: Sequence[Decision], size: Size) -> list[str]:
    """Counters are not kept with results; times may be missing."""
    sizes_ = f"--d-model {size.d_model} --seq-len {size.seq_len}"
    found = [
        "what torch's and XLA's own counters see of these FLOPs (they miss FFTs, complex products and loops, "
        f"docs/costs.md) is not kept with results: run `rotbench flops --layer all {sizes_} --counters`"
    ]
    if not decisions:
        found.append(f"times of {OURS} beside another layer's: run `{SPEED}`")
    return found


FLOPS = Question(
    id="Q1",
    text="Does RotRNN take fewer FLOPs than the baselines, and less time?",
    needs="nothing for the FLOPs, which are formulas; speed rows of rotrnn and another layer for the times",
    statistic="FLOPs of a forward call at equal real state; ratio of times as in Q3",
    rule=f"on the FLOPs alone: yes if at least {100 * MINIMUM_EFFECT:g} % fewer than every baseline's of equal "
    "state, partly if than some, no if than none",
    answer=_answer,
    contrasts=_contrasts,
)
