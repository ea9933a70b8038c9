"""The one recurrence behind every layer: z_t = lam z_{t-1} + B u_t, y_t = Re(C z_t) + D u_t.

A layer's file maps its parameters to ``Coefficients``; everything else is here. In a shared
recurrence all features feed N states; in a per-channel one (S4D) each feature has M of its own.

Shapes: B batch, L time, H features, N complex states, M modes of a channel, P planar.
"""

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from benchmark.spec import LayerSpec, checks
from benchmark.spec.algorithms import VANDERMONDE, algorithms_of, check_algorithm
from layers_jax import channels, convolution
from layers_jax.array import (
    Params,
    as_complex,
    asarray,
    common,
    device_kind,
    from_planar,
    is_complex,
    on_host,
    planar,
    project,
    read_in,
    read_out,
)
from layers_jax.scan import choose, planar_scan, zero_state

Signal = Float[jax.Array, "B L H"]


class Coefficients(NamedTuple):
    """What a layer reduces to. Shared: lam (N,), B (N, H), C (H, N). Per channel: all three (H, M).

    ``C2`` reads the backward half. ``first_gain`` (N,) multiplies B u at the first step.
    """

    lam: jax.Array
    B: jax.Array
    C: jax.Array
    D: jax.Array
    C2: jax.Array | None = None
    first_gain: jax.Array | None = None


def coefficients(spec: LayerSpec, params: Params) -> Coefficients:
    """The coefficients of any layer, from the file that bears its name; params are the framework's arrays."""
    layer: Any = import_module(f"{__package__}.{spec.name}")
    return layer.coefficients(spec, params)


def apply(
    spec: LayerSpec,
    params: Any,
    u: Any,
    *,
    algorithm: str = "auto",
    state: Any = None,
    return_state: bool = False,
    lengths: Any = None,
) -> Any:
    """The layer on whole sequences.

    Args:
        spec: which layer, and its sizes.
        params: arrays named as in ``spec.param_shapes``, numpy's or the framework's, float32 or float64.
        u: inputs (batch, length, d_model), length at least 1.
        algorithm: auto, sequential, associative, chunked, fft, fused, or for S4D vandermonde.
        state: the state before the first step, complex, (batch, *spec.state_shape).
        return_state: also return the state after each sequence's last step.
        lengths: (batch,) integers from 1 to length; steps past a sequence's end enter neither half,
            and the outputs there mean nothing.

    Returns:
        y (batch, length, d_model) in the widest dtype of the inputs, or (y, state).

    Raises:
        UserError: for wrong shapes, names or lengths, or a state with a bidirectional spec.
    """
    given, u, state = checked(spec, params, u, state)
    carried = return_state or state is not None
    checks.check_call(spec, tuple(u.shape), None if state is None else tuple(state.shape), carried)
    checks.check_lengths(on_host(lengths), u.shape[0], u.shape[1])
    algorithm = resolve_algorithm(spec, algorithm, device_kind(u), u.shape[1])
    at = None if lengths is None else asarray(lengths)
    y, last = _apply(spec, given, u, state, at, algorithm, return_state)
    return (y, last) if return_state else y


def step(spec: LayerSpec, params: Any, u: Any, state: Any = None) -> Any:
    """One time step, as in autoregressive decoding.

    Args:
        spec: which layer, and its sizes; not bidirectional.
        params: as for ``apply``; or ``coefficients(spec, params)``, computed once for many steps.
        u: the input of this step (batch, d_model).
        state: the state before it (batch, *spec.state_shape), or None at the first step.

    Returns:
        The output (batch, d_model) and the new state.

    Raises:
        UserError: as ``apply`` does.
    """
    given, u, state = checked(spec, params, u, state)
    checks.check_step(spec, tuple(u.shape), None if state is None else tuple(state.shape))
    return _step(spec, params if isinstance(params, Coefficients) else given, u, state)


def vjp(spec: LayerSpec, params: Any, u: Any, w: Any, *, algorithm: str = "auto", lengths: Any = None) -> Any:
    """Forward and backward: the outputs, and the gradients of sum(w * y).

    Args:
        spec: which layer, and its sizes.
        params: as for ``apply``.
        u: as for ``apply``.
        w: the gradient that reaches the outputs (batch, length, d_model).
        algorithm: as for ``apply``.
        lengths: as for ``apply``.

    Returns:
        y, a dict of the parameters' gradients, and the gradient of u.
    """
    checks.check_real(spec.name, "w", is_complex(w))
    given, u, _ = checked(spec, params, u, None)
    checks.check_call(spec, tuple(u.shape), None, False)
    checks.check_same(spec, "w", tuple(np.shape(w)), tuple(u.shape))
    checks.check_lengths(on_host(lengths), u.shape[0], u.shape[1])
    algorithm = resolve_algorithm(spec, algorithm, device_kind(u), u.shape[1])
    w = common({}, u, w)[1][1]
    at = None if lengths is None else asarray(lengths)
    return _vjp(spec, given, u, w, at, algorithm)


