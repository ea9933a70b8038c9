"""State norms on one scale for all layers: the mean square of a real coordinate, over time.

A complex state counts as two real coordinates, a rotated coordinate of RotRNN as one. Sums over a
whole vector, or over one head, grow with their size and cannot be compared between layers.
"""

import math
from collections.abc import Sequence

import numpy as np

from benchmark.metrics.inference import Student
from benchmark.spec.errors import UserError, short

Array = np.ndarray

MARGIN = 0.1
"""An exponent nearer to zero than this changes a mean square by less than a quarter over a decade of time."""

FLOOR = 1e-300

LEAST, LONGEST = 3, 1 << 22
"""Steps of the study: with fewer there are no three times in the last decade, which an exponent needs."""


def time_grid(seq_len: int) -> list[int]:
    """Times from 1 to the length, two to an octave.

    >>> time_grid(10)
    [1, 2, 3, 4, 6, 8, 10]

    Raises:
        UserError: for a length out of range.
    """
    if not 1 <= seq_len <= LONGEST:
        raise UserError(f"the length must lie between 1 and {LONGEST:,} steps, got {short(seq_len)}")
    steps = [round(2 ** (i / 2)) for i in range(2 * seq_len.bit_length())]
    return sorted({*(t for t in steps if t < seq_len), seq_len})


def check_length(seq_len: int) -> None:
    """That an exponent of growth can be found.

    Raises:
        UserError: for a length out of range.
    """
    if not LEAST <= seq_len <= LONGEST:
        raise UserError(f"the length must lie between {LEAST} and {LONGEST:,} steps, got {short(seq_len)}")


def growth_exponent(times: Sequence[int], mean_squares: Sequence[float]) -> float | None:
    """The slope of log mean square over log time in the last decade, by least squares: 0 if bounded, 1 for a walk.

    Args:
        times: rising, from 1.
        mean_squares: at each time, not negative.

    Returns:
        The exponent, or None with fewer than three times in the last decade or a value that is not finite.
    """
    t, v = np.asarray(times, float), np.asarray(mean_squares, float)
    late = t >= t[-1] / 10
    if late.sum() < 3 or not np.isfinite(v[late]).all():
        return None
    x, y = np.log(t[late]), np.log(np.maximum(v[late], FLOOR))
    x -= x.mean()
    return float(x @ (y - y.mean()) / (x @ x))


def over_seeds(values: Sequence[float]) -> Student:
    """The mean of one value a seed, as an estimate; with a single seed it says nothing of others."""
    found = np.asarray(values, float)
    if len(found) < 2:
        return Student(float(found.mean()), math.inf, 0, "one seed")
    return Student(float(found.mean()), float(found.std(ddof=1)) / math.sqrt(len(found)), len(found) - 1, "Student's t")


def stationary_mean_square(lam: Array, B: Array) -> float | None:
    """The mean square per real coordinate that white inputs of variance 1 lead to; None if a modulus reaches 1.

    Each state tends to |B|^2 / (1 - |lam|^2).

    Args:
        lam: (N,), or per channel (H, M), complex.
        B: (N, H), or per channel (H, M), complex.
    """
    lam, B = np.asarray(lam, np.complex128), np.asarray(B, np.complex128)
    squared = np.abs(lam) ** 2
    if (squared >= 1).any():
        return None
    power = np.abs(B) ** 2 if lam.ndim == 2 else (np.abs(B) ** 2).sum(-1)
    return float((power / (1 - squared)).sum() / (2 * lam.size))


def constant_limit(lam: Array, B: Array) -> float | None:
    """The mean square per real coordinate that inputs of all ones lead to; None if a modulus reaches 1.

    Each state tends to B 1 / (1 - lam): large where lam is near 1, for any layer.

    Args:
        lam: (N,), or per channel (H, M), complex.
        B: (N, H), or per channel (H, M), complex.
    """
    lam, B = np.asarray(lam, np.complex128), np.asarray(B, np.complex128)
    if (np.abs(lam) >= 1).any():
        return None
    driven = B if lam.ndim == 2 else B.sum(-1)
    return float((np.abs(driven / (1 - lam)) ** 2).sum() / (2 * lam.size))


def ring_amplification(r_min: float, r_max: float) -> float:
    """E||x||^2 / E||B u||^2 of states drawn uniformly on a ring, without a normaliser; infinite for r_max = 1.

    Args:
        r_min: inner radius, from 0.
        r_max: outer radius, above it, up to 1.

    Source: Orvieto et al. 2023, proposition 3.3.

    >>> round(ring_amplification(0.9, 0.999), 1)
    24.2
    """
    if r_max >= 1:
        return math.inf
    return math.log((1 - r_min**2) / (1 - r_max**2)) / (r_max**2 - r_min**2)


def mean_over_running(values: Array, lengths: Array, times: Sequence[int]) -> list[float | None]:
    """The mean at each time over the sequences that still run then, None once none does.

    Args:
        values: (batch, length).
        lengths: (batch,) steps of each sequence.
        times: from 1.
    """
    return [float(values[lengths >= t, t - 1].mean()) if (lengths >= t).any() else None for t in times]


def mean_before_end(values: Array, lengths: Array, lags: Sequence[int]) -> list[float | None]:
    """The mean so many steps before each sequence's end, over the sequences that are long enough.

    Args:
        values: (batch, length).
        lengths: (batch,) steps of each sequence.
        lags: from 0, the last step itself.
    """
    found: list[float | None] = []
    for lag in lags:
        rows = np.flatnonzero(lengths > lag)
        found.append(float(values[rows, lengths[rows] - 1 - lag].mean()) if len(rows) else None)
    return found
