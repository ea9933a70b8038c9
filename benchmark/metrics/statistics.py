"""Medians and their confidence."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A median and its confidence interval, in the unit of the samples."""

    median: float
    low: float
    high: float

    @property
    def relative_half_width(self) -> float:
        """Half the interval's width over the median; infinite where the median is zero."""
        return (self.high - self.low) / 2 / self.median if self.median else math.inf


def median_interval(samples: Sequence[float], confidence: float = 0.95, resamples: int = 1000) -> Interval:
    """The median with its bootstrap percentile interval (Efron 1979).

    Args:
        samples: at least one value.
        confidence: the share of intervals that should cover the true median.
        resamples: drawn with a fixed seed, so that equal samples give equal intervals.
    """
    values = np.asarray(samples, np.float64)
    draws = np.random.default_rng(0).integers(0, len(values), (resamples, len(values)))
    medians = np.median(values[draws], axis=1)
    low, high = np.quantile(medians, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(np.median(values)), float(low), float(high))