def checked(spec: LayerSpec, params: Any, u: Any, state: Any) -> tuple[Params, Any, Any]:
    """Parameters, inputs and state as arrays of one dtype, the state complex; of coefficients the skip sets it."""
    if isinstance(params, Coefficients):
        params = {"D": params.D}
    else:
        checks.check_params(spec, {name: tuple(np.shape(value)) for name, value in params.items()})
    checks.check_real(spec.name, "inputs", is_complex(u))
    if state is None:
        given, (u,) = common(params, u)
        return given, u, None
    given, (u, state) = common(params, u, as_complex(state))
    return given, u, state


def resolve_algorithm(spec: LayerSpec, algorithm: str, device: str, seq_len: int | None = None) -> str:
    """The algorithm to run for this layer; ``auto`` becomes the fastest sound one for device and length.

    Raises:
        UserError: for an unknown algorithm.
        Unsupported: for one of another layer, or that cannot serve here.
    """
    check_algorithm(algorithm, algorithms_of(spec), spec.name)
    return channels.choose(spec, algorithm, device, seq_len) if spec.per_channel else choose(algorithm, device)


@partial(jax.jit, static_argnames=("spec", "algorithm", "return_state"))
def _apply(
    spec: LayerSpec, params: Params, u: Signal, state: Any, lengths: Any, algorithm: str, return_state: bool
) -> tuple[Signal, Any]:
    """``apply`` on checked arrays; the state is None unless asked for."""
    if u.shape[0] == 0:
        state = jnp.zeros((0, *spec.state_shape), jnp.promote_types(params["D"].dtype, jnp.complex64))
        return params["D"].astype(u.dtype) * u, state if return_state else None
    c = coefficients(spec, params)
    if lengths is not None:
        steps = jnp.arange(u.shape[1])
        u = u * (steps < lengths[:, None])[..., None]
    run = per_channel if spec.per_channel else shared
    return run(c, u, state, lengths, algorithm, return_state)


def shared(
    c: Coefficients, u: Signal, state: Any, lengths: Any, algorithm: str, return_state: bool
) -> tuple[Signal, Any]:
    """All features feed one recurrence: a matrix product in, a scan, a matrix product out; with the skip."""
    z = project(u, read_in(c.B)).astype(c.D.dtype)
    start = zero_state(z) if state is None else planar(state)
    first = c.first_gain if state is None else None
    lam = planar(c.lam)
    x = planar_scan(lam, scale_first(z, first, None), start, False, algorithm)
    y = project(x.astype(u.dtype), read_out(c.C))
    if c.C2 is not None:
        end = scale_first(z, first, u.shape[1] if lengths is None else lengths)
        back = planar_scan(lam, end, start, True, algorithm)
        y = y + project(back.astype(u.dtype), read_out(c.C2))
    return y + c.D.astype(u.dtype) * u, from_planar(take_last(x, lengths)) if return_state else None


def scale_first(z: Float[jax.Array, "B L P"], gain: Any, ends: Any) -> Float[jax.Array, "B L P"]:
    """``gain`` on the first step of each sequence or, given where they end, on the last; no gain if None."""
    if gain is None:
        return z
    rows = jnp.arange(z.shape[0])
    at = jnp.zeros_like(rows) if ends is None else jnp.broadcast_to(ends, z.shape[:1]) - 1
    return z.at[rows, at].set(z[rows, at] * jnp.concatenate([gain, gain]))


def take_last(x: Float[jax.Array, "B L P"], lengths: Any) -> Float[jax.Array, "B P"]:
    """The states after each sequence's last step."""
    if lengths is None:
        return x[:, -1]
    return x[jnp.arange(x.shape[0]), lengths - 1]


KERNELS = {"fft": convolution.kernel, VANDERMONDE: convolution.vandermonde_kernel}
"""How the algorithms of a per-channel layer that convolve make their kernel."""


