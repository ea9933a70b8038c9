"""How a signal grows in a linear recurrence with Gaussian weights: exact energies, their limits, a rescaling.

W is n x n with independent complex Gaussian entries of variance 1/n, which is Glorot's scale.

    Q_k = E||W^k x||^2 / ||x||^2       an impulse after k steps
    S_t = E||h_t||^2 / n = sum_{k=0}^t Q_k       h_t = W h_{t-1} + x_t,  E||x_t||^2 = n,  t + 1 inputs

With rising and falling factorials r_m = n (n+1) .. (n+m-1) / n^m and f_m = n (n-1) .. (n-m+1) / n^m,

    Q_k = n (r_{k+2} - f_{k+2}) / ((k+1) (k+2))

All is in logarithms, as Q grows like exp(k^2 / 2n). Source of the problem: Seleznova 2026, arXiv:2605.05113; the
formula is derived in docs/signal.md.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from benchmark.spec.errors import UserError, short

Array = np.ndarray
Regime = Literal["sub-critical", "critical", "super-critical"]

LARGEST_WIDTH, DEEPEST = 10**15, 10**7
"""Beyond the one, j/n loses digits of the result; beyond the other, arrays would fill the memory."""

SUB_CRITICAL_C, SUPER_CRITICAL_C = 0.5, 5.0
"""Of c = depth / sqrt(n). Up to the one the limit of Q is below 1.003; from the other on, the law for large c is
within 13 % of the critical limit of S."""


def log_q(n: int, depth: int) -> Array:
    """Log Q_k for k = 0 .. depth, float64 (depth + 1,).

    Q is right to 5e-13, or to one unit in the last place of its logarithm where that is more (log Q above 2,000).

    Args:
        n: width, 1 to LARGEST_WIDTH.
        depth: 0 to DEEPEST.

    Raises:
        UserError: for sizes out of range.
    """
    check_sizes(n, depth)
    ratio = np.arange(depth + 2) / n
    rising = running_sum(np.log1p(ratio))[1:]
    k = np.arange(depth + 1.0)
    return rising + np.log(n * -np.expm1(-_gap(ratio)) / ((k + 1) * (k + 2)))


def _gap(ratio: Array) -> Array:
    """Log (r_{k+2} / f_{k+2}): infinite from k + 2 > n on, where the falling factorial is zero."""
    inside = ratio[ratio < 1]
    sums = 2 * running_sum(np.arctanh(inside))
    return np.concatenate([sums, np.full(len(ratio) - len(inside), np.inf)])[1:]


def log_s(n: int, depth: int) -> Array:
    """Log S_t for t = 0 .. depth, float64 (depth + 1,); arguments and errors as of ``log_q``."""
    return log_running_sum(log_q(n, depth))


def running_sum(values: Array) -> Array:
    """The cumulative sum, with the rounding error of each addition added back (Knuth's two-sum)."""
    sums = np.cumsum(values)
    before = np.concatenate([[0.0], sums[:-1]])
    added = sums - before
    lost = (before - (sums - added)) + (values - added)
    return sums + np.cumsum(lost)


def log_running_sum(logs: Array) -> Array:
    """The logarithm of the cumulative sum of exp(logs)."""
    return np.asarray(np.logaddexp.accumulate(logs))


def check_sizes(n: int, depth: int) -> None:
    """Raise UserError unless width and depth are in range."""
    if not 1 <= n <= LARGEST_WIDTH:
        raise UserError(f"signal: the width n must lie between 1 and {LARGEST_WIDTH:.0e}, got {short(n)}")
    if not 0 <= depth <= DEEPEST:
        raise UserError(f"signal: the depth must lie between 0 and {DEEPEST:,}, got {short(depth)}")


def regime(n: int, depth: int) -> Regime:
    """The regime that a depth is in at this width, by the whole steps nearest to the bounds on c."""
    if depth <= round(SUB_CRITICAL_C * math.sqrt(n)):
        return "sub-critical"
    return "critical" if depth < round(SUPER_CRITICAL_C * math.sqrt(n)) else "super-critical"


def critical_log_q(c: float) -> float:
    """Log of the limit of Q at depth c sqrt(n): (2 / c^2) sinh(c^2 / 2). ``c`` at least 0."""
    z = c * c / 2
    if z < 1e-5:
        return z * z / 6  # of sinh(z) / z; what follows loses digits here
    return z + math.log(-math.expm1(-2 * z) / (2 * z))


def critical_log_s(c: float) -> float:
    """Log of the limit of S / sqrt(n) at depth c sqrt(n): the integral of (2 / x^2) sinh(x^2 / 2) from 0 to c > 0.

    By parts it is sqrt(pi/2) (erf(c / sqrt 2) + erfi(c / sqrt 2)) - (2 / c) sinh(c^2 / 2). Dawson's function is
    erfi without its exponential.
    """
    from scipy.special import dawsn, erf

    x, z = c / math.sqrt(2), c * c / 2
    bracket = math.sqrt(2) * dawsn(x) + math.sqrt(math.pi / 2) * erf(x) * math.exp(-z) + math.expm1(-2 * z) / c
    return float(z + math.log(bracket))


def stated_log_s(n: int, depth: int) -> float:
    """The super-critical law as it is usually stated, S ~ n^2 / t^3 exp(t^2 / 2n): right only for t << n^(2/3)."""
    return math.log(n) * 2 - 3 * math.log(depth) + depth * depth / (2 * n)


def corrected_log_s(n: int, depth: int) -> float:
    """The super-critical law at any depth: S ~ n (n + t) / t^3 r_{t+2}, to a relative 3 n / t^2. ``depth`` at least 1.

    The rising factorial stays whole: its logarithm is n ((1+y) log(1+y) - y) + log(1+y) / 2 with y = (t+1) / n, so
    t^2 / 2n - t^3 / 6n^2 + .. (Euler and Maclaurin). The factor (n + t) / t sums the geometric tail of the Q below t.
    """
    y = (depth + 1) / n
    rising = n * ((1 + y) * math.log1p(y) - y) + math.log1p(y) / 2
    return math.log(n) + math.log(n + depth) - 3 * math.log(depth) + rising


def feedforward_log_variance(n: int, depth: int, ensemble: str) -> float:
    """The variance over draws of log ||W_L ... W_1 x||^2 with a new matrix in each layer, about L / n (real: 2 L / n).

    Each layer multiplies the energy by an independent Gamma variable of shape n (real: n / 2) and mean 1. So Q is 1
    at every depth, and it is this spread that grows.
    """
    from scipy.special import polygamma

    return float(depth * polygamma(1, n if ensemble == "complex" else n / 2))


class Law(NamedTuple):
    """What a regime's limit says of log Q and log S."""

    log_q: float
    log_s: float


def law(n: int, depth: int) -> Law:
    """The limit of the regime that the depth is in; ``depth`` at least 1."""
    match regime(n, depth):
        case "sub-critical":
            return Law(0.0, math.log(depth + 1))
        case "critical":
            c = depth / math.sqrt(n)
            return Law(critical_log_q(c), critical_log_s(c) + math.log(n) / 2)
    log_s = corrected_log_s(n, depth)
    return Law(log_s + math.log(depth / (n + depth)), log_s)
