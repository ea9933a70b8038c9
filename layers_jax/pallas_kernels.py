"""The recurrence on a GPU: a Pallas kernel, on request (algorithm fused). Not yet measured on a GPU.

The sequence is cut into chunks that are scanned side by side, each channel's coefficient and state
in registers. Chunks are first scanned from zero for their ends alone; the ends are carried from
chunk to chunk; then every chunk is scanned from its true start, and only then are states written.

Tests run it on a CPU with ``interpret=True``, and lower it for a GPU that they need not have.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

CHUNK = 64
"""Steps of a chunk: short enough for many programs, long enough that carrying is little of the work."""

BLOCK = 64
"""Most channels of a program."""


def _kernel(lam: Any, z: Any, start: Any, out: Any, *, steps: int, ends: bool) -> None:
    """One chunk of one block of channels: its states from its start, or with ``ends`` its last state."""
    a_r, a_i = lam[0, :], lam[1, :]

    def advance(t: Any, h: Any) -> Any:
        h_r, h_i = h
        r = a_r * h_r - a_i * h_i + z[0, t, 0, :]
        i = a_r * h_i + a_i * h_r + z[0, t, 1, :]
        if not ends:
            out[0, t, 0, :], out[0, t, 1, :] = r, i
        return r, i

    h_r, h_i = lax.fori_loop(0, steps, advance, (start[0, 0, :], start[0, 1, :]))
    if ends:
        out[0, 0, :], out[0, 1, :] = h_r, h_i


def scan(lam: jax.Array, z: jax.Array, state: jax.Array, reverse: bool, interpret: bool = False) -> jax.Array:
    """All states of planar inputs, forwards or backwards in time, without a gradient.

    Args:
        lam: planar coefficients (P,).
        z: planar inputs (B, L, P).
        state: planar state before the first step, (B, P).
        reverse: from the last step to the first.
        interpret: run without a GPU, slowly.
    """
    from layers_jax.scan import powers, sequential  # which call this module

    B, L, P = z.shape
    K, N = -(-L // CHUNK), P // 2
    block = min(BLOCK, pl.next_power_of_2(N))
    wide = -(-N // block) * block

    def halves(x: jax.Array) -> jax.Array:
        """(..., P) as (..., 2, channels), padded to whole blocks."""
        split = x.reshape(*x.shape[:-1], 2, N)
        return jnp.pad(split, [(0, 0)] * (split.ndim - 1) + [(0, wide - N)])

    v = jnp.flip(z, 1) if reverse else z
    v = halves(jnp.pad(v, ((0, 0), (0, K * CHUNK - L), (0, 0)))).reshape(B * K, CHUNK, 2, wide)
    call = partial(_call, halves(lam), v, block=block, interpret=interpret)
    starts = halves(state)[:, None]
    if K > 1:
        ends = call(jnp.zeros((B * K, 2, wide), z.dtype), ends=True)[..., :N].reshape(B, K, P)
        carried = sequential(powers(lam, CHUNK + 1)[CHUNK], ends[:, :-1], state)
        starts = jnp.concatenate([starts, halves(carried)], 1)
    x = call(starts.reshape(B * K, 2, wide), ends=False)[..., :N].reshape(B, K * CHUNK, P)[:, :L]
    return jnp.flip(x, 1) if reverse else x


def _call(lam: jax.Array, v: jax.Array, starts: jax.Array, *, block: int, interpret: bool, ends: bool) -> jax.Array:
    chunks, steps, _, wide = v.shape
    shape = (chunks, 2, wide) if ends else v.shape
    states = pl.BlockSpec((1, steps, 2, block), lambda c, n: (c, 0, 0, n))
    edges = pl.BlockSpec((1, 2, block), lambda c, n: (c, 0, n))
    made: jax.Array = pl.pallas_call(
        partial(_kernel, steps=steps, ends=ends),
        out_shape=jax.ShapeDtypeStruct(shape, v.dtype),
        grid=(chunks, wide // block),
        in_specs=[pl.BlockSpec((2, block), lambda _, n: (0, n)), states, edges],
        out_specs=edges if ends else states,
        compiler_params=_triton(block),
        interpret=interpret,
    )(lam, v, starts)
    return made


def _triton(block: int) -> Any:
    """Parameters that choose Triton, with a warp for 32 channels; the newer Mosaic takes other kernels than ours."""
    params = getattr(triton, "CompilerParams", None)  # jax before 0.7 knows Triton alone, and needs no choice
    return params and params(num_warps=max(1, block // 32))
