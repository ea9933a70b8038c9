"""The oracle: plain complex128 loops written from the papers.

It imports no formula that the twins use, is as slow as it is plain, and works in the papers'
own terms: RotRNN as a dense real matrix in its original basis, S4D and S5 with their conjugate
halves written out as 2 Re(.).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmark.spec.base import LayerSpec
from benchmark.spec.errors import unknown

Array = np.ndarray
Advance = Callable[[Array, Array, bool], Array]  # (state, input of the step, is it the first?) -> state


def apply(
    spec: LayerSpec, params: Mapping[str, Array], u: Array, lengths: Any = None, state: Array | None = None
) -> Array:
    """Outputs (batch, length, d_model), float64, of any layer; zero past each sequence's end.

    ``state``, where given, is in the basis of ``layers_*.apply``, as the state returned there.
    """
    p = {name: np.asarray(value, np.float64) for name, value in params.items()}
    u = np.asarray(u, np.float64)
    ends = [u.shape[1]] * len(u) if lengths is None else [int(n) for n in lengths]
    y = np.zeros_like(u)
    for row, (sequence, end) in enumerate(zip(u, ends, strict=True)):
        start = None if state is None else np.asarray(state[row], np.complex128)
        y[row, :end] = one_sequence(spec, p, sequence[:end], start)
    return y


def one_sequence(spec: Any, p: Mapping[str, Array], u: Array, state: Array | None = None) -> Array:
    """Outputs (length, d_model) for one sequence."""
    if spec.name not in SYSTEMS:
        raise unknown("layer", spec.name, SYSTEMS)
    advance, read, zero = SYSTEMS[spec.name](spec, p)
    if state is not None:
        zero = from_layer_basis(spec, p, state)
    forward = run(advance, zero, u, state is None)
    y = np.array([read(x, "C") for x in forward]) + p["D"] * u
    if spec.bidirectional:
        backward = run(advance, zero, u[::-1], True)[::-1]
        if spec.name == "s4d":  # its backward half starts at the next step
            backward = [*backward[1:], zero]
        y += np.array([read(x, "C2") for x in backward])
    return y


def run(advance: Advance, state: Array, u: Array, fresh: bool) -> list[Array]:
    """The states after every step."""
    states = []
    for t in range(len(u)):
        state = advance(state, u[t], fresh and t == 0)
        states.append(state)
    return states


def rotrnn(spec: Any, p: Mapping[str, Array]) -> tuple[Advance, Any, Array]:
    """x_t = gamma A x_{t-1} + xi B u_t for each head, A = P Theta P^T, dense and real."""
    heads = range(spec.heads)
    gamma = [np.exp(-np.exp(p["gamma_log"][h])) for h in heads]
    A = [rotation(mixing(spec, p)[h], p["theta"][h]) for h in heads]
    xi = [1.0] * spec.heads
    if spec.normalizer != "none":
        xi = [np.sqrt((1 - gamma[h] ** 2) / np.trace(p["B"][h].T @ p["B"][h])) for h in heads]

    def advance(x: Array, u: Array, first: bool) -> Array:
        scale = [1 / np.sqrt(1 - gamma[h] ** 2) if first and spec.normalizer == "exact" else 1.0 for h in heads]
        return np.array([gamma[h] * A[h] @ x[h] + scale[h] * xi[h] * p["B"][h] @ u for h in heads])

    def read(x: Array, C: str) -> Array:
        return p[C] @ x.reshape(-1)

    return advance, read, np.zeros((spec.heads, spec.d_state // spec.heads))


def mixing(spec: Any, p: Mapping[str, Array]) -> Array:
    """M of each head; zero, so that P is the identity, where the layer has none."""
    size = spec.d_state // spec.heads
    return p["M"] if spec.mixing == "learned" else np.zeros((spec.heads, size, size))


def rotation(M: Array, theta: Array) -> Array:
    """P Theta P^T with P = exp(M - M^T), by the eigenvectors of the Hermitian matrix -i (M - M^T)."""
    P = orthogonal(M)
    planes = np.zeros_like(P)
    for j, angle in enumerate(theta):
        c, s = np.cos(angle), np.sin(angle)
        planes[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = [[c, -s], [s, c]]
    return P @ planes @ P.T


def orthogonal(M: Array) -> Array:
    """exp(M - M^T), real orthogonal."""
    values, vectors = np.linalg.eigh(-1j * (M - M.T))
    return ((vectors * np.exp(1j * values)) @ vectors.conj().T).real


def from_layer_basis(spec: Any, p: Mapping[str, Array], state: Array) -> Array:
    """The oracle's state from that of ``layers_*.apply``, which differs only for RotRNN: x = P z."""
    if spec.name != "rotrnn":
        return state
    pairs = np.stack([state.real, state.imag], -1).reshape(spec.heads, -1)
    return np.array([orthogonal(mixing(spec, p)[h]) @ pairs[h] for h in range(spec.heads)])


