"""Two layers compared over the same seeds: differences of pairs, by exact tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.inference import ALPHA
from benchmark.metrics.statistics import Interval

MOST_EXACT = 16
"""Pairs up to which all 2^n patterns of signs are gone through; beyond, so many are drawn:"""
DRAWN = 19_999


@dataclass(frozen=True)
class SignFlips:
    """A mean difference of pairs: an estimate (``inference.Estimate``) by all flips of its signs.

    Assumes that differences are independent and symmetric about their centre, nothing else.
    ``means`` holds the means of all 2^n - 1 subsets of the differences, sorted: the truth falls
    between any two neighbours with probability 2^-n, which gives test and interval at once, and both
    agree at every bound. ``patterns`` is 2^n, or one more than the number drawn.

    Source: Fisher (1935) for the test; Hartigan (1969) for the subsets.
    """

    means: NDArray[np.float64]
    patterns: int
    value: float
    n: int
    test: str = "sign flips"

    @property
    def least_p(self) -> float:
        """All differences on one side of the bound."""
        return 1 / self.patterns

    def p_below(self, bound: float) -> float:
        """See Estimate."""
        return (1 + len(self.means) - int(np.searchsorted(self.means, bound - self._tie, "left"))) / self.patterns

    def p_above(self, bound: float) -> float:
        """See Estimate."""
        return (1 + int(np.searchsorted(self.means, bound + self._tie, "right"))) / self.patterns

    @property
    def _tie(self) -> float:
        """What rounding may part that is equal: differences of scores are often of two digits, and their means tie."""
        return 1e-9 * float(np.abs(self.means).max())

    def interval(self, confidence: float = 0.95) -> Interval:
        """See Estimate; infinite where there are too few pairs for the confidence."""
        cut = math.floor((1 - confidence) / 2 * self.patterns + 1e-9)
        if not cut:
            return Interval(self.value, -math.inf, math.inf)
        return Interval(self.value, float(self.means[cut - 1]), float(self.means[-cut]))


def sign_flips(differences: Sequence[float], rng: np.random.Generator | None = None) -> SignFlips:
    """The mean of paired differences, for exact tests and intervals.

    Args:
        differences: ours - theirs, one a seed; at least one.
        rng: draws the patterns of signs where there are more than 16 pairs; seeded with 0 if left out.
    """
    d = np.asarray(differences, np.float64)
    n = len(d)
    if n <= MOST_EXACT:
        chosen = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
        patterns = 2**n
    else:
        chosen = (rng or np.random.default_rng(0)).integers(0, 2, (DRAWN, n))
        chosen[chosen.sum(axis=1) == 0, 0] = 1
        patterns = DRAWN + 1
    return SignFlips(np.sort(chosen @ d / chosen.sum(axis=1)), patterns, float(d.mean()), n)


class PairedTest(NamedTuple):
    """Two-sided p, and the smallest that so few pairs could give."""

    p: float
    least_p: float


def wilcoxon(differences: Sequence[float], rng: np.random.Generator | None = None) -> PairedTest:
    """Wilcoxon's signed ranks, exact also with ties: zeros are left out, equal sizes share their mean rank.

    Source: Wilcoxon (1945), by the flips of ``sign_flips`` on the signed ranks.
    """
    d = np.asarray(differences, np.float64)
    d = d[d != 0]
    if not len(d):
        return PairedTest(1.0, 1.0)
    sizes = np.abs(d)
    ranks = (sizes[:, None] > sizes).sum(axis=1) + ((sizes[:, None] == sizes).sum(axis=1) + 1) / 2
    flips = sign_flips(np.sign(d) * ranks, rng)
    p = 2 * min(flips.p_below(0), flips.p_above(0))
    return PairedTest(min(1.0, p), min(1.0, 2 * flips.least_p))


def least_pairs(alpha: float = ALPHA, comparisons: int = 1) -> int:
    """The fewest pairs with which an exact two-sided test can reach a level, among so many comparisons by Holm.

    >>> least_pairs(), least_pairs(comparisons=10)
    (6, 9)
    """
    return 1 + math.ceil(math.log2(comparisons / alpha))


def standardised_difference(differences: Sequence[float], confidence: float = 0.95) -> Interval:
    """The mean of paired differences over their standard deviation (ddof 1), with its interval.

    At least two differences that are not all equal. Assumes normal differences. The value has
    Hedges's correction for small numbers; the interval is that of the noncentral t distribution.

    Source: Hedges (1981); Steiger and Fouladi (1997).
    """
    from scipy.special import nctdtrinc

    d = np.asarray(differences, np.float64)
    n = len(d)
    plain = float(d.mean() / d.std(ddof=1))
    outside = (1 - confidence) / 2
    ends = (float(nctdtrinc(n - 1, share, plain * math.sqrt(n))) / math.sqrt(n) for share in (1 - outside, outside))
    return Interval(plain * (1 - 3 / (4 * (n - 1) - 1)), *ends)
