"""Pairs of cells compared, for reading: better, worse, the same, or can't tell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmark.metrics.inference import ALPHA, MINIMUM_EFFECT, Estimate, Exact, Side, Student, compare
from benchmark.metrics.multiple import benjamini_hochberg
from benchmark.metrics.statistics import Interval
from benchmark.regress.pairing import Pair
from benchmark.regress.quantities import Quantity, values, worsening
from benchmark.store.row import Row

CANT_TELL = "can't tell"


@dataclass(frozen=True)
class Change:
    """One quantity of one cell, before and after. ``worsening`` is positive if it has become worse."""

    quantity: Quantity
    pair: Pair
    worsening: Estimate

    @property
    def row(self) -> Row:
        """The row that stands for the cell."""
        return self.pair.row

    @property
    def is_counted(self) -> bool:
        """Whether chance has no part in it."""
        return isinstance(self.worsening, Exact)

    @property
    def levels(self) -> tuple[float, float]:
        """Before and after, in the quantity's unit: geometric means, of scores means."""
        a, b = (values(self.quantity, rows) for rows in (self.pair.before, self.pair.after))
        return centre(a, self.quantity), centre(b, self.quantity)

    @property
    def effect(self) -> Interval:
        """After over before, or after minus before, with its 95 % interval."""
        return effect_of(self.quantity, self.worsening)


@dataclass(frozen=True)
class Compared:
    """A change with what can be said of it. p is two-sided, of the verdict's statement."""

    change: Change
    verdict: str
    p: float
    p_adjusted: float


def changes(pairs: Sequence[Pair], chosen: Sequence[Quantity]) -> list[Change]:
    """Every quantity that both sides of a pair have."""
    found = []
    for quantity in chosen:
        for pair in pairs:
            if pair.row.metric in quantity.of and (estimate := worsening(quantity, pair.before, pair.after)):
                found.append(Change(quantity, pair, estimate))
    return found


class Lacking(NamedTuple):
    """A quantity of a cell that cannot be compared, since one side has no value of it."""

    quantity: Quantity
    pair: Pair
    side: str
    """``before`` or ``after``, the one without a value; ``common`` if both have some and none belong together."""


def lacking(pairs: Sequence[Pair], chosen: Sequence[Quantity]) -> list[Lacking]:
    """What only one side of a pair has, or both have of different seeds."""
    found = []
    for quantity in chosen:
        for pair in (pair for pair in pairs if pair.row.metric in quantity.of):
            known = [bool(values(quantity, rows)) for rows in (pair.before, pair.after)]
            if any(known) and worsening(quantity, pair.before, pair.after) is None:
                side = "common" if all(known) else "after" if known[0] else "before"
                found.append(Lacking(quantity, pair, side))
    return found


def judge(found: Sequence[Change], minimum_effect: float = MINIMUM_EFFECT, alpha: float = ALPHA) -> list[Compared]:
    """What can be said of each, the worst first.

    Of all verdicts that chance has a part in at most alpha are false on average, and where nothing
    differs any of them is false in at most alpha of all comparisons (Benjamini and Hochberg). This
    is for reading; what fails a build is decided by ``benchmark.regress.gating``.

    Args:
        found: the changes.
        minimum_effect: the smallest relative difference, or of scores share, that is called one.
        alpha: the level.
    """
    sides = [compare(change.worsening, change.quantity.margin(minimum_effect)) for change in found]
    chance = [i for i, change in enumerate(found) if not change.is_counted]
    adjusted = dict(zip(chance, benjamini_hochberg([sides[i].p for i in chance]), strict=True))
    judged = []
    for i, (change, side) in enumerate(zip(found, sides, strict=True)):
        p = adjusted.get(i, side.p)
        judged.append(Compared(change, _word(change.quantity, side.side) if p <= alpha else CANT_TELL, side.p, p))
    return sorted(judged, key=lambda entry: -entry.change.worsening.value)


def _word(quantity: Quantity, side: Side) -> str:
    better, worse = quantity.words
    return {"less": better, "same": "same", "more": worse}[side]


def mean_change(found: Sequence[Change]) -> Estimate:
    """The mean worsening of changes of one quantity, over just these cells: of ratios the geometric mean.

    Changes from 0 and to 0, which have no ratio, are left out unless there are no others.

    Its error is that of the cells' own estimates, taken to be independent; freedom by Satterthwaite
    (1946). At least one change.
    """
    found = [change for change in found if math.isfinite(change.worsening.value)] or found[:1]
    value = sum(change.worsening.value for change in found) / len(found)
    parts = [(e.standard_error**2, e.freedom) for c in found if isinstance(e := c.worsening, Student)]
    if len(parts) < sum(not change.is_counted for change in found) or any(freedom < 1 for _, freedom in parts):
        return Student(value, math.inf, 0, "mean over cells")
    total = sum(square for square, _ in parts)
    if total == 0:
        return Exact(value)
    freedom = total**2 / sum(square**2 / freedom for square, freedom in parts)
    return Student(value, math.sqrt(total) / len(found), freedom, "mean over cells")


def centre(found: Sequence[float], quantity: Quantity) -> float:
    """The geometric mean, 0 if a value is 0; of scores in points the mean."""
    if quantity.scale == "points":
        return sum(found) / len(found)
    if min(found) == 0:
        return 0.0
    return math.exp(sum(map(math.log, found)) / len(found))


def effect_of(quantity: Quantity, estimate: Estimate) -> Interval:
    """A worsening as after over before, or as after minus before."""
    found = estimate.interval()
    if quantity.higher_is_better:
        found = Interval(-found.median, -found.high, -found.low)
    return found if quantity.scale == "points" else Interval(*(_exp(value) for value in found))


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
