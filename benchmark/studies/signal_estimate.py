"""A mean of simulated energies, its standard error, and whether that can be trusted."""

import math
from typing import NamedTuple

import numpy as np

MOST_SKEW = 0.3
"""Of a mean's own distribution. Below it two standard errors either side cover in 93 % of cases or more."""


class Estimate(NamedTuple):
    """A mean over independent matrices.

    Energies of powers have heavy tails: few matrices carry the mean, and before one of these is drawn the mean
    is too small and its standard error smaller still: a sample that is too small looks good. Logarithms are
    tame. So the spread is taken as that of a log-normal law with their variance, or as what was seen if that is
    more, and tells how skew the mean still is.
    """

    mean: float
    standard_error: float
    samples: int
    relative_sd: float
    effective_samples: float
    """(sum v)^2 / sum v^2, matrices that carry the mean: equal values would give ``samples``."""
    mean_skew: float
    """Skewness of the mean's distribution under that law."""


def estimate(values: np.ndarray) -> Estimate:
    """The mean of independent energies.

    Args:
        values: (samples,), positive, at least two.
    """
    m, mean, sd = len(values), float(values.mean()), float(values.std(ddof=1))
    spread = max(math.expm1(min(float(np.log(values).var(ddof=1)), 100.0)), (sd / mean) ** 2)
    effective = float(values.sum() ** 2 / (values**2).sum())
    return Estimate(mean, sd / math.sqrt(m), m, sd / mean, effective, mean_skew(spread, m))


def log_variance(values: np.ndarray) -> Estimate:
    """The variance of log energies: how far one draw strays from another, whatever the tail of the mean.

    Under a log-normal law E v^2 / (E v)^2 is its exponential.

    Args:
        values: as for ``estimate``, at least two that differ.
    """
    logs, m = np.log(values), len(values)
    squares = (logs - logs.mean()) ** 2 * m / (m - 1)
    found = estimate(np.maximum(squares, np.finfo(float).tiny))
    return found._replace(mean_skew=math.sqrt(8 / m))  # of squares of normal numbers


def mean_skew(relative_variance: float, samples: int) -> float:
    """Skewness of the mean of so many log-normal values: (v + 3) sqrt(v) / sqrt(samples)."""
    return (relative_variance + 3) * math.sqrt(relative_variance / samples)
