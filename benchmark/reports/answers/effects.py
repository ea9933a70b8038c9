"""How large a difference is beside the spread of single values: it describes, and decides nothing."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmark.metrics.ordering import almost_stochastic_order
from benchmark.metrics.paired import standardised_difference
from benchmark.metrics.ranks import cliffs_delta
from benchmark.metrics.statistics import Interval
from benchmark.reports import numbers as n
from benchmark.reports.answers.contrasts import Contrast
from benchmark.reports.measures import scores, values

LEAST = 10
"""Values from which on bounds are shown that are right for many: of Cliff's delta, and of the stochastic order."""

LARGEST = 99.95
"""Of a standardised difference: beyond it the spread is next to nothing, and its interval cannot be computed."""

COLUMNS = ("effect size", "order")
NOTE = (
    "effect size: of times Cliff's delta, the share of pairs of processes in which the first is the slower less that "
    "in which it is the faster; of scores the mean paired difference over its standard deviation (Hedges), above 0 "
    "where the first is better. order: upper bound on how far the scores are from the first being the better at every "
    f"quantile, 0 if it is, 1 if it is at none. Intervals and bounds are at 95 %, order and that of delta from {LEAST} "
    "values on; they are of one comparison and decide nothing."
)


class Effect(NamedTuple):
    """What the two columns of a table show, or ``numbers.MISSING``."""

    size: str
    order: str


def effect(contrast: Contrast) -> Effect:
    """Of a contrast of times or scores; of other units, and of too few values, nothing is shown."""
    match contrast.unit:
        case "ratio":
            return Effect(_delta(contrast), n.MISSING)
        case "points" | "mse":
            ours, theirs = paired_scores(contrast)
            return Effect(_standardised([a - b for a, b in zip(ours, theirs, strict=True)]), _order(ours, theirs))
    return Effect(n.MISSING, n.MISSING)


def paired_scores(contrast: Contrast) -> tuple[list[float], list[float]]:
    """Test scores of both sides over the seeds that they share, turned so that more is better."""
    ours, theirs = scores(contrast.our_rows), scores(contrast.their_rows)
    shared, sign = sorted(ours.keys() & theirs.keys()), -1 if contrast.unit == "mse" else 1
    return [sign * ours[seed] for seed in shared], [sign * theirs[seed] for seed in shared]


def _delta(contrast: Contrast) -> str:
    ours, theirs = values(contrast.our_rows, "time"), values(contrast.their_rows, "time")
    fewest = min(len(ours), len(theirs))
    if fewest < 2:
        return n.MISSING
    found = cliffs_delta(ours, theirs)
    return _text(found) if fewest >= LEAST else f"{found.median:+.2f}"


def _standardised(differences: Sequence[float]) -> str:
    """Nothing where there is no spread to speak of, as with one pair."""
    if len(differences) < 2 or np.ptp(differences) <= 1e-9 * max(map(abs, differences)):
        return n.MISSING
    found = standardised_difference(differences)
    return _text(found) if abs(found.median) < LARGEST else f"beyond {math.copysign(100, found.median):+.0f}"


def _order(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Drawn with a fixed seed, so that equal rows give equal tables."""
    if len(ours) < LEAST:
        return n.MISSING
    return f"{almost_stochastic_order(ours, theirs, np.random.default_rng(0)).least:.2f}"


def _text(found: Interval) -> str:
    value, low, high = (f"{number:+.2f}" for number in found)
    return f"{value} [{low} to {high}]" if math.isfinite(found.high - found.low) else value