def per_channel(
    c: Coefficients, u: Signal, state: Any, lengths: Any, algorithm: str, return_state: bool
) -> tuple[Signal, Any]:
    """Every feature has a recurrence of its own; the backward half starts at the next step; with the skip."""
    given, u = u.dtype, u.astype(c.D.dtype)
    y = channel_halves(c, u, state, algorithm)
    y = (y + c.D * u).astype(given)
    if not return_state:
        return y, None
    ends = jnp.full(u.shape[:1], u.shape[1]) if lengths is None else lengths
    last = convolution.last_state(c.lam, c.B, align_ends(u, ends))
    return y, last if state is None else last + convolution.decayed(c.lam, state, ends, u.shape[1])


def align_ends(u: Signal, lengths: Int[jax.Array, "B"]) -> Signal:
    """Sequences moved so that all end at the last step, zeros before them."""
    steps = jnp.arange(u.shape[1])
    source = steps - (u.shape[1] - lengths[:, None])
    moved = jnp.take_along_axis(u, jnp.clip(source, min=0)[..., None], 1)
    return jnp.where((source >= 0)[..., None], moved, 0)


def channel_halves(c: Coefficients, u: Signal, state: Any, algorithm: str) -> Signal:
    """One direction or both, without the skip; what convolves does both in one go."""
    if c.C2 is not None and algorithm in KERNELS:
        ahead, back = (KERNELS[algorithm](c.lam, C * c.B, u.shape[1]) for C in (c.C, c.C2))
        return convolution.convolve(u, convolution.both_ways(ahead, back))
    ahead = channel_half(c.lam, c.B, c.C, u, state, algorithm)
    if c.C2 is None:
        return ahead
    back = channel_half(c.lam, c.B, c.C2, u, None, algorithm, reverse=True)
    return ahead + jnp.concatenate([back[:, 1:], jnp.zeros_like(back[:, :1])], 1)


def channel_half(lam: Any, B: Any, C: Any, u: Signal, state: Any, algorithm: str, reverse: bool = False) -> Signal:
    """One direction of the per-channel recurrence, without the skip."""
    if algorithm == "fused":
        y = channels.run(lam, C * B, u, reverse)
    elif reverse:
        return jnp.flip(channel_half(lam, B, C, jnp.flip(u, 1), state, algorithm), 1)
    elif algorithm == "chunked":
        return convolution.chunked_convolve(lam, B, C, u, state)
    elif algorithm in KERNELS:
        y = convolution.convolve(u, KERNELS[algorithm](lam, C * B, u.shape[1]))
    else:
        return convolution.scan_channels(lam, B, C, u, state, algorithm)
    return y if state is None else y + convolution.state_response(lam, C, state, u.shape[1])


@partial(jax.jit, static_argnames=("spec",))
def _step(spec: LayerSpec, params: Any, u: Float[jax.Array, "B H"], state: Any) -> Any:
    """``step`` on checked arrays."""
    c = params if isinstance(params, Coefficients) else coefficients(spec, params)
    if spec.per_channel:
        z = c.B * u[..., None]
        x = z if state is None else c.lam * state + z
        y = (c.C.real * x.real - c.C.imag * x.imag).sum(-1) + c.D * u
        return y.astype(u.dtype), x
    z = from_planar(project(u, read_in(c.B)).astype(c.D.dtype))
    x = z
    if state is not None:
        x = c.lam * state + z
    elif c.first_gain is not None:
        x = c.first_gain * z
    return project(planar(x).astype(u.dtype), read_out(c.C)) + c.D.astype(u.dtype) * u, x


@partial(jax.jit, static_argnames=("spec", "algorithm"))
def _vjp(spec: LayerSpec, params: Params, u: Signal, w: Signal, lengths: Any, algorithm: str) -> Any:
    """``vjp`` on checked arrays."""
    y, pull = jax.vjp(lambda p, x: _apply(spec, p, x, None, lengths, algorithm, False)[0], params, u)
    gradients, du = pull(w)
    return y, gradients, du


@dataclass(frozen=True)
class Layer:
    """A layer whose parameters, float32, are drawn by ``spec.init(seed)``.

    ``layer.apply(params, u)`` is ``apply(spec, params, u)`` and takes its keywords.
    """

    spec: LayerSpec
    seed: int = 0

    def init(self) -> Params:
        """Draw the parameters."""
        return {name: asarray(value) for name, value in self.spec.init(self.seed).items()}

    def apply(self, params: Any, u: Any, **options: Any) -> Any:
        """``apply`` with these parameters."""
        return apply(self.spec, params, u, **options)
