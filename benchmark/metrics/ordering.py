"""Almost-stochastic order: does one layer's score lie above another's at (almost) every quantile?"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.inference import ALPHA


class Order(NamedTuple):
    """How far ``ours`` is from being larger at every quantile: 0 not at all, 1 as far as can be, 1/2 no order.

    ``ratio`` is of the samples; ``least`` its upper confidence bound, epsilon_min: below 1/2 ours is
    larger almost stochastically, and the smaller, the more surely.
    """

    ratio: float
    least: float


def almost_stochastic_order(
    ours: Sequence[float],
    theirs: Sequence[float],
    rng: np.random.Generator,
    alpha: float = ALPHA,
    resamples: int = 1000,
) -> Order:
    """The violation ratio of ours >= theirs in stochastic order, and its upper confidence bound.

    Args:
        ours: scores, larger is better, at least two; in practice ten or more, below the bound is unreliable.
        theirs: likewise.
        rng: draws the bootstrap.
        alpha: one minus the confidence of the bound.
        resamples: of the bootstrap.

    Source: del Barrio, Cuesta-Albertos and Matran (2018); Dror, Shlomov and Reichart (2019).
    """
    from scipy.special import ndtri

    a, b = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    ratio, scale = float(violation_ratio(a, b)), math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    drawn = violation_ratio(rng.choice(a, (resamples, len(a))), rng.choice(b, (resamples, len(b))))
    spread = float(np.std(scale * (drawn - ratio), ddof=1))
    return Order(ratio, min(1.0, max(0.0, ratio - spread * float(ndtri(alpha)) / scale)))


def violation_ratio(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of the squared quantile distance that lies where ours is the smaller; 1/2 where there is no distance.

    Quantile functions of samples are steps, so the integrals are sums.

    Args:
        ours: (..., n), samples along the last axis.
        theirs: (..., m), likewise.
    """
    n, m = ours.shape[-1], theirs.shape[-1]
    steps = np.union1d(np.arange(1, n + 1) / n, np.arange(1, m + 1) / m)
    widths = np.diff(steps, prepend=0.0)
    middles = steps - widths / 2
    gap = _quantiles(ours, middles) - _quantiles(theirs, middles)
    total, below = (widths * gap**2).sum(-1), (widths * np.minimum(gap, 0) ** 2).sum(-1)
    found: NDArray[np.float64] = np.where(total > 0, below / np.where(total > 0, total, 1.0), 0.5)
    return found


def _quantiles(values: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each sample at some shares, as (..., len(shares))."""
    count = values.shape[-1]
    found: NDArray[np.float64] = np.sort(values)[..., np.minimum((shares * count).astype(int), count - 1)]
    return found
