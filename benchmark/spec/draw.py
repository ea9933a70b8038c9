"""Random initial values in numpy, so that both frameworks load the very same numbers."""

import numpy as np

Rng = np.random.Generator

# Standard deviation of a standard normal truncated at two of its deviations: what the
# variance-scaling initialisers of jax and flax divide by.
TRUNCATED_STD = 0.87962566103423978


def open_uniform(rng: Rng, size: int | tuple[int, ...]) -> np.ndarray:
    """Uniform over the open interval (0, 1), so that its logarithm is finite and not zero."""
    return (rng.integers(0, 1 << 52, size) + 0.5) / (1 << 52)


def uniform(rng: Rng, low: float, high: float, size: int | tuple[int, ...]) -> np.ndarray:
    """Uniform over (low, high)."""
    return low + (high - low) * open_uniform(rng, size)


def log_uniform(rng: Rng, low: float, high: float, size: int | tuple[int, ...]) -> np.ndarray:
    """The logarithm of a value that is log-uniform over (low, high)."""
    return uniform(rng, np.log(low), np.log(high), size)


def truncated_normal(rng: Rng, size: tuple[int, ...]) -> np.ndarray:
    """Normal, cut at two deviations and rescaled to standard deviation 1."""
    values = rng.standard_normal(size)
    while (outside := np.abs(values) > 2).any():
        values[outside] = rng.standard_normal(np.count_nonzero(outside))
    return values / TRUNCATED_STD


def lecun_normal(rng: Rng, size: tuple[int, ...], fan_in: int) -> np.ndarray:
    """Truncated normal of variance 1 / fan_in (LeCun), the default kernel of flax's Dense."""
    return truncated_normal(rng, size) / np.sqrt(fan_in)


def complex_normal(rng: Rng, size: tuple[int, ...]) -> np.ndarray:
    """Circular complex normal of total variance 1: real and imaginary parts have variance 1/2."""
    return (rng.standard_normal(size) + 1j * rng.standard_normal(size)) / np.sqrt(2)


def ring_log_rate(rng: Rng, r_min: float, r_max: float, size: int) -> np.ndarray:
    """``log(-log r)`` for r**2 uniform on (r_min**2, r_max**2): points uniform on a ring (Orvieto et al. 2023)."""
    return np.log(-0.5 * np.log(uniform(rng, r_min**2, r_max**2, size)))


def loglog_log_rate(rng: Rng, r_min: float, r_max: float, size: int) -> np.ndarray:
    """``log(-log r)`` uniform between its values at r_max and at r_min."""
    return uniform(rng, np.log(-np.log(r_max)), np.log(-np.log(r_min)), size)
