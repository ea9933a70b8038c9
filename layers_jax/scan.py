"""The diagonal complex recurrence x_t = lam x_{t-1} + z_t, by every algorithm.

Algorithms work on planar arrays (see array.py) and return all states. The gradient is the same
for all of them: the adjoint of a linear recurrence is the recurrence with conj(lam), run
backwards, so it is computed by the same algorithm. |lam| may exceed 1: no algorithm divides by
a power of lam.

Shapes: B batch, L time, N complex states, P = 2N planar, K chunks, T steps of a chunk.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Complex, Float

from benchmark.spec.algorithms import CHUNK, SCANS, check_algorithm, chunks, fft_length
from benchmark.spec.checks import check_scan
from layers_jax import native
from layers_jax.array import Array, as_complex, common, device_kind, from_planar, planar, rounded_once, split, times

Planar = Float[jax.Array, "P"]
PlanarState = Float[jax.Array, "B P"]
PlanarStates = Float[jax.Array, "B L P"]


def scan(
    lam: Any, v: Any, state: Any = None, reverse: bool = False, algorithm: str = "auto"
) -> Complex[jax.Array, "B L N"]:
    """All states of x_t = lam x_{t-1} + v_t.

    Args:
        lam: the coefficients (N,), complex, any modulus; numpy's or the framework's array, as are the others.
        v: the inputs (batch, length, N), complex, at least one step.
        state: x before the first step (after the last, if reverse), (batch, N), complex; zero if None.
        reverse: run from the last step to the first.
        algorithm: auto, sequential, associative, chunked, fft or fused.

    Raises:
        UserError: for shapes that do not fit, or an unknown algorithm.
        Unsupported: for an algorithm that cannot serve here.
    """
    check_scan(np.shape(lam), np.shape(v), None if state is None else np.shape(state))
    _, (v, lam, *states) = common({}, as_complex(v), as_complex(lam), *([] if state is None else [as_complex(state)]))
    z = planar(v)
    start = planar(states[0]) if states else zero_state(z)
    return from_planar(planar_scan(planar(lam), z, start, reverse, choose(algorithm, device_kind(v))))


def choose(algorithm: str, device: str) -> str:
    """The algorithm to run: ``auto`` becomes the fastest sound one for the device's kind."""
    check_algorithm(algorithm, SCANS, "the scan")
    if algorithm == "fused":
        native.check_available(device)
    if algorithm != "auto":
        return algorithm
    if native.available(device):
        return "fused"
    return "sequential" if device == "cpu" else "associative"


def zero_state(z: PlanarStates) -> PlanarState:
    """The planar state of a sequence that starts from nothing."""
    return jnp.zeros((z.shape[0], z.shape[2]), z.dtype)


def planar_scan(lam: Planar, z: PlanarStates, state: PlanarState, reverse: bool, algorithm: str) -> PlanarStates:
    """``scan`` on planar arrays by a named algorithm, with the reverse scan as its gradient."""
    return _scan(lam, z, state, reverse, algorithm)


def run(lam: Planar, z: PlanarStates, state: PlanarState, reverse: bool, algorithm: str) -> PlanarStates:
    """One algorithm, forwards or backwards in time, without a gradient."""
    if 0 in z.shape:  # which FFTs and compiled code need not know
        return z
    if algorithm == "fused":
        return native.scan(lam, z, state, reverse)
    if reverse:
        return jnp.flip(ALGORITHMS[algorithm](lam, jnp.flip(z, 1), state), 1)
    return ALGORITHMS[algorithm](lam, z, state)


@partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _scan(lam: jax.Array, z: jax.Array, state: jax.Array, reverse: bool, algorithm: str) -> jax.Array:
    return run(lam, z, state, reverse, algorithm)


def _forward(lam: jax.Array, z: jax.Array, state: jax.Array, reverse: bool, algorithm: str) -> Any:
    x = _scan(lam, z, state, reverse, algorithm)  # itself, so that this too has a derivative in compiled code
    return x, (lam, state, x)


def _backward(reverse: bool, algorithm: str, saved: Any, g: jax.Array) -> Any:
    lam, state, x = saved
    return adjoint(lam, state, x, g, reverse, algorithm)


_scan.defvjp(_forward, _backward)


def adjoint(
    lam: Planar, state: PlanarState, x: PlanarStates, g: PlanarStates, reverse: bool, algorithm: str
) -> tuple[Planar, PlanarStates, PlanarState]:
    """Gradients of lam, z and state from the gradient g of the states x; a scan again, so differentiable again."""
    lam_r, lam_i = split(lam)
    conj = jnp.concatenate([lam_r, -lam_i])
    G = planar_scan(conj, g, jnp.zeros_like(state), not reverse, algorithm)
    first = -1 if reverse else 0
    if algorithm == "fused":
        return native.correlate(G, x, state, reverse), G, times(conj, G[:, first])
    later, earlier = (G[:, :-1], x[:, 1:]) if reverse else (G[:, 1:], x[:, :-1])
    d_lam = correlate(later, earlier) + correlate(G[:, [first]], state[:, None])
    return d_lam, G, times(conj, G[:, first])


