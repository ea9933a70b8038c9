"""A signal study as tables: all of them in order, and those of exact energies, thresholds and rescaling."""

import math
from collections.abc import Iterable, Sequence

from benchmark.metrics.statistics import Interval
from benchmark.reports import numbers as n
from benchmark.reports.signal_simulated import FEW, energy, feedforward_table, layer_table, recurrent_table
from benchmark.reports.tables import Table
from benchmark.studies.signal import corrected_log_s, law, regime, stated_log_s
from benchmark.studies.signal_scale import Rescaling, glorot_rescaling
from benchmark.studies.signal_table import EXACT, GAUSSIAN, Point
from benchmark.studies.signal_threshold import Threshold, thresholds

TOLERANCE = 0.1
"""A signal has left 1 above 1 + this."""

HORIZON_C = (1.0, 3.0, 5.0)
"""Horizons of the rescaling over sqrt(n), where none are asked for."""

MEASURED = {"Q": "Q", "S": "S / (t + 1)", "V": "V, feedforward"}
"""Of which the threshold is found."""


def signal_tables(
    points: Sequence[Point], found: Sequence[Threshold] | None = None, horizons: Sequence[int] = ()
) -> list[Table]:
    """Every table that the points allow.

    Args:
        points: of one study.
        found: thresholds, if they are at hand; else those at TOLERANCE.
        horizons: steps up to which Glorot's scale is corrected; by default 1, 3 and 5 sqrt(n).
    """
    gaussian = [p for p in points if p.subject == GAUSSIAN]
    exact = [p for p in gaussian if p.source == EXACT]
    simulated = [p for p in gaussian if p.source != EXACT]
    layers = [p for p in points if p.subject != GAUSSIAN]
    tables = [exact_table(exact)] if exact else []
    if simulated:
        tables += [recurrent_table(simulated, ensemble) for ensemble in _ensembles(simulated)]
        tables.append(feedforward_table(simulated))
    if gaussian:
        found = thresholds(points, TOLERANCE) if found is None else found
        tables += [threshold_table(found, ensemble) for ensemble in _ensembles(gaussian)]
    if exact:
        tables.append(rescaling_table(rescalings(exact, horizons)))
    return [*tables, layer_table(layers)] if layers else tables


def _ensembles(points: Iterable[Point]) -> list[str]:
    return sorted({p.ensemble for p in points if p.ensemble})


def exact_table(points: Sequence[Point]) -> Table:
    """Q and S by width and depth, each over the limit of its regime."""
    by_depth: dict[tuple[int, int], dict[str, float]] = {}
    for p in points:
        by_depth.setdefault((p.n, p.depth), {})[p.quantity] = p.log_value
    names = ["n", "depth", "c", "regime", "Q", "Q / limit", "S", "S / limit", "S / corrected", "S / stated"]
    lines = [_exact_line(*key, values["Q"], values["S"]) for key, values in sorted(by_depth.items())]
    notes = [
        "h_t = W h_{t-1} + x_t, W complex Gaussian with variance 1/n, E||x_t||^2 = n. Q: an impulse's energy after "
        "`depth` steps; S: the state's energy over n. c = depth / sqrt(n).",
        "Limit: 1 and depth + 1 (sub-critical), the scaling functions of c (critical), the corrected law "
        "(super-critical). Stated: n^2 / t^3 exp(t^2 / 2n), right only for t << n^(2/3).",
    ]
    return Table(
        "Energy of an impulse and of a driven state, exact",
        names,
        lines,
        frozenset(names) - {"regime"},
        notes,
        ("S / corrected", "c", "S / stated", "regime"),
    )


def _exact_line(width: int, depth: int, log_q: float, log_s: float) -> list[str]:
    start = [n.count(width), n.count(depth), n.significant(depth / math.sqrt(width)), regime(width, depth)]
    if depth == 0:
        return [*start, energy(log_q), n.MISSING, energy(log_s), *[n.MISSING] * 3]
    limit = law(width, depth)
    values = [log_q, log_q - limit.log_q, log_s, log_s - limit.log_s]
    values += [log_s - corrected_log_s(width, depth), log_s - stated_log_s(width, depth)]
    return [*start, *map(energy, values)]


def threshold_table(found: Sequence[Threshold], ensemble: str) -> Table:
    """Depths at which signals leave 1, and the exponent of the width in them; ``found`` at one tolerance."""
    bound = f"{1 + (found[0].tolerance if found else TOLERANCE):g}"
    names = ["of", "source", "n", "depth", "exponent", "95 % interval", "expected"]
    lines = [
        [
            MEASURED[t.quantity],
            t.source,
            _span(t.widths),
            _span(t.depths),
            n.significant(t.slope.median if t.slope else None) + (f" {FEW}" if t.undersampled else ""),
            slope_interval(t.slope),
            f"{t.expected:g}",
        ]
        for t in found
        if t.ensemble == ensemble
    ]
    notes = [
        f"The depth at which Q or S / (t + 1) of a recurrent network reaches {bound}, or V of a feedforward "
        f"one log {bound}. Exponent: slope of log depth over log n.",
        "Intervals: of exact depths Student's, of how far they are from one power law; of simulated ones by "
        "redrawing every mean with its standard error. Frameworks see the same matrices.",
    ]
    title = f"How deep a signal stays near 1, {ensemble} matrices"
    return Table(title, names, lines, frozenset({"exponent"}), notes, ("expected", "depth"))


def _span(values: Sequence[float | None]) -> str:
    """The first and the last value."""
    ends = [values[0], values[-1]] if len(values) > 1 else [values[0]]
    return " to ".join(n.MISSING if v is None else f"{v:,}" if isinstance(v, int) else n.significant(v) for v in ends)


def slope_interval(slope: Interval | None) -> str:
    """The interval of an exponent, if there is one."""
    if slope is None or math.isinf(slope.high):
        return n.MISSING
    return f"{n.significant(slope.low)} to {n.significant(slope.high)}"


def rescalings(points: Sequence[Point], horizons: Sequence[int]) -> list[Rescaling]:
    """For every width of the points and every horizon."""
    widths = sorted({p.n for p in points})
    return [
        glorot_rescaling(width, horizon)
        for width in widths
        for horizon in (horizons or sorted({max(1, round(c * math.sqrt(width))) for c in HORIZON_C}))
    ]


def rescaling_table(found: Sequence[Rescaling]) -> Table:
    """The gain on Glorot's scale by width and horizon, and how well it does."""
    names = ["n", "horizon", "c", "gain", "n (1 - gain) / horizon", "Q without", "within a factor of"]
    lines = [
        [
            n.count(r.n),
            n.count(r.horizon),
            n.significant(r.horizon / math.sqrt(r.n)),
            f"{r.gain:.6f}",
            n.significant(r.n * (1 - r.gain) / r.horizon),
            energy(r.log_unscaled),
            energy(r.log_worst),
        ]
        for r in found
    ]
    notes = [
        "W times the gain keeps the energy of an impulse within the last column's factor of 1 at every step up to the "
        "horizon, better than any other gain; without it the energy grows to `Q without`."
    ]
    return Table("Glorot rescaled for a horizon", names, lines, frozenset(names), notes, ("n (1 - gain) / horizon",))
