"""When is a cell called slower? The rule of the gate, on arrays over cells, so that it can be simulated as it is.

A cell is a *regression* if two things hold: it is slower than before, beyond chance (one-sided, and
by Holm among all cells); and its 95 % interval reaches the threshold. The first keeps false alarms
of an unchanged tree below the level, whatever the threshold. The second lets small slow-downs pass
that are sure, and are surely small; it finds one of just the threshold in 39 of 40 cases.

A test of "slower by more than the threshold" would find a slow-down of just the threshold in one
case of twenty, and of "slower than half of it" needs four times the processes.

Shapes: C cells, P pairs of processes. Worsenings are on the additive scale of an estimate, positive
if worse; thresholds likewise.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.multiple import holm

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ALPHA = 0.05
CONFIDENCE = 0.95
SUSPECT = 1 / 3
"""A cell whose estimate is above this share of its threshold is measured again before it is called anything."""


class Look(NamedTuple):
    """After how many pairs of processes cells are judged, and the share of the level that is spent on it."""

    pairs: int
    level: float


LOOKS = (Look(6, 0.2), Look(12, 0.2), Look(24, 0.6))
"""Large slow-downs are found at the first look, and most false suspicions are dropped there."""

Measure = Callable[[NDArray[np.intp], int], Floats | None]
"""From the indices of cells and a number of pairs to worsenings (cells, pairs), not finite where a process failed;
None if the time for it is up."""


class Rerun(NamedTuple):
    """What measuring again has found: worsenings (C, P), not finite where none was measured, and who is slower.

    ``unfinished`` are those that were still open when the time was up.
    """

    worsenings: Floats
    slower: Bools
    unfinished: Bools


def suspicious(estimates: Floats, highs: Floats, thresholds: Floats, strict: bool = False) -> Bools:
    """Which cells to measure again: those that look slower; if strict, all whose interval reaches the threshold.

    Args:
        estimates: (C,).
        highs: upper ends of their 95 % intervals, (C,).
        thresholds: (C,), positive.
        strict: whether every cell must rule the threshold out.
    """
    looks_slower = estimates > SUSPECT * thresholds
    return looks_slower | (highs >= thresholds) if strict else looks_slower


def regressions(p: Floats, highs: Floats, thresholds: Floats, alpha: float = ALPHA) -> Bools:
    """Which cells are slower beyond chance, by a margin that may be the threshold.

    Args:
        p: one-sided, of data at least so slow were nothing slower, (C,). All cells of the family.
        highs: upper ends of the 95 % intervals, (C,).
        thresholds: (C,).
        alpha: the chance of any false one.
    """
    return (np.asarray(holm(p.tolist())) <= alpha) & (highs >= thresholds)


class Students(NamedTuple):
    """Means of pairs with p and upper end of the 95 % interval by the paired t-test, each (C,)."""

    means: Floats
    p: Floats
    highs: Floats


def paired(worsenings_CP: Floats) -> Students:
    """The paired t-test of every cell; one that is not finite has p 1.

    A pair is one process of each build, one right after the other in random order: so a drift of the
    machine, slow against a pair, cancels.

    Source: Student (1908).
    """
    from scipy.special import stdtr, stdtrit

    n = worsenings_CP.shape[1]
    means = worsenings_CP.mean(axis=1)
    errors = worsenings_CP.std(axis=1, ddof=1) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(n - 1, -means / errors)
    p = np.where(np.isfinite(means), np.where(np.isnan(p), 1.0, p), 1.0)
    return Students(means, p, means + stdtrit(n - 1, (1 + CONFIDENCE) / 2) * errors)


def rerun(thresholds: Floats, measure: Measure, alpha: float = ALPHA, strict: bool = False) -> Rerun:
    """Measure suspicious cells of both builds in pairs, and say which are slower.

    Only these new measurements count: those that raised the suspicion were chosen for being slow.
    Holm's family are the cells measured again, at every look, also those that have left; so whatever
    raised suspicion, and whoever leaves, an unchanged tree fails with at most the level's chance.
    A look that the time did not suffice for is none: the one before it was the last.

    Args:
        thresholds: of the suspicious cells, (C,).
        measure: see ``Measure``; called with those that are still undecided.
        alpha: the chance of any false one.
        strict: see ``suspicious``.
    """
    worsenings = np.full((len(thresholds), LOOKS[-1].pairs), np.nan)
    undecided, slower = np.ones(len(thresholds), bool), np.zeros(len(thresholds), bool)
    done = 0
    for look in LOOKS:
        which = np.flatnonzero(undecided)
        if not len(which):
            break
        pairs = measure(which, look.pairs - done)
        if pairs is None:
            return Rerun(worsenings, slower, undecided)
        worsenings[which, done : look.pairs] = pairs
        done = look.pairs
        means, p, highs = paired(worsenings[:, :done])
        found = undecided & regressions(np.where(undecided, p, 1.0), highs, thresholds, look.level * alpha)
        slower |= found
        undecided &= ~found & np.isfinite(means) & suspicious(means, highs, thresholds, strict)
    return Rerun(worsenings, slower, np.zeros_like(undecided))
