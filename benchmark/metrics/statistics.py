"""Medians and ratios with their confidence."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A value and its confidence interval, in the unit of the samples."""

    median: float
    low: float
    high: float

    @property
    def relative_half_width(self) -> float:
        """Half the interval's width over the value; infinite where that is zero."""
        return (self.high - self.low) / 2 / self.median if self.median else math.inf


def median_interval(samples: Sequence[float], confidence: float = 0.95, resamples: int = 1000) -> Interval:
    """The median with its bootstrap percentile interval (Efron 1979): what one process knows of itself.

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


def process_interval(medians: Sequence[float], confidence: float = 0.95) -> Interval:
    """The geometric mean of the medians of several processes, with Student's interval of their logarithms.

    A process is the unit that repeats independently: samples within one share its memory layout and
    its moment. With two or three processes the interval is wide, as it must be; with one it is
    infinite, and the caller shows what the process knows of itself instead.

    Args:
        medians: positive, one a process.
        confidence: the share of intervals that should cover.
    """
    logs = np.log(np.asarray(medians, np.float64))
    centre, n = float(logs.mean()), len(logs)
    if n < 2:
        return Interval(math.exp(centre), 0.0, math.inf)
    half = _t(confidence, n - 1) * float(logs.std(ddof=1)) / math.sqrt(n)
    return Interval(math.exp(centre), math.exp(centre - half), math.exp(centre + half))


def ratio_interval(ours: Sequence[float], theirs: Sequence[float], confidence: float = 0.95) -> Interval:
    """The ratio ours / theirs of two cells over their process medians, with Student's interval of its logarithm.

    The spread is pooled over both: the same kind of cell on the same machine. At least three
    processes between them, else the interval is infinite.
    """
    a, b = np.log(np.asarray(ours, np.float64)), np.log(np.asarray(theirs, np.float64))
    centre, freedom = float(a.mean() - b.mean()), len(a) + len(b) - 2
    if freedom < 1:
        return Interval(math.exp(centre), 0.0, math.inf)
    pooled = (float(((a - a.mean()) ** 2).sum()) + float(((b - b.mean()) ** 2).sum())) / freedom
    half = _t(confidence, freedom) * math.sqrt(pooled * (1 / len(a) + 1 / len(b)))
    return Interval(math.exp(centre), math.exp(centre - half), math.exp(centre + half))


def _t(confidence: float, freedom: int) -> float:
    """Student's quantile."""
    from scipy.special import stdtrit  # a tenth of the import of scipy.stats

    return float(stdtrit(freedom, (1 + confidence) / 2))


def outliers(samples: Sequence[float]) -> int:
    """How many samples lie beyond Tukey's outer fences, three interquartile ranges from the quartiles."""
    values = np.asarray(samples, np.float64)
    first, third = np.quantile(values, [0.25, 0.75])
    reach = 3 * (third - first)
    return int(((values < first - reach) | (values > third + reach)).sum())
