"""The per-channel recurrence as a convolution: y_t = sum_s K_{t-s} u_s, K_l = Re(sum_m w_m lam_m^l).

Only S4D has one input a channel, so only for it is the kernel small enough to be formed.

Shapes: B batch, L time, H channels, M modes of a channel, K chunks, T steps of a chunk.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Complex, Float, Int

from benchmark.spec.algorithms import CHANNEL_CHUNK, chunks, fft_length
from layers_jax.array import from_planar, planar, split
from layers_jax.scan import planar_scan, powers

Modes = Complex[jax.Array, "H M"]
States = Complex[jax.Array, "B H M"]
Signal = Float[jax.Array, "B L H"]


def mode_powers(lam: Modes, count: int) -> Complex[jax.Array, "count H M"]:
    """lam^0 .. lam^(count - 1)."""
    flat = from_planar(powers(planar(lam.reshape(-1)), count))
    return flat.reshape(count, *lam.shape)


def kernel(lam: Modes, w: Complex[jax.Array, "*batch H M"], length: int) -> Float[jax.Array, "*batch H L"]:
    """K_l for l < length, from two tables of about sqrt(length) powers instead of one of length."""
    K, T = chunks(length, math.isqrt(length - 1) + 1)
    fine = mode_powers(lam, T + 1).transpose(1, 2, 0)
    coarse = mode_powers(fine[..., T], K).transpose(1, 0, 2)
    weighted = planar(w[..., None, :] * coarse)
    table = jnp.concatenate([fine[..., :T].real, -fine[..., :T].imag], 1)
    product = weighted @ table
    return product.reshape(*product.shape[:-2], K * T)[..., :length]


def vandermonde_kernel(lam: Modes, w: Modes, length: int) -> Float[jax.Array, "H L"]:
    """K_l as published: exp(l log lam) for every channel, mode and step, held in memory at once."""
    steps = jnp.arange(length)
    tiny = jnp.finfo(lam.real.dtype).tiny  # a decay that has underflowed has no logarithm
    log = jnp.log(jnp.where(lam == 0, tiny, lam))[..., None]
    table = jnp.exp(lax.complex(log.real * steps, log.imag * steps))
    return jnp.einsum("hm,hml->hl", w, table).real


def both_ways(K: Float[jax.Array, "H L"], K2: Float[jax.Array, "H L"]) -> Float[jax.Array, "H n"]:
    """One circular kernel for ``convolve``: K_l at lag l, and K2_l at lag -(l + 1)."""
    H, L = K.shape
    return jnp.concatenate([K, jnp.zeros((H, fft_length(L) - 2 * L + 1), K.dtype), jnp.flip(K2[:, : L - 1], 1)], 1)


def convolve(u: Signal, K: Float[jax.Array, "H K"]) -> Signal:
    """The convolution of each channel by real FFT with its causal kernel (H, L), or with one that goes both ways."""
    L = u.shape[1]
    n = fft_length(L)
    product = jnp.fft.rfft(jnp.swapaxes(u, 1, 2), n) * jnp.fft.rfft(K, n)
    return jnp.swapaxes(jnp.fft.irfft(product, n)[..., :L], 1, 2)


def state_response(lam: Modes, C: Modes, state: States, length: int) -> Signal:
    """What the state before the first step adds to the outputs: Re(C lam^(t+1) state)."""
    return jnp.swapaxes(kernel(lam, C * lam * state, length), 1, 2)


def last_state(lam: Modes, B: Modes, u: Signal) -> States:
    """The state after the last step from zero before the first, without the states in between."""
    batch, L, H = u.shape
    K, T = chunks(L, CHANNEL_CHUNK)
    padded = jnp.pad(u, ((0, 0), (K * T - L, 0), (0, 0)))  # zeros before the first step change nothing
    ends = chunk_ends(lam, B, padded.reshape(batch, K, T, H))
    decay = planar(mode_powers(lam, T + 1)[T].reshape(-1))
    states = planar_scan(decay, ends, jnp.zeros_like(ends[:, 0]), False, "sequential")
    return from_planar(states[:, -1]).reshape(batch, *lam.shape)


def chunk_ends(lam: Modes, B: Modes, u: Float[jax.Array, "B K T H"]) -> Float[jax.Array, "B K P"]:
    """Planar states at the end of each chunk, every chunk from zero: sum_t B lam^(T-1-t) u_t."""
    batch, K, T, H = u.shape
    weights = jnp.flip(B * mode_powers(lam, T), 0).transpose(1, 0, 2)
    return gather_modes(u.transpose(3, 0, 1, 2).reshape(H, batch * K, T) @ planar(weights), batch)


def gather_modes(ends: Float[jax.Array, "H BK M2"], batch: int) -> Float[jax.Array, "B K P"]:
    """Planar modes of each channel to planar modes of all channels."""
    H, BK, P = ends.shape
    return ends.reshape(H, batch, BK // batch, 2, P // 2).transpose(1, 2, 3, 0, 4).reshape(batch, BK // batch, H * P)


def scatter_modes(starts: Float[jax.Array, "B K P"], H: int) -> Float[jax.Array, "H BK M2"]:
    """The inverse of ``gather_modes``."""
    batch, K, P = starts.shape
    return starts.reshape(batch, K, 2, H, P // (2 * H)).transpose(3, 0, 1, 2, 4).reshape(H, batch * K, P // H)


def chunked_convolve(lam: Modes, B: Modes, C: Modes, u: Signal, state: States | None) -> Signal:
    """A short convolution inside each chunk, and the recurrence from chunk to chunk.

    One matrix product a channel gives a chunk's own outputs and its end state; the scan over
    chunks gives the states at their starts; a second product adds what those starts read out.
    """
    batch, L, H = u.shape
    K, T = chunks(L, CHANNEL_CHUNK)
    padded = jnp.pad(u, ((0, 0), (0, K * T - L), (0, 0)))
    u_HBT = padded.reshape(batch * K, T, H).transpose(2, 0, 1)
    decays = mode_powers(lam, T + 1).transpose(1, 0, 2)
    inside = toeplitz((C[:, None] * B[:, None] * decays[:, :T]).real.sum(-1))
    into_state = planar(jnp.flip(B[:, None] * decays[:, :T], 1))
    both = u_HBT @ jnp.concatenate([inside, into_state], -1)
    ends = gather_modes(both[..., T:], batch)
    zero = jnp.zeros_like(ends[:, 0])
    before = zero if state is None else planar(state.reshape(batch, -1))
    after = planar_scan(
        planar(decays[:, T].reshape(-1)),
        ends,
        before,
        False,
        "sequential" if jax.default_backend() == "cpu" else "associative",
    )
    starts = scatter_modes(jnp.concatenate([before[:, None], after[:, :-1]], 1), H)
    readout = C[:, None] * decays[:, 1:]
    y = both[..., :T] + starts @ jnp.concatenate([readout.real, -readout.imag], -1).mT
    return y.transpose(1, 2, 0).reshape(batch, K * T, H)[:, :L]


def toeplitz(k: Float[jax.Array, "H T"]) -> Float[jax.Array, "H T T"]:
    """The matrix whose entry (s, t) is k_{t-s} where t >= s, else 0."""
    T = k.shape[1]
    steps = jnp.arange(T)
    lag = steps[None, :] - steps[:, None]
    return jnp.where(lag >= 0, k[:, jnp.clip(lag, min=0)], 0)


def decayed(lam: Modes, state: States, lengths: Int[jax.Array, "B"], longest: int) -> States:
    """The state after each sequence's own number of steps without input: lam^length state, by squaring."""
    square = lam
    for bit in range(longest.bit_length()):
        odd = ((lengths >> bit) & 1 == 1)[:, None, None]
        state = jnp.where(odd, state * square, state)
        square = square * square
    return state


def scan_channels(lam: Modes, B: Modes, C: Modes, u: Signal, state: States | None, algorithm: str) -> Signal:
    """The recurrence of all channels and modes side by side, with every state in memory."""
    batch, L, _ = u.shape
    z = jnp.concatenate([(part * u[..., None]).reshape(batch, L, -1) for part in (B.real, B.imag)], -1)
    start = jnp.zeros_like(z[:, 0]) if state is None else planar(state.reshape(batch, -1))
    x = planar_scan(planar(lam.reshape(-1)), z, start, False, algorithm)
    x_r, x_i = (part.reshape(batch, L, *lam.shape) for part in split(x))
    return (C.real * x_r - C.imag * x_i).sum(-1)
