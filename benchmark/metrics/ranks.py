"""Two independent samples compared by ranks: no distribution assumed, but enough values needed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.statistics import Interval

MOST_EXACT = 10_000
"""Pairs of values up to which the distribution of U is counted out; beyond, it is taken to be normal."""


@dataclass(frozen=True)
class RankShift:
    """The shift between two samples: an estimate (``inference.Estimate``) by Mann and Whitney's U.

    ``differences`` holds all n m differences ours - theirs, sorted; the estimate is their median
    (Hodges and Lehmann 1963), the interval their order statistics. Assumes that the two
    distributions differ by a shift alone. A tie counts half, rounded against the verdict.
    """

    differences: NDArray[np.float64]
    n: int
    m: int
    test: str = "Mann-Whitney U"

    @property
    def value(self) -> float:
        """Hodges and Lehmann's estimate."""
        return float(np.median(self.differences))

    @property
    def least_p(self) -> float:
        """All values of one sample below all of the other: one arrangement of C(n + m, n)."""
        return 1 / math.comb(self.n + self.m, self.n)

    def p_below(self, bound: float) -> float:
        """See Estimate."""
        return u_cumulative(self.n, self.m, self._beyond(self.differences - bound))

    def p_above(self, bound: float) -> float:
        """See Estimate."""
        return u_cumulative(self.n, self.m, self._beyond(bound - self.differences))

    @staticmethod
    def _beyond(differences: NDArray[np.float64]) -> int:
        return math.ceil(float((differences > 0).sum() + (differences == 0).sum() / 2))

    def interval(self, confidence: float = 0.95) -> Interval:
        """See Estimate; infinite where there are too few values for the confidence."""
        outside = (1 - confidence) / 2
        cut = sum(u_cumulative(self.n, self.m, u) <= outside for u in range(self.n * self.m // 2))
        if not cut:
            return Interval(self.value, -math.inf, math.inf)
        return Interval(self.value, float(self.differences[cut - 1]), float(self.differences[-cut]))


def rank_shift(ours: Sequence[float], theirs: Sequence[float]) -> RankShift:
    """The shift ours - theirs of two samples; give logarithms for a ratio. At least one value in each.

    Source: Mann and Whitney (1947).
    """
    a, b = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    return RankShift(np.sort(np.subtract.outer(a, b), axis=None), len(a), len(b))


def u_cumulative(n: int, m: int, u: int) -> float:
    """P(U <= u) where both samples come from one distribution without ties."""
    if n * m <= MOST_EXACT:
        return float(_u_distribution(n, m)[min(u, n * m)])
    from scipy.special import ndtr

    return float(ndtr((u + 0.5 - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)))


@cache
def _u_distribution(n: int, m: int) -> NDArray[np.float64]:
    """Cumulative probabilities of U from 0 to n m: coefficients of the Gaussian binomial, in shares of the whole."""
    counts = np.zeros(n * m + 1)
    counts[0] = 1.0
    for i in range(1, n + 1):
        grown = counts.copy()
        grown[m + i :] -= counts[: -(m + i)]  # times 1 - q^(m + i)
        for start in range(i):  # over 1 - q^i
            grown[start::i] = np.cumsum(grown[start::i])
        counts = grown * (i / (m + i))
    return np.cumsum(counts)


def cliffs_delta(ours: Sequence[float], theirs: Sequence[float], confidence: float = 0.95) -> Interval:
    """P(ours > theirs) - P(ours < theirs) over all pairs, from -1 to 1, with its interval.

    At least two values in each sample. Where the samples do not overlap the variance cannot be
    estimated, and the inner end follows from their number alone.

    Source: Cliff (1993); interval of Feng and Cliff (2004).
    """
    from scipy.special import ndtri

    signs = np.sign(np.subtract.outer(np.asarray(ours, np.float64), np.asarray(theirs, np.float64)))
    n, m = signs.shape
    delta, z = float(signs.mean()), float(ndtri((1 + confidence) / 2))
    if abs(delta) == 1:
        inner = (min(n, m) - z**2) / (min(n, m) + z**2)
        return Interval(delta, *sorted((delta, delta * inner)))
    rows, columns = signs.mean(axis=1) - delta, signs.mean(axis=0) - delta
    total = m**2 * (rows**2).sum() + n**2 * (columns**2).sum() - ((signs - delta) ** 2).sum()
    variance = max(float(total), 0.0) / (n * m * (n - 1) * (m - 1))
    centre, spread = delta - delta**3, z * math.sqrt(variance * ((1 - delta**2) ** 2 + z**2 * variance))
    below = 1 - delta**2 + z**2 * variance
    return Interval(delta, (centre - spread) / below, (centre + spread) / below)