def correlate(G: PlanarStates, x: PlanarStates) -> Planar:
    """The sum over batch and time of G conj(x)."""
    (G_r, G_i), (x_r, x_i) = split(G), split(x)
    real = (G_r * x_r + G_i * x_i).sum((0, 1))
    imag = (G_i * x_r - G_r * x_i).sum((0, 1))
    return jnp.concatenate([real, imag])


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def powers(lam: Planar, count: int) -> Float[jax.Array, "count P"]:
    """lam^0 .. lam^(count - 1), by doubling: products of powers, so that no angle grows with time.

    In float64, then rounded to the dtype of lam.
    """

    def doubled(step: Array) -> tuple[Array]:
        lam_r, _ = split(step)
        result = jnp.concatenate([jnp.ones_like(lam_r), jnp.zeros_like(lam_r)])[None]
        while result.shape[0] < count:
            result = jnp.concatenate([result, times(step, result)])
            step = times(step, step)
        return (result[:count],)

    return rounded_once(doubled, lam)[0]


@powers.defjvp
def _powers_jvp(count: int, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    """lam^k changes by k lam^(k - 1); so nothing of the doubling is kept for a gradient."""
    result = powers(primals[0], count)
    slopes = jnp.concatenate([jnp.zeros_like(result[:1]), result[:-1]]) * jnp.arange(count, dtype=result.dtype)[:, None]
    return result, times(slopes, tangents[0][None])


def absorb(lam: Planar, z: PlanarStates, state: PlanarState) -> PlanarStates:
    """Inputs of a scan from zero that equals the scan of z from ``state``."""
    return jnp.concatenate([z[:, :1] + times(lam, state)[:, None], z[:, 1:]], 1)


def sequential(lam: Planar, z: PlanarStates, state: PlanarState) -> PlanarStates:
    """One step after the other: L steps of width B N."""

    def advance(x: jax.Array, z_t: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = times(lam, x) + z_t
        return x, x

    _, x = lax.scan(advance, state, jnp.swapaxes(z, 0, 1))
    return jnp.swapaxes(x, 0, 1)


def associative(lam: Planar, z: PlanarStates, state: PlanarState) -> PlanarStates:
    """The parallel scan over pairs (coefficient, value), as published for S5, LRU and RotRNN."""
    v = from_planar(absorb(lam, z, state))
    a = jnp.broadcast_to(from_planar(lam), (1, *v.shape[1:]))
    return planar(pair_scan(a, v)[1])


def combine(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any]:
    """The associative operator: x -> a_l x + x_l, followed by x -> a_r x + x_r."""
    (a_l, x_l), (a_r, x_r) = left, right
    return a_r * a_l, a_r * x_l + x_r


def pair_scan(a: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """All prefixes of the pairs under ``combine`` along axis 1 (Blelloch 1990): 2 L combinations."""
    return lax.associative_scan(combine, (a, x), axis=1)


def chunked(lam: Planar, z: PlanarStates, state: PlanarState) -> PlanarStates:
    """Two levels: T wide steps through all chunks at once, then K steps over the chunks' ends.

    Each chunk is scanned from zero; then the state at its start, decayed by lam^(t+1), is added.
    """
    B, L, P = z.shape
    K, T = chunks(L, CHUNK)
    padded = jnp.pad(z, ((0, 0), (0, K * T - L), (0, 0)))
    x = sequential(lam, padded.reshape(B * K, T, P), jnp.zeros((B * K, P), z.dtype)).reshape(B, K, T, P)
    decays = powers(lam, T + 1)
    starts = carry(decays[T], x[:, :, T - 1], state)
    x = add_product(x, decays[1:], starts[:, :, None])
    return x.reshape(B, K * T, P)[:, :L]


def add_product(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """Add a b to x, planar arrays, in the memory of x."""
    return x + times(a, b)  # XLA finds the memory


def carry(lam: Planar, ends: Float[jax.Array, "B K P"], state: PlanarState) -> Float[jax.Array, "B K P"]:
    """The state at the start of every chunk, from the chunks' ends as scanned from zero."""
    if ends.shape[1] == 1:
        return state[:, None]
    return jnp.concatenate([state[:, None], sequential(lam, ends[:, :-1], state)], 1)


def fft(lam: Planar, z: PlanarStates, state: PlanarState) -> PlanarStates:
    """The convolution of the inputs with lam^t, by FFT over the whole sequence.

    The error of an FFT is relative to the largest state of a sequence. So that states which grow,
    |lam| > 1, do not drown the early ones, the recurrence of x_t / g^t is convolved, g = max(|lam|, 1).
    """
    L = z.shape[1]
    n = fft_length(L)
    lam_r, lam_i = split(lam)
    modulus = jnp.clip(jnp.sqrt(lam_r**2 + lam_i**2), min=1)
    g = jnp.concatenate([modulus, modulus])
    growth = g ** jnp.arange(L)[:, None]
    v = jnp.swapaxes(from_planar(absorb(lam, z, state) / growth), 1, 2)
    kernel = from_planar(powers(lam / g, L)).T
    x = jnp.fft.ifft(jnp.fft.fft(v, n) * jnp.fft.fft(kernel, n))
    return planar(jnp.swapaxes(x[..., :L], 1, 2)) * growth


Algorithm = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
ALGORITHMS: dict[str, Algorithm] = {
    "sequential": sequential,
    "associative": associative,
    "chunked": chunked,
    "fft": fft,
}
