"""An LRU as a multi-head RotRNN and back: exact conversions of parameters, in numpy and float64.

A rotating plane with coordinates (a, b) is the complex state a + ib, so a RotRNN of planes is an LRU whose
states share a modulus within a head, and an LRU is a RotRNN with one plane a head. Inputs and outputs being
real, each state of either stands for itself and its conjugate: Re(C z) = (C z + conj(C) conj(z)) / 2.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from benchmark.spec.base import Params, doubled
from benchmark.spec.errors import UserError
from benchmark.spec.lru import LRU
from benchmark.spec.rotrnn import RotRNN, rotation_of

Array = np.ndarray
TURN = 2 * np.pi

BOUND = 1e-12
"""The largest relative error in float64 that counts as rounding."""


class Converted(NamedTuple):
    """A layer with the parameters, float64, that make it compute what another one does."""

    spec: RotRNN | LRU
    params: Params


def lru_to_rotrnn(spec: LRU, params: Mapping[str, Array], normalizer: str = "none") -> Converted:
    """The RotRNN with one plane a head that computes what an LRU does.

    Without a normaliser B takes in the gain. The stationary one fixes the size of B's rows at
    sqrt(1 - |lam|^2), so the rest of it goes into C, which loses nothing.

    Args:
        spec: of the LRU.
        params: its parameters.
        normalizer: none or stationary.

    Raises:
        UserError: for normalizer exact, whose gain at the first step no LRU has.
    """
    if normalizer == "exact":
        raise UserError("an LRU has no gain of its own at the first step: take normalizer none or stationary")
    p = doubled(params)
    B, scale = lru_gain(spec, p)[:, None] * (p["B_re"] + 1j * p["B_im"]), np.ones(spec.d_state)
    if normalizer == "stationary":
        scale = np.sqrt((np.abs(B) ** 2).sum(1) / -np.expm1(-2 * np.exp(p["nu_log"])))
    found = {
        "theta": np.exp(p["theta_log"])[:, None],
        "gamma_log": p["nu_log"],
        "B": np.stack([B.real, B.imag], 1),
        "D": p["D"],
    }
    for C in spec.readouts:
        pairs = np.stack([p[f"{C}_re"] * scale, -p[f"{C}_im"] * scale], -1)
        found[C] = pairs.reshape(spec.d_model, -1)
    options: dict[str, Any] = {"heads": spec.d_state, "mixing": "identity", "normalizer": normalizer}
    options |= {"d_model": spec.d_model, "d_state": 2 * spec.d_state, "bidirectional": spec.bidirectional}
    return Converted(RotRNN(**options), found)


def rotrnn_to_lru(spec: RotRNN, params: Mapping[str, Array]) -> Converted:
    """The LRU without gamma that computes what a RotRNN does: P and the normaliser go into B and C.

    Args:
        spec: of the RotRNN, of any head size.
        params: its parameters.

    Raises:
        UserError: for normalizer exact, whose gain at the first step no LRU has.
    """
    if spec.normalizer == "exact":
        raise UserError("an LRU has no gain of its own at the first step: take normalizer none or stationary")
    p = without_mixing(spec, params).params
    B = input_scale(spec, p)[:, None, None] * p["B"]
    rows = B.reshape(spec.modes, 2, spec.d_model)
    found = {
        "nu_log": np.repeat(p["gamma_log"], spec.head_size // 2),
        "theta_log": np.log(positive_angle(p["theta"]).reshape(-1)),
        "B_re": rows[:, 0],
        "B_im": rows[:, 1],
        "D": p["D"],
    }
    for C in spec.readouts:
        pairs = p[C].reshape(spec.d_model, spec.modes, 2)
        found |= {f"{C}_re": pairs[..., 0], f"{C}_im": -pairs[..., 1]}
    lru = LRU(d_model=spec.d_model, d_state=spec.modes, bidirectional=spec.bidirectional, gamma="none")
    return Converted(lru, found)


def without_mixing(spec: RotRNN, params: Mapping[str, Array]) -> Converted:
    """The RotRNN with P = 1 that computes what one with a learned P does: B becomes P^T B, and C becomes C P.

    The normaliser sees only tr(B^T B), which P leaves as it is; so P adds nothing that B and C cannot do.
    """
    p = doubled(params)
    if spec.mixing == "identity":
        return Converted(spec, p)
    P = np.array([rotation_of(M) for M in p["M"]])
    found = {"theta": p["theta"], "gamma_log": p["gamma_log"], "B": P.transpose(0, 2, 1) @ p["B"], "D": p["D"]}
    for C in spec.readouts:
        by_head = p[C].reshape(spec.d_model, spec.heads, spec.head_size)
        found[C] = np.einsum("Hhd,hde->Hhe", by_head, P).reshape(spec.d_model, -1)
    return Converted(replace(spec, mixing="identity"), found)


class RealSystem(NamedTuple):
    """x_t = A x_{t-1} + B u_t, y_t = C x_t + D u_t, all real: A (2N, 2N), B (2N, H), C (H, 2N), D (H,)."""

    A: Array
    B: Array
    C: Array
    D: Array


def real_system(spec: LRU, params: Mapping[str, Array]) -> RealSystem:
    """An LRU written with real numbers alone: a scaled rotation of a plane for each complex state.

    The eigenvalues of A are those of the LRU and their conjugates: both halves of each pair were there.
    """
    p = doubled(params)
    lam = np.exp(-np.exp(p["nu_log"]) + 1j * np.exp(p["theta_log"]))
    A = np.zeros((2 * spec.d_state, 2 * spec.d_state))
    for j, value in enumerate(lam):
        A[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = [[value.real, -value.imag], [value.imag, value.real]]
    gain = lru_gain(spec, p)[:, None]
    B = np.stack([gain * p["B_re"], gain * p["B_im"]], 1).reshape(-1, spec.d_model)
    C = np.stack([p["C_re"], -p["C_im"]], -1).reshape(spec.d_model, -1)
    return RealSystem(A, B, C, p["D"])


def real_outputs(system: RealSystem, u: Array) -> Array:
    """Outputs of a real system, step by step, for inputs (batch, length, d_model)."""
    x, found = np.zeros((len(u), len(system.A))), []
    for t in range(u.shape[1]):
        x = x @ system.A.T + u[:, t] @ system.B.T
        found.append(x @ system.C.T + system.D * u[:, t])
    return np.stack(found, 1)


def lru_gain(spec: LRU, p: Mapping[str, Array]) -> Array:
    """What multiplies each row of an LRU's B, (N,)."""
    match spec.gamma:
        case "learned":
            return np.exp(p["gamma_log"])
        case "recomputed":
            return np.sqrt(-np.expm1(-2 * np.exp(p["nu_log"])))
    return np.ones(spec.d_state)


def input_scale(spec: RotRNN, p: Mapping[str, Array]) -> Array:
    """What multiplies each head's B, (heads,): the stationary normaliser, or 1."""
    if spec.normalizer == "none":
        return np.ones(spec.heads)
    return np.sqrt(-np.expm1(-2 * np.exp(p["gamma_log"])) / (p["B"] ** 2).sum((1, 2)))


def positive_angle(theta: Array) -> Array:
    """The same angle in (0, 2 pi], as an LRU keeps its logarithm."""
    turned = np.mod(theta, TURN)
    return np.where(turned == 0, TURN, turned)
