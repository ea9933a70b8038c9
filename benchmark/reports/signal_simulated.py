"""The simulations of a signal study as tables, exact values beside them."""

import math
from collections.abc import Iterable, Sequence

from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.studies.signal import feedforward_log_variance, log_q, log_s
from benchmark.studies.signal_table import EXACT, Point
from benchmark.studies.signal_threshold import best_points

FEW = "(few)"
LARGEST_PLAIN = math.log(1e6)


def energy(log_value: float | None) -> str:
    """An energy from its natural logarithm, which may be beyond the range of numbers.

    >>> energy(0.0), energy(477.355)
    ('1.00', '2.05e207')
    """
    if log_value is None:
        return n.MISSING
    if abs(log_value) < LARGEST_PLAIN:
        return n.significant(math.exp(log_value))
    decades = log_value / math.log(10)
    power = math.floor(decades + 0.002)  # 9.996 reads as 1.00 of the next power
    return f"{max(10 ** (decades - power), 1.0):.2f}e{power}"


def recurrent_table(points: Sequence[Point], ensemble: str) -> Table:
    """Simulated recurrent networks beside exact values, one line a width and depth, of the first framework."""
    names = ["n", "depth", "c", "Q exact", "Q, one vector", "Q, averaged", "S exact", "S"]
    names += ["effective", "frameworks differ"]
    mine = [p for p in points if p.wiring == "recurrent" and p.ensemble == ensemble]
    keys = sorted({(p.n, p.depth) for p in mine})
    lines = [_recurrent_line(*key, [p for p in mine if (p.n, p.depth) == key]) for key in keys]
    return Table(
        f"Recurrent networks with {ensemble} matrices, simulated",
        names,
        lines,
        frozenset(names),
        [
            f"{_samples(mine)} matrices a line, each line with its own. +- one standard error. Averaged: over "
            "orthogonal vectors of each matrix, all n of them up to n = 128 (the Frobenius norm). Real matrices have "
            "no exact value here.",
            f"{FEW}: so few matrices carry the mean that neither it nor its standard error can be trusted. "
            "Effective: matrices that carry the averaged Q.",
        ],
        ("frameworks differ", "effective", "c", "Q, one vector"),
    )


def _recurrent_line(width: int, depth: int, points: Sequence[Point]) -> list[str]:
    first = [p for p in points if p.source == points[0].source]
    single = next(p for p in first if p.quantity == "Q" and p.columns == 1)
    averaged = best_points(p for p in first if p.quantity == "Q")[0]
    driven = next(p for p in first if p.quantity == "S")
    known = single.ensemble == "complex"
    return [
        n.count(width),
        n.count(depth),
        n.significant(single.c),
        energy(float(log_q(width, depth)[-1])) if known else n.MISSING,
        with_error(single),
        with_error(averaged),
        energy(float(log_s(width, depth)[-1])) if known else n.MISSING,
        with_error(driven),
        n.significant(averaged.effective_samples),
        _difference(points),
    ]


def with_error(point: Point) -> str:
    """A mean and its standard error, or that it cannot be trusted."""
    if point.undersampled:
        return f"{energy(point.log_value)} {FEW}"
    return f"{energy(point.log_value)} +- {n.significant(math.exp(point.log_value) * (point.relative_se or 0), 2)}"


def _difference(points: Sequence[Point]) -> str:
    """The largest relative difference between frameworks that drew the same matrices."""
    groups: dict[tuple[str, int | None, int | None, int | None], list[float]] = {}
    for p in points:
        groups.setdefault((p.quantity, p.columns, p.samples, p.seed), []).append(p.log_value)
    shared = [logs for logs in groups.values() if len(logs) > 1]
    return n.error(max(math.expm1(max(logs) - min(logs)) for logs in shared)) if shared else n.MISSING


def _samples(points: Iterable[Point]) -> str:
    """How many matrices, in words if they differ."""
    counts = sorted({p.samples for p in points if p.samples})
    return n.count(counts[0]) if len(counts) == 1 else f"{n.count(counts[0])} to {n.count(counts[-1])}"


def feedforward_table(points: Sequence[Point]) -> Table:
    """Simulated feedforward networks, whose mean energy is 1: one line a width and depth, of the first framework."""
    names = ["ensemble", "n", "depth", "depth / n", "Q", "V exact", "V", "frameworks differ"]
    mine = [p for p in points if p.wiring == "feedforward"]
    lines = []
    for ensemble, width, depth in sorted({(p.ensemble or "", p.n, p.depth) for p in mine}):
        here = [p for p in mine if (p.ensemble, p.n, p.depth) == (ensemble, width, depth)]
        first = {p.quantity: p for p in reversed(here) if p.source == here[0].source}
        exact = n.significant(feedforward_log_variance(width, depth, ensemble))
        start = [ensemble, n.count(width), n.count(depth), n.significant(depth / width)]
        lines.append([*start, with_error(first["Q"]), exact, with_error(first["V"]), _difference(here)])
    note = (
        "A new matrix in each layer: Q is 1 at every depth. V is the variance over draws of the log energy, about "
        "depth / n (real: 2 depth / n): one network strays from the mean at a depth of order n."
    )
    numeric = frozenset(names) - {"ensemble"}
    return Table("Feedforward networks, simulated", names, lines, numeric, [note], ("frameworks differ", "depth / n"))


def layer_table(points: Sequence[Point]) -> Table:
    """Energies of the layers' states per real coordinate over time."""
    sources = sorted({(p.subject, p.source) for p in points}, key=lambda s: (s[0], s[1] != EXACT, s[1]))
    shared = set.intersection(*({p.depth for p in points if (p.subject, p.source) == source} for source in sources))
    times = [t for t in (1, 8, 64, 512) if t in shared and t < max(shared)] + [max(shared)]
    lines = []
    for subject, source in sources:
        mine = {p.depth: p for p in points if (p.subject, p.source) == (subject, source)}
        error = max((p.relative_se for p in mine.values() if p.relative_se is not None), default=None)
        lines.append([subject, source, *(energy(mine[t].log_value) for t in times), n.percent(error)])
    sizes = ", ".join(n.count(size) for size in sorted({p.n for p in points}))
    notes = [
        f"E||z_t||^2 over the {sizes} real numbers of state, white inputs of variance 1 from z_0 = 0, initial values "
        "of one seed. RotRNN's normaliser leads each head to energy 1, so each coordinate to heads / state. s.e.: the "
        "largest standard error of a simulated value.",
    ]
    names = ["layer", "source", *(f"t = {t:,}" for t in times), "s.e."]
    title = "State energy of the layers as initialised, per real coordinate"
    return Table(title, names, lines, frozenset(names[2:]), notes, tuple(names[3:5]))
