"""Where the level of a series steps: the segmentation of least absolute deviations plus a penalty for each step.

A segment's cost is the sum of distances to its median, so that one wild measurement costs what it is
away and no more, unlike with squares. The minimum is exact: dynamic programming over the last step,
with the candidates that can never win again left out (PELT).

Source: Killick, Fearnhead and Eckley (2012), PELT; Bai (1995), least absolute deviations of a shift.
"""

import heapq
import math
from collections.abc import Sequence

import numpy as np

LEAST_SEGMENT = 2
"""Points of the shortest segment: one measurement alone is no level."""

LEAST_POINTS = 8
"""Of a series in which steps are looked for; with fewer, the noise itself is not known."""

PENALTY_FLAT, PENALTY_LOG = 4.0, 0.6
"""In units of the noise, and of the noise times log(points). By simulation: of series that are normal noise and
nothing else, at most one in twenty shows a step, at any length and noise; docs/ci.md has the figures."""

LEAST_NOISE = 0.002
"""Noise of a logarithm is taken to be at least this, so that counts which move by a byte show no steps."""

NORMAL_QUARTILE = 0.6745


class _Candidate:
    """A segment that began at ``start`` and has taken in all points since: their median in two heaps."""

    def __init__(self, start: int, best_before: float) -> None:
        self.start, self.best_before = start, best_before
        self.expires = math.inf
        self.lower: list[float] = []  # negated, so that the largest comes first
        self.upper: list[float] = []
        self.lower_sum = self.upper_sum = 0.0

    def take(self, value: float) -> None:
        """One more point at the end."""
        if self.lower and value < -self.lower[0]:
            self._push_lower(value)
        else:
            self._push_upper(value)
        if len(self.lower) > len(self.upper) + 1:
            self._push_upper(self._pop_lower())
        elif len(self.upper) > len(self.lower):
            self._push_lower(self._pop_upper())

    @property
    def total(self) -> float:
        """The least cost of all points up to here if the last segment is this one, without its penalty."""
        median = -self.lower[0]
        spread = self.upper_sum - self.lower_sum + median * (len(self.lower) - len(self.upper))
        return self.best_before + spread

    def _push_lower(self, value: float) -> None:
        heapq.heappush(self.lower, -value)
        self.lower_sum += value

    def _push_upper(self, value: float) -> None:
        heapq.heappush(self.upper, value)
        self.upper_sum += value

    def _pop_lower(self) -> float:
        value = -heapq.heappop(self.lower)
        self.lower_sum -= value
        return value

    def _pop_upper(self) -> float:
        value = heapq.heappop(self.upper)
        self.upper_sum -= value
        return value


def cuts(values: Sequence[float], penalty: float, least: int = LEAST_SEGMENT) -> list[int]:
    """The indices at which a new segment begins, without 0, of the segmentation of least cost.

    Args:
        values: in the order of commits.
        penalty: of each segment, in the unit of the values.
        least: points that a segment has at least.
    """
    best, previous = [0.0] + [math.inf] * len(values), [0] * (len(values) + 1)
    alive: list[_Candidate] = []
    for end, value in enumerate(values, start=1):
        if best[end - 1] < math.inf:
            alive.append(_Candidate(end - 1, best[end - 1]))
        alive = [candidate for candidate in alive if candidate.expires > end]
        for candidate in alive:
            candidate.take(value)
            if end - candidate.start >= least and candidate.total + penalty < best[end]:
                best[end], previous[end] = candidate.total + penalty, candidate.start
        _expire(alive, best[end], end + least)
    return _traced(previous, len(values))


def _expire(alive: list[_Candidate], best: float, when: int) -> None:
    """Let candidates go that a segment beginning here will beat, once it is long enough to be one."""
    for candidate in alive:
        if candidate.total >= best:
            candidate.expires = min(candidate.expires, when)


def _traced(previous: Sequence[int], end: int) -> list[int]:
    found = []
    while end > 0 and previous[end] > 0:
        end = previous[end]
        found.append(end)
    return found[::-1]


def noise(values: Sequence[float]) -> float:
    """The standard deviation from point to point, from the median distance of neighbours: no step enters it."""
    distances = np.abs(np.diff(np.asarray(values, np.float64)))
    return max(float(np.median(distances)) / (NORMAL_QUARTILE * math.sqrt(2)), LEAST_NOISE)


def penalty(values: Sequence[float]) -> float:
    """What a step must save: noise * (PENALTY_FLAT + PENALTY_LOG * log(points)), in the unit of the values."""
    return noise(values) * (PENALTY_FLAT + PENALTY_LOG * math.log(len(values)))


def steps(values: Sequence[float]) -> list[int]:
    """The indices at which the level steps; none in a series shorter than LEAST_POINTS.

    Args:
        values: logarithms, one a commit, in their order.
    """
    return cuts(values, penalty(values)) if len(values) >= LEAST_POINTS else []
