"""Suspicious cells measured again, and the level shared with those that cannot be."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark.regress import decision
from benchmark.regress.decision import Floats, Measure, Rerun
from benchmark.regress.verdicts import Change


class Remeasure(Protocol):
    """Something that can measure both builds of a change again."""

    def refusal(self, change: Change) -> str | None:
        """Why it cannot, or could not; None if it can."""

    def worsening(self, changes: Sequence[Change], pairs: int) -> Floats | None:
        """See ``decision.Measure``."""


class Recorded:
    """Keeps all pairs, so that they can be judged once more from the first look on without being measured again."""

    def __init__(self, changes: Sequence[Change], again: Remeasure) -> None:
        """Args: changes, what is measured; again, what measures it."""
        self.changes, self.again = changes, again
        self.kept: list[list[float]] = [[] for _ in changes]

    def measure(self) -> Measure:
        """Serves what is kept, and measures what is not. One for each judgement."""
        served = 0

        def measure(indices: NDArray[np.intp], pairs: int) -> Floats | None:
            nonlocal served
            upto = served + pairs
            if not self._extend([i for i in indices.tolist() if len(self.kept[i]) < upto], pairs):
                return None
            found = np.array([self.kept[i][served:upto] for i in indices])
            served = upto
            return found

        return measure

    def _extend(self, short: list[int], pairs: int) -> bool:
        """Measure more of some; looks are whole, so all of them lack as many pairs. Whether there was time for it."""
        found = self.again.worsening([self.changes[i] for i in short], pairs) if short else np.empty((0, pairs))
        if found is None:
            return False
        for i, worsenings in zip(short, found.tolist(), strict=True):
            self.kept[i].extend(worsenings)
        return True


def measured_again(
    changes: Sequence[Change], limits: Floats, alpha: float, strict: bool, again: Remeasure, others: bool
) -> Rerun:
    """Which changes are slower by new measurements alone.

    Cells that cannot be measured again are judged by the sources at half of the level, and these get
    the other half. That one cannot be is often seen only while measuring. Then the pairs are judged
    once more at half of the level, and what that leaves open is measured further.

    Args:
        changes: the suspicious ones, C.
        limits: their thresholds, (C,).
        alpha: the whole level.
        strict: see ``decision.suspicious``.
        again: what measures.
        others: whether the sources decide on other cells.
    """
    record = Recorded(changes, again)
    found = decision.rerun(limits, record.measure(), alpha / 2 if others else alpha, strict)
    if others or not any(again.refusal(change) for change in changes):
        return found
    return decision.rerun(limits, record.measure(), alpha / 2, strict)
