"""How time or memory grows with the sequence: exponents, crossings, and where memory ends."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.inference import Student, log_ratio

Measured = Sequence[tuple[int, Sequence[float]]]
"""(sequence length, positive values, one a process) by ascending length."""


def exponent(measured: Measured) -> Student:
    """The exponent b of value = a * length^b: the slope of least squares on logarithms, over all process values.

    Its standard error is of the residuals, so it takes in how far the data are from a power law. At
    least two lengths and three values.
    """
    x = np.log([float(length) for length, values in measured for _ in values])
    y = np.log([value for _, values in measured for value in values])
    if len({length for length, _ in measured}) < 2 or len(x) < 3:
        return Student(math.nan, math.inf, 0)
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    residuals = y - y.mean() - slope * centred
    error = math.sqrt(float(residuals @ residuals) / (len(x) - 2) / float(centred @ centred))
    return Student(slope, error, len(x) - 2, "least squares of logarithms")


def beyond_fixed_costs(measured: Measured) -> Student:
    """The exponent c of value = a + b * length^c, where a, from 0, are the fixed costs of a call.

    By least squares on logarithms, over all process values. Of fewer values than parameters, and of
    as many, nothing is known.
    """
    from scipy.optimize import least_squares

    x = np.array([float(length) for length, values in measured for _ in values])
    y = np.array([value for _, values in measured for value in values])
    x, y = x / x.max(), y / y.max()

    def residuals(p: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log(p[0] + p[1] * x ** p[2]) - np.log(y)

    tight = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-14)
    bounds = ([0.0, 1e-9, 0.0], [math.inf, math.inf, 4.0])
    fit = least_squares(residuals, [y.min() / 2, 1.0, 1.0], bounds=bounds, **tight)
    derivatives = fit.jac if fit.x[0] > 1e-6 * y.min() else fit.jac[:, 1:]  # no fixed costs, no parameter
    freedom = len(y) - derivatives.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(derivatives) < derivatives.shape[1]:
        return Student(float(fit.x[2]), math.inf, 0)
    variances = np.diag(np.linalg.inv(derivatives.T @ derivatives)) * float(fit.fun @ fit.fun) / freedom
    return Student(float(fit.x[2]), math.sqrt(variances[-1]), freedom, "least squares of logarithms, with fixed costs")


def local_exponent(measured: Measured) -> Student:
    """The exponent between the last two lengths: where growth is headed, once fixed costs no longer count."""
    (shorter, before), (longer, after) = measured[-2:]
    ratio, reach = log_ratio(after, before), math.log(longer / shorter)
    return Student(
        ratio.value / reach, ratio.standard_error / reach, ratio.freedom, "Welch's t between the last two lengths"
    )


def lack_of_fit_p(measured: Measured) -> float | None:
    """P of data so far from any power law, by what processes of one length differ; None if no length has several.

    Source: the F test of lack of fit, Draper and Smith (1998), section 2.1.
    """
    from scipy.special import fdtrc

    logs = [np.log(np.asarray(values, np.float64)) for _, values in measured]
    pure = sum(float(((part - part.mean()) ** 2).sum()) for part in logs)
    lengths, total = len(logs), sum(map(len, logs))
    if lengths < 3 or total == lengths or pure == 0:
        return None
    line = exponent(measured)
    x = np.log([float(length) for length, _ in measured])
    centred = x - float(np.average(x, weights=[len(part) for part in logs]))
    residual = (
        line.standard_error**2 * (total - 2) * sum(len(part) * c**2 for part, c in zip(logs, centred, strict=True))
    )
    lack = max(residual - pure, 0.0)
    return float(fdtrc(lengths - 2, total - lengths, (lack / (lengths - 2)) / (pure / (total - lengths))))


def growth(measured: Measured, level: float = 0.05) -> Student:
    """The exponent that says where growth is headed: of all lengths if they fit one power law, else of the last two.

    Args:
        measured: three lengths or more.
        level: of the test of the fit.
    """
    fit = lack_of_fit_p(measured)
    return local_exponent(measured) if fit is not None and fit < level else exponent(measured)


class Crossover(NamedTuple):
    """A length at which the faster of two layers changes; an end of the 95 % interval is None where it is open."""

    seq_len: float
    low: float | None
    high: float | None
    then: str
    """``slower``: ours is the slower one beyond; ``faster`` likewise."""


def crossovers(
    ours: Measured, theirs: Measured, rng: np.random.Generator, confidence: float = 0.95, resamples: int = 2000
) -> list[Crossover]:
    """Every length at which the times of two layers cross, none if they do not cross in the range measured.

    Lengths between measured ones are interpolated in log-log. The interval is of a parametric
    bootstrap: each length's log ratio is drawn from Student's distribution about its estimate.
    Where draws do not cross there, that end is open.

    Args:
        ours: at two lengths or more; those that theirs has too are used.
        theirs: likewise.
        rng: draws the bootstrap.
        confidence: of the interval.
        resamples: of the bootstrap.
    """
    theirs_at = dict(theirs)
    shared = [(length, log_ratio(values, theirs_at[length])) for length, values in ours if length in theirs_at]
    x = np.log([float(length) for length, _ in shared])
    centre = np.array([ratio.value for _, ratio in shared])
    draws = np.stack([_drawn(ratio, rng, resamples) for _, ratio in shared], axis=1)
    found = []
    for i in np.flatnonzero(np.sign(centre[:-1]) * np.sign(centre[1:]) < 0):
        crossing = float(np.exp(_zero(x, centre, int(i))))
        low, high = _ends(x, draws, rising=bool(centre[i] < 0), confidence=confidence)
        found.append(Crossover(crossing, low, high, "slower" if centre[i] < 0 else "faster"))
    return found


def _drawn(ratio: Student, rng: np.random.Generator, resamples: int) -> NDArray[np.float64]:
    if ratio.freedom < 1:  # spread unknown: anything may be
        return rng.choice([-math.inf, math.inf], resamples)
    drawn: NDArray[np.float64] = ratio.value + ratio.standard_error * rng.standard_t(ratio.freedom, resamples)
    return drawn


def _zero(x: NDArray[np.float64], y: NDArray[np.float64], i: int) -> float:
    """Where the line from point i to the next is zero."""
    return float(x[i] - y[i] * (x[i + 1] - x[i]) / (y[i + 1] - y[i]))


def _ends(
    x: NDArray[np.float64], draws: NDArray[np.float64], rising: bool, confidence: float
) -> tuple[float | None, float | None]:
    """Quantiles of the first crossing in this direction; draws without one lie beyond the end they point to."""
    signed = draws if rising else -draws
    places = np.array([_first(x, row) for row in signed])
    low, high = np.quantile(places, [(1 - confidence) / 2, (1 + confidence) / 2], method="nearest")
    return tuple(float(np.exp(end)) if math.isfinite(end) else None for end in (low, high))  # type: ignore[return-value]


def _first(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    ups = np.flatnonzero((y[:-1] < 0) & (y[1:] >= 0))
    if not len(ups):
        return -math.inf if y[0] >= 0 else math.inf
    return _zero(x, y, int(ups[0])) if np.isfinite(y[ups[0] : ups[0] + 2]).all() else float(x[ups[0]])


class LargestLength(NamedTuple):
    """The smallest length at which memory did not suffice, and the largest below it that was measured; None if none."""

    fits: int | None
    exhausted: int | None


def largest_length(endings: Iterable[tuple[int, str]]) -> LargestLength:
    """From (sequence length, status of its row); ``skipped_after_oom`` counts as memory that did not suffice.

    Lengths that ended otherwise, such as by timeout, say nothing about memory.
    """
    listed = list(endings)
    exhausted = min((length for length, status in listed if status in {"oom", "skipped_after_oom"}), default=None)
    measured = (length for length, status in listed if status == "ok")
    fits = max((length for length in measured if exhausted is None or length < exhausted), default=None)
    return LargestLength(fits, exhausted)
