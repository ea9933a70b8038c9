"""Bootstrap of what several processes measured: processes first, then the samples within each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.statistics import Interval

Processes = Sequence[Sequence[float]]
"""Positive samples, one sequence a process."""

ONE_PROCESS = "one process was run: the spread between processes is not in this interval"


class Resampled(NamedTuple):
    """A value with its bootstrap interval, and what the interval leaves out."""

    interval: Interval
    note: str | None


def time_bootstrap(
    samples: Processes, rng: np.random.Generator, confidence: float = 0.95, resamples: int = 2000
) -> Resampled:
    """The geometric mean of the processes' medians, with its hierarchical bootstrap interval.

    With three processes the interval covers in about four of five cases, since three values span
    too little; verdicts rest on Student's (``inference.log_ratio``), this shows what the samples say.

    Source: Davison and Hinkley (1997), section 3.8; Kalibera and Jones (2013).
    """
    draws = _log_draws(samples, rng, resamples)
    return Resampled(_interval(_log_centre(samples), draws, confidence), _note(samples))


def ratio_bootstrap(
    ours: Processes, theirs: Processes, rng: np.random.Generator, confidence: float = 0.95, resamples: int = 2000
) -> Resampled:
    """The ratio of two such means, ours / theirs, with its hierarchical bootstrap interval; see ``time_bootstrap``."""
    draws = _log_draws(ours, rng, resamples) - _log_draws(theirs, rng, resamples)
    return Resampled(
        _interval(_log_centre(ours) - _log_centre(theirs), draws, confidence), _note(ours) or _note(theirs)
    )


def _note(samples: Processes) -> str | None:
    return ONE_PROCESS if len(samples) == 1 else None


def _log_centre(samples: Processes) -> float:
    return float(np.mean([np.log(np.median(process)) for process in samples]))


def _log_draws(samples: Processes, rng: np.random.Generator, resamples: int) -> NDArray[np.float64]:
    """Resampled log geometric means of medians."""
    count = len(samples)
    chosen = rng.integers(0, count, (resamples, count))
    medians = np.empty((resamples, count))
    for index, process in enumerate(samples):
        values, taken = np.asarray(process, np.float64), chosen == index
        medians[taken] = np.median(values[rng.integers(0, len(values), (int(taken.sum()), len(values)))], axis=1)
    return np.log(medians).mean(axis=1)


def _interval(centre: float, draws: NDArray[np.float64], confidence: float) -> Interval:
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(*(float(np.exp(value)) for value in (centre, low, high)))
