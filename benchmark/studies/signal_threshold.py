"""The depth at which a signal leaves 1, from exact and simulated points, and how it grows with the width."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from benchmark.metrics.statistics import Interval
from benchmark.spec.errors import UserError, short
from benchmark.studies.signal import Array, feedforward_log_variance, log_q, log_s
from benchmark.studies.signal_plan import ENSEMBLES
from benchmark.studies.signal_scale import Curve, crossing, exponent, simulated_exponent
from benchmark.studies.signal_table import EXACT, GAUSSIAN, Point

DEEPEST_SEARCHED = 10**6

EXPECTED = {"recurrent": 0.5, "feedforward": 1.0}
"""Exponents of the width in the limit."""


class Threshold(NamedTuple):
    """Depths at which one quantity reaches 1 + tolerance, and the exponent of the width in them.

    For V, a variance of logarithms, the threshold is log(1 + tolerance). ``undersampled``: among the points
    up to the crossing is one whose sample is too small.
    """

    wiring: str
    quantity: str
    ensemble: str
    source: str
    widths: tuple[int, ...]
    depths: tuple[float | None, ...]
    slope: Interval | None
    tolerance: float
    undersampled: bool = False

    @property
    def expected(self) -> float:
        """The exponent in the limit of large widths."""
        return EXPECTED[self.wiring]


def thresholds(points: Sequence[Point], tolerance: float) -> list[Threshold]:
    """Every threshold that the points allow: exact at all widths and at the simulated ones, and simulated.

    Args:
        points: of one study.
        tolerance: above 0.

    Raises:
        UserError: for a tolerance that is not positive and finite.
    """
    check_tolerance(tolerance)
    gaussian = [p for p in points if p.subject == GAUSSIAN]
    simulated = [p for p in gaussian if p.source != EXACT]
    widths = _widths(p for p in gaussian if p.source == EXACT)
    found = []
    for listed in dict.fromkeys((widths, _widths(simulated))):
        if listed:
            found += [_exact(quantity, listed, tolerance) for quantity in ("Q", "S")]
    if simulated:
        found += [_exact_feedforward(_widths(simulated), ensemble, tolerance) for ensemble in ENSEMBLES]
    return [*found, *_simulated(simulated, tolerance)]


def check_tolerance(tolerance: float) -> None:
    """Raise UserError unless the tolerance is positive and finite."""
    if not 0 < tolerance < math.inf:
        raise UserError(f"signal: the tolerance must be a positive number, got {short(tolerance)}")


def _widths(points: Iterable[Point]) -> tuple[int, ...]:
    return tuple(sorted({p.n for p in points}))


def _exact(quantity: str, widths: tuple[int, ...], tolerance: float) -> Threshold:
    logs = {"Q": log_q, "S": lambda n, depth: log_s(n, depth) - np.log(np.arange(depth + 1) + 1.0)}[quantity]
    depths = tuple(_exact_crossing(logs, n, tolerance) for n in widths)
    return Threshold("recurrent", quantity, "complex", EXACT, widths, depths, _exact_slope(widths, depths), tolerance)


def _exact_crossing(logs: Callable[[int, int], Array], n: int, tolerance: float) -> float | None:
    """Looks twice as deep until the threshold is passed; None if it lies beyond DEEPEST_SEARCHED."""
    depth = 4
    while depth < DEEPEST_SEARCHED:
        depth *= 2
        if (found := crossing(range(depth + 1), logs(n, depth), tolerance)) is not None:
            return found
    return None


def _exact_feedforward(widths: tuple[int, ...], ensemble: str, tolerance: float) -> Threshold:
    """Of V, which grows by the same amount in each layer."""
    depths = tuple(math.log1p(tolerance) / feedforward_log_variance(n, 1, ensemble) for n in widths)
    return Threshold("feedforward", "V", ensemble, EXACT, widths, depths, _exact_slope(widths, depths), tolerance)


def _exact_slope(widths: tuple[int, ...], depths: tuple[float | None, ...]) -> Interval | None:
    known = [depth for depth in depths if depth is not None]
    return exponent(widths, known) if len(known) == len(widths) > 1 else None


def _simulated(points: Sequence[Point], tolerance: float) -> list[Threshold]:
    """One threshold for each kind of curve: recurrent Q where it is averaged over most columns, S, feedforward V."""
    groups: dict[tuple[str, str, str, str], list[Point]] = {}
    for p in points:
        if p.quantity == "V" or p.wiring == "recurrent":
            groups.setdefault((p.wiring or "", p.quantity, p.ensemble or "", p.source), []).append(p)
    return [_simulated_threshold(key, group, tolerance) for key, group in sorted(groups.items())]


def _simulated_threshold(key: tuple[str, str, str, str], points: Sequence[Point], tolerance: float) -> Threshold:
    listed = {n: best_points(p for p in points if p.n == n) for n in _widths(points)}
    curves = [_curve(n, group) for n, group in listed.items()]
    depths = tuple(crossing(c.depths, c.logs, tolerance) for c in curves)
    few = any(
        p.undersampled and (depth is None or before < depth)
        for group, depth in zip(listed.values(), depths, strict=True)
        for p, before in zip(group, (0, *(q.depth for q in group)), strict=False)
    )
    return Threshold(*key, tuple(listed), depths, simulated_exponent(curves, tolerance), tolerance, few)


def best_points(points: Iterable[Point]) -> list[Point]:
    """By depth, at each the point that is averaged over most columns."""
    best: dict[int, Point] = {}
    for p in sorted(points, key=lambda p: (p.depth, p.columns or 0)):
        best[p.depth] = p
    return list(best.values())


def _curve(n: int, points: Sequence[Point]) -> Curve:
    """From depth 0 on, where each quantity is known: of S over the t + 1 inputs, and of V itself for a logarithm."""
    logs, errors = [0.0], [0.0]
    for p in points:
        value, error = p.log_value, p.relative_se or 0.0
        if p.quantity == "S":
            value -= math.log(p.depth + 1)
        elif p.quantity == "V":
            value, error = math.exp(value), error * math.exp(value)
        logs.append(value)
        errors.append(error)
    return Curve(n, (0, *(p.depth for p in points)), tuple(logs), tuple(errors))
