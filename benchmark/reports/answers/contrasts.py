"""Differences that chance has a part in, decided together: one chance of a false statement for a whole report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from benchmark.metrics.inference import ALPHA, Comparison, Estimate, Side, compare
from benchmark.metrics.multiple import holm
from benchmark.metrics.paired import least_pairs
from benchmark.store.row import Row

Family = Literal["time", "score", "norm"]
"""By the unit that repeats independently: processes, seeds of trainings, seeds of norms."""
FAMILIES: tuple[Family, ...] = get_args(Family)
Unit = Literal["ratio", "points", "mse", "exponent", "slope", "radians", "spread"]


@dataclass(frozen=True)
class Contrast:
    """A difference of ours from theirs.

    ``estimate``: of a ratio its logarithm; of points and mse ours - theirs, turned so that more is better;
    of an exponent of time its distance from 1; of the slope of a norm itself; of radians by how much
    nearer training comes; of a spread by how much ours is the smaller. ``margin``: the smallest
    difference that counts, in its unit.
    ``figures``, ``size`` and ``basis`` say in words what was found, of how many, and by which test.
    ``setting`` holds what both sides agree in, ``place`` the part of it that is told.
    """

    family: Family
    unit: Unit
    ours: str
    theirs: str
    place: tuple[str, ...]
    estimate: Estimate
    margin: float
    figures: str
    size: str
    basis: str
    our_rows: tuple[Row, ...]
    their_rows: tuple[Row, ...]
    setting: dict[str, Any]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Of both sides."""
        return (*self.our_rows, *self.their_rows)

    @property
    def key(self) -> str:
        """The same for the same comparison, so that two questions that ask for it count once."""
        sides = (sorted(row.cell_id for row in rows) for rows in (self.our_rows, self.their_rows))
        return f"{self.unit} {self.ours} {self.theirs} {' | '.join(','.join(side) for side in sides)}"


@dataclass(frozen=True)
class Decision:
    """A contrast and what may be said of it.

    ``p_adjusted`` is None where so few values can never decide.
    ``family_size`` counts the contrasts among which it was adjusted, ``family_total`` also those whose
    values are too few, ``families`` the families.
    """

    contrast: Contrast
    comparison: Comparison
    p_adjusted: float | None
    family_size: int
    families: int
    family_total: int

    @property
    def side(self) -> Side | None:
        """Where the difference lies; None if that is open."""
        return self.comparison.side if self.p_adjusted is not None and self.p_adjusted <= ALPHA else None

    @property
    def seeds_needed(self) -> int:
        """The fewest pairs of seeds with which one among so many contrasts could be decided."""
        return least_pairs(ALPHA, max(1, self.family_size) * self.families)

    @property
    def seeds_for_all(self) -> int:
        """The same, if all contrasts of the family had them, those too that have too few values now."""
        return least_pairs(ALPHA, max(1, self.family_total) * self.families)


def decided(contrasts: Iterable[Contrast]) -> dict[str, Decision]:
    """Decisions by the contrast's key.

    Times, scores and norms are families of their own, since few seeds would have no chance among many
    times. Each is adjusted by Holm's method, and the level is divided between the families that there
    are, so that any false statement among all comes in at most 5 % of reports. A contrast whose values
    are too few ever to be decided enters no family: it can make no false statement.
    """
    unique = list({contrast.key: contrast for contrast in contrasts}.values())
    families = len({contrast.family for contrast in unique})
    found: dict[str, Decision] = {}
    for family in FAMILIES:
        members = [contrast for contrast in unique if contrast.family == family]
        found |= {decision.contrast.key: decision for decision in _family(members, families)}
    return found


def _family(contrasts: Sequence[Contrast], families: int) -> list[Decision]:
    compared = [compare(contrast.estimate, contrast.margin) for contrast in contrasts]
    able = [i for i, comparison in enumerate(compared) if comparison.least_p * families <= ALPHA]
    adjusted = dict(zip(able, holm([compared[i].p for i in able]), strict=True)) if able else {}
    return [
        Decision(
            contrast,
            comparison,
            min(1.0, adjusted[i] * families) if i in adjusted else None,
            len(able),
            families,
            len(contrasts),
        )
        for i, (contrast, comparison) in enumerate(zip(contrasts, compared, strict=True))
    ]
