"""The recurrence in compiled code, on a CPU (benchmark/spec/scan.hpp) as calls that XLA makes.

Shapes: B batch, L time, P = 2N planar states.
"""

import ctypes
import os
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.backend import backends
from jaxtyping import Float

from benchmark.spec import Unsupported, native

SOURCE = Path(native.__file__).with_name("ffi.cpp")
NAMES = {jnp.dtype(jnp.float32): "f32", jnp.dtype(jnp.float64): "f64"}

Planar = Float[jax.Array, "P"]
PlanarState = Float[jax.Array, "B P"]
PlanarStates = Float[jax.Array, "B L P"]


def available(device: str) -> bool:
    """Whether the compiled calls are the best choice for this kind of device."""
    return device == "cpu" and _registered()


def check_available(device: str) -> None:
    """Raise Unsupported, with the reason, where the compiled calls cannot serve."""
    if device not in {"cpu", "gpu", "cuda"}:
        raise Unsupported(f"algorithm fused runs on cpu and cuda, not on {device}; take associative")
    if device == "cpu" and not _registered():
        raise Unsupported(f"algorithm fused is not here: {_built().reason}; take sequential")


def state() -> str:
    """Whether the compiled calls are here, in words."""
    return _built().reason


def _built() -> native.Built:
    return native.build(SOURCE, (Path(jax.ffi.include_dir()),), metadata.version("jaxlib"))


@cache
def _registered() -> bool:
    """Hand the compiled calls to XLA, once; False where they cannot be built."""
    built = _built()
    if built.path is None:
        return False
    loaded = ctypes.CDLL(str(built.path))
    for name in NAMES.values():
        for call in native.CALLS:
            handler = jax.ffi.pycapsule(getattr(loaded, f"rotbench_ffi_{call}_{name}"))
            jax.ffi.register_ffi_target(f"rotbench_{call}_{name}", handler, platform="cpu")
    return True


def threads() -> int:
    """As many as this process may use, as XLA takes."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def scan(lam: Planar, z: PlanarStates, state: PlanarState, reverse: bool) -> PlanarStates:
    """All states, forwards or backwards in time, without a gradient."""
    return (_compiled_scan if only_cpu() else _scan_anywhere)(lam, z, state, reverse)


def only_cpu() -> bool:
    """Whether no call can run elsewhere. Where there is a GPU, only the lowering of a call knows where it will run."""
    return set(backends()) == {"cpu"}


@partial(jax.jit, static_argnames=("reverse",))
def _scan_anywhere(lam: Any, z: Any, state: Any, reverse: bool) -> jax.Array:
    from layers_jax import pallas_kernels  # slow to import, and of use on a GPU only
    from layers_jax.scan import run  # which calls this module

    cpu = partial(_compiled_scan, reverse=reverse)
    if not _registered():
        cpu = partial(run, reverse=reverse, algorithm="sequential")
    states: jax.Array = lax.platform_dependent(
        lam, z, state, cpu=cpu, default=partial(pallas_kernels.scan, reverse=reverse)
    )
    return states


def _compiled_scan(lam: Any, z: Any, state: Any, reverse: bool) -> jax.Array:
    kinds = (jax.ShapeDtypeStruct(z.shape, z.dtype), jax.ShapeDtypeStruct(state.shape, z.dtype))
    aliases = {1: 0, 2: 1}  # the states may take the place of the inputs
    call = jax.ffi.ffi_call(
        f"rotbench_scan_{NAMES[z.dtype]}", kinds, vmap_method="sequential", input_output_aliases=aliases
    )
    states: jax.Array = call(lam, z, state, reverse=reverse, threads=threads())[0]
    return states


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def correlate(G: PlanarStates, x: PlanarStates, before: PlanarState, reverse: bool) -> Planar:
    """The sum over batch and time of G_t conj(x_{t-1}), ``before`` preceding the first x."""
    return (_compiled_correlate if only_cpu() else _correlate_anywhere)(G, x, before, reverse)


@partial(jax.jit, static_argnames=("reverse",))
def _correlate_anywhere(G: Any, x: Any, before: Any, reverse: bool) -> jax.Array:
    plain = partial(_plain_correlate, reverse=reverse)
    cpu = partial(_compiled_correlate, reverse=reverse) if _registered() else plain
    total: jax.Array = lax.platform_dependent(G, x, before, cpu=cpu, default=plain)
    return total


def _compiled_correlate(G: Any, x: Any, before: Any, reverse: bool) -> jax.Array:
    kind = jax.ShapeDtypeStruct(G.shape[-1:], G.dtype)
    call = jax.ffi.ffi_call(f"rotbench_correlate_{NAMES[G.dtype]}", kind, vmap_method="sequential")
    total: jax.Array = call(G, x, before, reverse=reverse, threads=threads())
    return total


def _plain_correlate(G: Any, x: Any, before: Any, reverse: bool) -> jax.Array:
    """The same in operations that jax can differentiate."""
    earlier = jnp.concatenate([x[:, 1:], before[:, None]] if reverse else [before[:, None], x[:, :-1]], 1)
    N = G.shape[-1] // 2
    g, e = lax.complex(G[..., :N], G[..., N:]), lax.complex(earlier[..., :N], -earlier[..., N:])
    total = (g * e).sum((0, 1))
    return jnp.concatenate([total.real, total.imag])


def _forward(G: Any, x: Any, before: Any, reverse: bool) -> Any:
    return correlate(G, x, before, reverse), (G, x, before)


def _backward(reverse: bool, saved: Any, g: jax.Array) -> Any:
    return jax.vjp(partial(_plain_correlate, reverse=reverse), *saved)[1](g)


correlate.defvjp(_forward, _backward)
