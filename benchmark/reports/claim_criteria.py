"""By what claims are judged: the level, the margins, and where a difference lies if a claim holds or fails."""

import math
from dataclasses import dataclass

from benchmark.metrics.inference import ALPHA, MINIMUM_EFFECT, Region, Side
from benchmark.reports.claim_grammar import Claim
from benchmark.reports.measures import Scale
from benchmark.spec.errors import UserError

Regions = tuple[tuple[Region, ...], tuple[Region, ...]]
"""Where a difference lies if the claim holds, and where if it fails."""


@dataclass(frozen=True)
class Criteria:
    """Level and margins.

    alpha: the chance of any false verdict in the file. minimum_effect: relative, of times, memory and
    counts. minimum_points: of accuracies, as a share. exponent_margin: how near to 1 linear is.
    """

    alpha: float = ALPHA
    minimum_effect: float = MINIMUM_EFFECT
    minimum_points: float = 0.0
    exponent_margin: float = 0.1

    def __post_init__(self) -> None:
        """Raise UserError for a value out of range."""
        if not 0 < self.alpha < 1:
            raise UserError(f"alpha must lie between 0 and 1, got {self.alpha:g}")
        for name in ("minimum_effect", "minimum_points", "exponent_margin"):
            if not 0 <= (value := getattr(self, name)) < 1:
                raise UserError(f"{name} must lie in [0, 1), got {value:g}")


def regions(claim: Claim, criteria: Criteria, scale: Scale = "ratio") -> Regions:
    """Of a comparison: log ratios, of scores differences."""
    margins = {"ratio": math.log1p(criteria.minimum_effect), "points": criteria.minimum_points, "error": 0.0}
    margin = margins[scale]
    less, same, more = Region(high=-margin), Region(-margin, margin), Region(margin)
    if claim.value is not None:  # so many times less, or more
        bound = math.log(claim.value)
        return (
            ((Region(high=-bound),), (Region(-bound),))
            if claim.side == "less"
            else ((Region(bound),), (Region(high=bound),))
        )
    match claim.kind, claim.side:
        case "differ", _:
            return (less, more), (same,)
        case "same", _:
            return (same,), (less, more)
        case _, "less":
            return (less,), (same, more)
    return (more,), (less, same)


def exponent_regions(claim: Claim, criteria: Criteria) -> Regions:
    """Of a scaling."""
    value, margin = claim.value or 1.0, criteria.exponent_margin
    parts: dict[Side, Region] = {
        "less": Region(high=value - margin),
        "same": Region(value - margin, value + margin),
        "more": Region(value + margin),
    }
    holds = parts.pop(claim.side)
    return (holds,), tuple(parts.values())
