"""Is one smaller, larger, or about the same? Estimates, and how surely they lie where a claim says.

An *estimate* is a difference on an additive scale (a log ratio of times, points of accuracy, an
exponent) that can say how improbable its data are were the truth beyond a bound. Everything that
reports decide is asked of it in that form; docs/statistics.md has the assumptions and references.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np

from benchmark.metrics.statistics import Interval

ALPHA = 0.05
MINIMUM_EFFECT = 0.02
"""The smallest relative difference of a time or a memory that is called a difference."""

Side = Literal["less", "same", "more"]
SpeedVerdict = Literal["faster", "slower", "same", "can't tell"]


class Estimate(Protocol):
    """An estimated difference. p-values are one-sided."""

    @property
    def value(self) -> float:
        """The point estimate."""

    @property
    def least_p(self) -> float:
        """The smallest one-sided p that so few data could ever give."""

    @property
    def test(self) -> str:
        """The test's name."""

    def p_below(self, bound: float) -> float:
        """Probability of data at least so low, were the truth at the bound or above it."""

    def p_above(self, bound: float) -> float:
        """Probability of data at least so high, were the truth at the bound or below it."""

    def interval(self, confidence: float = 0.95) -> Interval:
        """The value and its confidence interval."""


class Region(NamedTuple):
    """Where a difference may lie: strictly between two bounds, in the unit of the estimate."""

    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class Student:
    """A normal estimate whose standard error has so many degrees of freedom; with less than one it says nothing."""

    value: float
    standard_error: float
    freedom: float
    test: str = "Welch's t"

    @property
    def least_p(self) -> float:
        """Student's distribution has no smallest p; without a spread there is none at all."""
        return 0.0 if self.freedom >= 1 else 1.0

    def p_below(self, bound: float) -> float:
        """See Estimate."""
        return self._tail(self.value - bound)

    def p_above(self, bound: float) -> float:
        """See Estimate."""
        return self._tail(bound - self.value)

    def _tail(self, distance: float) -> float:
        from scipy.special import stdtr

        if self.freedom < 1:
            return 1.0
        if self.standard_error == 0:
            return 0.0 if distance < 0 else 1.0
        return float(stdtr(self.freedom, distance / self.standard_error))

    def interval(self, confidence: float = 0.95) -> Interval:
        """See Estimate."""
        from scipy.special import stdtrit

        if self.freedom < 1:
            return Interval(self.value, -math.inf, math.inf)
        half = float(stdtrit(self.freedom, (1 + confidence) / 2)) * self.standard_error
        return Interval(self.value, self.value - half, self.value + half)


@dataclass(frozen=True)
class Exact:
    """A difference of two counts, in which no chance has a part: FLOPs, bytes planned by a compiler."""

    value: float
    test: str = "a count"
    least_p: float = 0.0

    def p_below(self, bound: float) -> float:
        """See Estimate; 0 or 1."""
        return float(self.value >= bound)

    def p_above(self, bound: float) -> float:
        """See Estimate; 0 or 1."""
        return float(self.value <= bound)

    def interval(self, confidence: float = 0.95) -> Interval:  # noqa: ARG002 - the same at any confidence
        """The value alone."""
        return Interval(self.value, self.value, self.value)


def log_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Student:
    """log(ours / theirs) of two cells over their process medians, by Welch's t on the logarithms.

    The only unit that repeats independently is the process, of which there are few. Three against
    three can never reach 5 % by ranks, so a distribution has to be assumed: log-normal. Variances
    are not pooled: where they differ fourfold, a pooled test of three against three is false in 8
    cases of 100 instead of 5, and three times as often as it should be at the small levels that a
    correction for many comparisons asks for. Welch's stays within 1.4 of the level there and below
    it where variances are equal.

    Args:
        ours: positive, one value a process.
        theirs: likewise. Fewer than two on either side give an estimate that says nothing.

    Source: Welch (1947); its level by simulation in docs/statistics.md.
    """
    a, b = np.log(np.asarray(ours, np.float64)), np.log(np.asarray(theirs, np.float64))
    value = float(a.mean() - b.mean())
    if min(len(a), len(b)) < 2:
        return Student(value, math.inf, 0)
    parts = float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b)
    if sum(parts) == 0:
        return Student(value, 0.0, len(a) + len(b) - 2)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (len(a) - 1) + parts[1] ** 2 / (len(b) - 1))
    return Student(value, math.sqrt(sum(parts)), freedom)


def p_within(estimate: Estimate, region: Region) -> float:
    """Two-sided p of the statement that the truth lies in a region.

    It is at most alpha exactly where the confidence interval of level 1 - alpha lies in the region
    (two one-sided tests, doubled). So a false statement, about whichever region, needs an interval
    that misses the truth, and comes in at most alpha of all data sets.

    Source: Schuirmann (1987); Goeman, Solari and Stijnen (2010) for several regions at once.
    """
    sides = [0.0]
    if region.low > -math.inf:
        sides.append(estimate.p_above(region.low))
    if region.high < math.inf:
        sides.append(estimate.p_below(region.high))
    return min(1.0, 2 * max(sides))


class Comparison(NamedTuple):
    """The side on which a difference most likely lies, the p of that statement, and the difference itself."""

    side: Side
    p: float
    difference: Interval
    least_p: float
    """The smallest two-sided p that so few data could give."""


def compare(estimate: Estimate, margin: float) -> Comparison:
    """Where a difference lies: below -margin, between, or above margin.

    Args:
        estimate: of the difference.
        margin: from 0, in the estimate's unit; of a log ratio log(1 + minimum effect).
    """
    regions: dict[Side, Region] = {
        "less": Region(high=-margin),
        "same": Region(-margin, margin),
        "more": Region(margin),
    }
    p, side = min((p_within(estimate, region), side) for side, region in regions.items())
    return Comparison(side, p, estimate.interval(), min(1.0, 2 * estimate.least_p))


def speed_verdict(comparison: Comparison, p_adjusted: float | None = None, alpha: float = ALPHA) -> SpeedVerdict:
    """In words, of a comparison of times.

    Args:
        comparison: of log(ours / theirs).
        p_adjusted: its p among all comparisons made (``multiple``); the plain one if left out.
        alpha: the level.
    """
    if (comparison.p if p_adjusted is None else p_adjusted) > alpha:
        return "can't tell"
    words: dict[Side, SpeedVerdict] = {"less": "faster", "same": "same", "more": "slower"}
    return words[comparison.side]
