"""Where a signal leaves 1: the depth, how it grows with the width, and the gain that keeps it near 1 for longer."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmark.metrics.statistics import Interval
from benchmark.spec.errors import UserError, short
from benchmark.studies.signal import Array, log_q

RESAMPLES = 500


def crossing(depths: Sequence[float], logs: Sequence[float] | Array, tolerance: float) -> float | None:
    """The first depth at which a quantity reaches 1 + tolerance, by linear interpolation; None if it does not.

    Args:
        depths: rising.
        logs: logarithm of the quantity at each depth; it starts below the threshold.
        tolerance: above 0.
    """
    bound = math.log1p(tolerance)
    above = np.flatnonzero(np.asarray(logs) >= bound)
    if not len(above) or above[0] == 0:
        return None
    last, first = above[0] - 1, above[0]
    share = (bound - logs[last]) / (logs[first] - logs[last])
    return float(depths[last] + share * (depths[first] - depths[last]))


def exponent(widths: Sequence[float], depths: Sequence[float], confidence: float = 0.95) -> Interval:
    """The slope of log depth over log width by least squares, with Student's interval of the scatter about the line.

    With exact depths that scatter is the line's lack of fit. At least three widths, else the interval is infinite.
    """
    from scipy.special import stdtrit

    x, y = np.log(np.asarray(widths, float)), np.log(np.asarray(depths, float))
    slope, freedom = _slope(x, y), len(x) - 2
    if freedom < 1:
        return Interval(slope, -math.inf, math.inf)
    rest = y - y.mean() - slope * (x - x.mean())
    error = math.sqrt(float(rest @ rest) / freedom / float(((x - x.mean()) ** 2).sum()))
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    return Interval(slope, slope - half, slope + half)


def _slope(x: Array, y: Array) -> float:
    return float((x - x.mean()) @ (y - y.mean()) / ((x - x.mean()) ** 2).sum())


class Curve(NamedTuple):
    """A simulated quantity at one width: depths, logarithms of its means, and their relative standard errors."""

    n: int
    depths: tuple[float, ...]
    logs: tuple[float, ...]
    errors: tuple[float, ...]


def simulated_exponent(curves: Sequence[Curve], tolerance: float, confidence: float = 0.95) -> Interval | None:
    """The slope of log crossing over log width of simulated curves, with its interval by the parametric bootstrap.

    Each mean is redrawn from a normal law with its standard error: points are independent, since each
    has matrices of its own. None where a curve does not cross, or in a twentieth of the redraws does not.
    """
    found = [crossing(c.depths, c.logs, tolerance) for c in curves]
    crossed = [depth for depth in found if depth is not None]
    if len(curves) < 2 or len(crossed) < len(curves):
        return None
    x = np.log([curve.n for curve in curves])
    slopes = _redrawn_slopes(curves, x, tolerance)
    if len(slopes) < 0.95 * RESAMPLES:
        return None
    low, high = np.quantile(slopes, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(_slope(x, np.log(crossed)), float(low), float(high))


def _redrawn_slopes(curves: Sequence[Curve], x: Array, tolerance: float) -> list[float]:
    """Slopes of those redraws in which every curve crosses."""
    rng, slopes = np.random.default_rng(0), []
    for _ in range(RESAMPLES):
        depths = [crossing(c.depths, _redrawn(rng, c), tolerance) for c in curves]
        if None not in depths:
            slopes.append(_slope(x, np.log(np.array(depths, float))))
    return slopes


def _redrawn(rng: np.random.Generator, curve: Curve) -> list[float]:
    factors = 1 + np.asarray(curve.errors) * rng.standard_normal(len(curve.logs))
    return list(np.asarray(curve.logs) + np.log(np.maximum(factors, 1e-3)))


class Rescaling(NamedTuple):
    """A gain on Glorot's matrix, and the factor within which it keeps Q_k of 1 up to the horizon."""

    n: int
    horizon: int
    gain: float
    log_worst: float
    log_unscaled: float
    """Of Q at the horizon with gain 1, which is the worst then."""


def glorot_rescaling(n: int, horizon: int) -> Rescaling:
    """The gain g that keeps the energy g^(2k) Q_k nearest to 1 for all k up to a horizon.

    On logarithms g takes a line through zero off the convex curve log Q_k. The line that makes the largest
    distance from zero least sinks as far below zero in between as it ends above zero at the horizon.

    Args:
        n: width.
        horizon: the last step that counts, at least 1.

    Raises:
        UserError: for a horizon below 1, or a width out of range.
    """
    if horizon < 1:
        raise UserError(f"signal: the horizon must be at least 1 step, got {short(horizon)}")
    logs, steps = log_q(n, horizon), np.arange(horizon + 1)
    low, high = 0.0, float(logs[-1]) / horizon
    for _ in range(60):
        rate = (low + high) / 2
        line = logs - rate * steps
        low, high = (rate, high) if line[-1] > -line.min() else (low, rate)
    worst = float(np.abs(logs - high * steps).max())
    return Rescaling(n, horizon, math.exp(-high / 2), worst, float(logs[-1]))
