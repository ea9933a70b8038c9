"""The steps of a series: how large, between which commits, and whether what was lost has come back."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple

from benchmark.history import segmentation
from benchmark.history.series import Point, Series

State = Literal["open", "recovered", "gain"]

LEAST_EFFECT = 0.02
"""The smallest relative change of level that is called a step."""

RECOVERED_SHARE = 0.75
"""This much of a loss must be undone for it to count as recovered."""


class Level(NamedTuple):
    """A stretch of points, from ``start`` to before ``end``, and their median on the series' scale."""

    start: int
    end: int
    height: float


@dataclass(frozen=True)
class Step:
    """A change of level between two neighbouring points of a series."""

    series: Series
    index: int
    """Of the first point after it."""
    change: float
    """The level after less that before, on the series' scale: the logarithm of a ratio, or points."""
    state: State
    recovered: Point | None = None
    """The first point at which a loss was undone."""

    @property
    def before(self) -> Point:
        """The last point before the step."""
        return self.series.points[self.index - 1]

    @property
    def after(self) -> Point:
        """The first point after it."""
        return self.series.points[self.index]

    @property
    def updates(self) -> list[str]:
        """What of the software changed with it, such as ``torch 2.5.0 to 2.6.0``."""
        old, new = self.before.software, self.after.software
        return [f"{name} {old[name]} to {new[name]}" for name in new if name in old and old[name] != new[name]]


def levels_of(series: Series) -> list[Level]:
    """The stretches between steps; one where there is none."""
    scaled = series.scaled
    bounds = [0, *segmentation.steps(scaled), len(scaled)]
    return [Level(a, b, median(scaled[a:b])) for a, b in pairwise(bounds)]


def steps_of(series: Series, least_effect: float = LEAST_EFFECT) -> list[Step]:
    """The steps of a series, oldest first; a loss stays listed after it has been undone.

    Args:
        series: of any length; see ``segmentation.LEAST_POINTS``.
        least_effect: the smallest change that counts, relative, or of points as it is.
    """
    least = series.quantity.margin(least_effect)
    levels = levels_of(series)
    found = []
    for place in range(1, len(levels)):
        change = levels[place].height - levels[place - 1].height
        if abs(change) >= least:
            found.append(_step(series, levels, place, change))
    return found


def _step(series: Series, levels: list[Level], place: int, change: float) -> Step:
    index = levels[place].start
    if (change > 0) == series.quantity.higher_is_better:
        return Step(series, index, change, "gain")
    back = next((level for level in levels[place + 1 :] if _undone(levels[place], level, change)), None)
    if back is None:
        return Step(series, index, change, "open")
    return Step(series, index, change, "recovered", series.points[back.start])


def _undone(after: Level, later: Level, change: float) -> bool:
    """Whether a later level has taken back enough of a change."""
    return (after.height - later.height) / change >= RECOVERED_SHARE


def all_steps(series: Iterable[Series], least_effect: float = LEAST_EFFECT) -> list[Step]:
    """The steps of several series: open losses first, then recovered ones and gains, the largest first."""
    order: tuple[State, ...] = ("open", "recovered", "gain")
    found = [step for entry in series for step in steps_of(entry, least_effect)]
    return sorted(found, key=lambda step: (order.index(step.state), -abs(step.change)))