def lru(spec: Any, p: Mapping[str, Array]) -> tuple[Advance, Any, Array]:
    """x_t = lam x_{t-1} + gain B u_t, y = Re(C x)."""
    lam = np.exp(-np.exp(p["nu_log"])) * np.exp(1j * np.exp(p["theta_log"]))
    match spec.gamma:
        case "learned":
            gain = np.exp(p["gamma_log"])
        case "recomputed":
            gain = np.sqrt(1 - np.abs(lam) ** 2)
        case _:
            gain = np.ones_like(p["nu_log"])
    B = p["B_re"] + 1j * p["B_im"]

    def advance(x: Array, u: Array, first: bool) -> Array:  # noqa: ARG001
        return lam * x + gain * (B @ u)

    return advance, complex_readout(p, 1), np.zeros(spec.d_state, complex)


def s4d(spec: Any, p: Mapping[str, Array]) -> tuple[Advance, Any, Array]:
    """One single-input system a channel: x' = A x + u, discretised with the channel's step."""
    A = -np.exp(p["log_A_real"]) + 1j * p["A_imag"]
    lam, gain = discretise(spec.discretization, A, np.exp(p["log_dt"])[:, None])

    def advance(x: Array, u: Array, first: bool) -> Array:  # noqa: ARG001
        return lam * x + gain * u[:, None]

    def read(x: Array, C: str) -> Array:
        return 2 * ((p[f"{C}_re"] + 1j * p[f"{C}_im"]) * x).sum(1).real

    return advance, read, np.zeros_like(A)


def s5(spec: Any, p: Mapping[str, Array]) -> tuple[Advance, Any, Array]:
    """X' = A x + B u with diagonal A, each state discretised with its own step."""
    real = np.minimum(p["Lambda_re"], -1e-4) if spec.clip_eigs else p["Lambda_re"]
    lam, gain = discretise(spec.discretization, real + 1j * p["Lambda_im"], spec.step_rescale * np.exp(p["log_step"]))
    B = p["B_re"] + 1j * p["B_im"]

    def advance(x: Array, u: Array, first: bool) -> Array:  # noqa: ARG001
        return lam * x + gain * (B @ u)

    return advance, complex_readout(p, 2 if spec.conj_sym else 1), np.zeros(len(lam), complex)


def discretise(rule: str, A: Array, dt: Array) -> tuple[Array, Array]:
    """Transition and input gain of one step of x' = A x + u."""
    if rule == "zoh":
        return np.exp(A * dt), (np.exp(A * dt) - 1) / A
    return (1 + dt * A / 2) / (1 - dt * A / 2), dt / (1 - dt * A / 2)


def complex_readout(p: Mapping[str, Array], factor: int) -> Callable[[Array, str], Array]:
    """Factor * Re(C x)."""

    def read(x: Array, C: str) -> Array:
        return factor * ((p[f"{C}_re"] + 1j * p[f"{C}_im"]) @ x).real

    return read


SYSTEMS: dict[str, Callable[..., tuple[Advance, Any, Array]]] = {"rotrnn": rotrnn, "lru": lru, "s4d": s4d, "s5": s5}


def directional(function: Callable[[Array], float], at: Array, direction: Array, step: float = 1e-3) -> float:
    """The derivative of ``function`` along ``direction``, by the five-point rule (error of order step^4)."""
    values = [function(at + k * step * direction) for k in (-2, -1, 1, 2)]
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)


def relative_error(found: Array, expected: Array, floor: float = 0.0) -> float:
    """The norm of the difference over the norm of what is expected, or over ``floor`` where that is larger."""
    scale = max(float(np.linalg.norm(expected)), floor)
    difference = float(np.linalg.norm(found - expected))
    return difference / scale if scale else difference
