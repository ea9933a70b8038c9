"""The per-channel recurrence in compiled code, on a CPU (benchmark/spec/channels.hpp): no states in memory.

x_t = lam x_{t-1} + u_t and y_t = sum_m Re(w_m x_t), with w = C B. Each step of each mode costs a few
operations in registers, so that time and memory are linear in the length.

Shapes: B batch, L time, H channels, M modes of a channel, K chunks of ``KEPT_STEPS``.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Complex, Float

from benchmark.spec import LayerSpec, Unsupported, native
from benchmark.spec.algorithms import has_few_modes
from layers_jax.convolution import convolve, kernel
from layers_jax.native import NAMES, available, check_available, threads

Modes = Complex[jax.Array, "H M"]
Planes = Float[jax.Array, "2 M H"]
Signal = Float[jax.Array, "B L H"]


def choose(spec: LayerSpec, algorithm: str, device: str, seq_len: int | None) -> str:
    """The algorithm to run: ``auto`` becomes the fastest sound one for the layer, the length and the device's kind."""
    if algorithm == "fused":
        if device != "cpu":
            raise Unsupported(f"algorithm fused of {spec.name} runs on cpu, not on {device}; take fft")
        check_available(device)
    if algorithm != "auto":
        return algorithm
    return "fused" if device == "cpu" and has_few_modes(spec.modes, seq_len) and available(device) else "fft"


def run(lam: Modes, w: Modes, u: Signal, reverse: bool) -> Signal:
    """All outputs, forwards or backwards in time, from zero states."""
    return _channels(planes(lam), planes(w), u, reverse)


def planes(x: Modes) -> Planes:
    """Real and imaginary parts, channels side by side."""
    return jnp.stack([x.real.mT, x.imag.mT])


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _channels(lam: Planes, w: Planes, u: Signal, reverse: bool) -> Signal:
    return _outputs(lam, w, u, 0, reverse)[0]


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _kept(lam: Planes, w: Planes, u: Signal, reverse: bool) -> Any:
    """The outputs, and the states before each chunk, which pass on no gradient: ``_gradients`` has it all."""
    return _outputs(lam, w, u, -(-u.shape[1] // native.KEPT_STEPS), reverse)


def _outputs(lam: Planes, w: Planes, u: Signal, chunks: int, reverse: bool) -> Any:
    return _call("channels", reverse, [u.shape, (u.shape[0], chunks, *lam.shape)], lam, w, u)


def _forward(lam: Planes, w: Planes, u: Signal, reverse: bool) -> Any:
    y, edges = _kept(lam, w, u, reverse)
    return y, (lam, w, u, edges)


def _kept_forward(lam: Planes, w: Planes, u: Signal, reverse: bool) -> Any:
    y, edges = _kept(lam, w, u, reverse)
    return (y, edges), (lam, w, u, edges)


def _backward(reverse: bool, saved: Any, g: Signal) -> Any:
    return _gradients(*saved, g, reverse)


def _kept_backward(reverse: bool, saved: Any, gradients: Any) -> Any:
    return _gradients(*saved, gradients[0], reverse)


_channels.defvjp(_forward, _backward)
_kept.defvjp(_kept_forward, _kept_backward)


@partial(jax.custom_vjp, nondiff_argnums=(5,))
def _gradients(lam: Planes, w: Planes, u: Signal, edges: jax.Array, g: Signal, reverse: bool) -> Any:
    """Of lam, w and u, from the states before each chunk."""
    return _call("channel_gradients", reverse, [lam.shape, w.shape, u.shape], lam, w, u, g, edges)


def _gradients_forward(lam: Any, w: Any, u: Any, edges: Any, g: Any, reverse: bool) -> Any:
    return _gradients(lam, w, u, edges, g, reverse), (lam, w, u, edges, g)


def _gradients_backward(reverse: bool, saved: Any, gradients: Any) -> Any:
    """The same in operations that jax can differentiate again."""
    lam, w, u, edges, g = saved

    def plain(lam: Planes, w: Planes, u: Signal, g: Signal) -> Any:
        return jax.vjp(partial(_plain, reverse=reverse), lam, w, u)[1](g)

    d_lam, d_w, du, dg = jax.vjp(plain, lam, w, u, g)[1](tuple(gradients))
    return d_lam, d_w, du, jnp.zeros_like(edges), dg


_gradients.defvjp(_gradients_forward, _gradients_backward)


def _call(name: str, reverse: bool, shapes: list[tuple[int, ...]], *arrays: jax.Array) -> Any:
    dtype = arrays[0].dtype
    kinds = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape in shapes)
    call = jax.ffi.ffi_call(f"rotbench_{name}_{NAMES[dtype]}", kinds, vmap_method="sequential")
    return tuple(call(*arrays, reverse=reverse, threads=threads()))


def _plain(lam: Planes, w: Planes, u: Signal, reverse: bool) -> Signal:
    lam, w = (lax.complex(x[0].mT, x[1].mT) for x in (lam, w))
    K = kernel(lam, w, u.shape[1])
    return jnp.flip(convolve(jnp.flip(u, 1), K), 1) if reverse else convolve(u, K)
