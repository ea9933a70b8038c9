"""Energies of the layers' states as initialised: exact from their coefficients, at one real state size."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmark.spec import LAYERS, LayerSpec, UserError
from benchmark.spec.errors import short

SEQUENCES = 64
"""That are simulated for each layer."""

LARGEST_STATE = 1 << 16


def matched_specs(layers: Sequence[str], d_model: int, state: int) -> list[LayerSpec]:
    """Each layer with its other options at their defaults and just so many real numbers of state.

    Raises:
        UserError: for a size that one of the layers cannot have.
    """
    if not 1 <= state <= LARGEST_STATE:
        raise UserError(f"signal: the state must hold 1 to {LARGEST_STATE:,} real numbers, got {short(state)}")
    return [_matched(name, d_model, state) for name in layers]


def _matched(name: str, d_model: int, state: int) -> LayerSpec:
    for d_state in range(1, state + 1):
        try:
            spec = LAYERS[name](d_model=d_model, d_state=d_state)
        except UserError:
            continue
        if spec.real_state_size == state:
            return spec
    raise UserError(
        f"signal: {name} with d_model={d_model} has no state of {state} real numbers; a multiple of 64 and of "
        "2 d_model suits all layers, such as --d-model 16 --state 256"
    )


def exact_energies(coefficients: Sequence[Any], steps: Sequence[int]) -> np.ndarray:
    """E||z_t||^2 of z_t = lam z_{t-1} + B u_t from z_0 = 0 under white inputs, E[u u^T] = 1, as (len(steps),).

    Each state sums a geometric series, |B|^2 (1 + a + .. + a^(t-1)) with a = |lam|^2; the first gain multiplies
    the oldest input, whose power is the last.

    Args:
        coefficients: lam (N,) or per channel (H, M), complex, of any modulus; B (N, H) or per channel (H, M),
            complex; first_gain (N,) or None for 1.
        steps: which t, from 1.
    """
    lam, B = (np.asarray(value).astype(np.complex128) for value in coefficients[:2])
    first_gain = coefficients[2]
    power = np.abs(B) ** 2 if B.shape == lam.shape and lam.ndim == 2 else (np.abs(B) ** 2).sum(-1)
    power, log_a = power.reshape(-1), 2 * np.log(np.maximum(np.abs(lam), 1e-300)).reshape(-1)
    oldest = np.ones_like(power) if first_gain is None else np.asarray(first_gain, np.float64) ** 2
    return np.array([float(power @ (_geometric(log_a, t - 1) + oldest * np.exp((t - 1) * log_a))) for t in steps])


def _geometric(log_a: np.ndarray, terms: int) -> np.ndarray:
    """1 + a + .. + a^(terms-1), also where a is 1 or above."""
    near = np.abs(log_a) < 1e-12
    safe = np.where(near, 1.0, log_a)
    return np.where(near, float(terms), np.expm1(terms * safe) / np.expm1(safe))


def steps_of(seq_len: int) -> list[int]:
    """The times that are reported: powers of 2 up to the length, and the length."""
    if seq_len < 1:
        raise UserError(f"signal: the length must be at least 1, got {short(seq_len)}")
    return sorted({*(1 << i for i in range(seq_len.bit_length())), seq_len})
