"""Arrays of this framework: conversion, and the planar form of complex numbers.

A planar array holds n complex numbers as 2n real ones on its last axis, all real parts first.
Its products are real matrix products, which are faster than complex ones in both frameworks.

Shapes: B batch, L time, H features, N complex states, P = 2N planar.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Complex, Float

from benchmark.spec import Unsupported, UserError, unknown

Array = jax.Array
Params = dict[str, jax.Array]

_HALVES = {"bfloat16": jnp.dtype(jnp.bfloat16), "float16": jnp.dtype(jnp.float16)}
_DTYPES = {"float32": jnp.dtype(jnp.float32), "float64": jnp.dtype(jnp.float64), **_HALVES}


def dtype_of(name: str) -> np.dtype:
    """The dtype of that name. Raises UserError for one that the layers do not take."""
    if name not in _DTYPES:
        raise unknown("dtype", name, _DTYPES)
    return _DTYPES[name]


def asarray(value: Any, dtype: Any = None, device: Any = None) -> jax.Array:
    """``value`` as an array of this framework; float64 input stays float64 or raises UserError."""
    wide = np.dtype(dtype if dtype is not None else getattr(value, "dtype", np.float32))
    if jax.dtypes.canonicalize_dtype(wide) != wide and wide.kind in "fc":
        raise UserError("float64 needs jax's x64 flag, which rotbench leaves to you: set JAX_ENABLE_X64=1")
    return jnp.asarray(value, dtype=dtype, device=device)


def to_numpy(value: jax.Array) -> np.ndarray:
    """A copy in the memory of the host."""
    return np.array(value.astype(jnp.float32) if is_half(value) else value)


def is_half(value: jax.Array) -> bool:
    """Whether an array of the framework holds numbers of 16 bits."""
    return value.dtype in _HALVES.values()


def narrowed(value: jax.Array) -> jax.Array:
    """``value`` in bfloat16."""
    return value.astype(jnp.bfloat16)


def widened(value: jax.Array) -> jax.Array:
    """``value``, in float32 if its numbers have 16 bits."""
    return value.astype(jnp.float32) if is_half(value) else value


def is_complex(value: Any) -> bool:
    """Whether an array of numpy or the framework holds complex numbers."""
    return bool(jnp.iscomplexobj(value))


def as_complex(value: Any) -> jax.Array:
    """``value`` as a complex array; a real one gets zero imaginary parts."""
    array = asarray(value)
    if is_complex(array):
        return array
    wide = jnp.issubdtype(array.dtype, jnp.floating) and not is_half(array)
    real = array if wide else array.astype(jnp.float32)
    return jax.lax.complex(real, jnp.zeros_like(real))


def on_host(value: Any) -> np.ndarray | None:
    """``value`` for a look at its contents, None where looking is impossible or would wait for a device."""
    if value is None or isinstance(value, jax.core.Tracer):
        return None
    if isinstance(value, jax.Array) and any(d.platform != "cpu" for d in value.devices()):
        return None
    return np.asarray(value)


def device_kind(u: Any) -> str:
    """Where the call will run: cpu, or the platform of a GPU. Raises Unsupported for a device of another kind."""
    placed = isinstance(u, jax.Array) and not isinstance(u, jax.core.Tracer)
    kind = next(iter(u.devices())).platform if placed else jax.default_backend()
    if kind not in {"cpu", "gpu", "cuda"}:
        raise Unsupported(f"layers run on cpu and cuda, not on {kind}: move inputs and parameters to one of these")
    return kind


def common(params: Mapping[str, Any], *arrays: Any) -> tuple[Params, list[jax.Array]]:
    """Parameters and arrays in their widest floating dtype, float32 at least; torch's on the first array's device.

    Real arrays of 16 bits stay as they are: only projections are computed in them.
    """
    first, *rest = [asarray(array) for array in arrays]
    given = {name: asarray(value) for name, value in params.items()}
    dtype = jnp.dtype(jnp.float32)
    for value in (first, *rest, *given.values()):
        dtype = jnp.promote_types(dtype, jnp.float32 if is_half(value) else value.real.dtype)
    moved = {name: value.astype(dtype) for name, value in given.items()}
    wide = jnp.promote_types(dtype, jnp.complex64)
    kinds = [x.dtype if is_half(x) else wide if is_complex(x) else dtype for x in (first, *rest)]
    return moved, [x.astype(kind) for x, kind in zip((first, *rest), kinds, strict=True)]


def rounded_once(compute: Callable[..., tuple[jax.Array, ...]], *values: jax.Array) -> tuple[jax.Array, ...]:
    """What ``compute`` makes of real arrays in float64, each result rounded once to their precision.

    A state magnifies an error of lam by 1 / (1 - |lam|), so lam has none but that of its storage.

    Args:
        compute: from as many arrays to a tuple of them, real or complex.
        values: float32, or float64, which stays.
    """

    @jax.custom_jvp
    def rounded(*values: jax.Array) -> tuple[jax.Array, ...]:
        kinds = [x.dtype for x in jax.eval_shape(compute, *values)]
        with jax.enable_x64(True):
            found = compute(*(lax.convert_element_type(value, jnp.float64) for value in values))
            return tuple(lax.convert_element_type(x, kind) for x, kind in zip(found, kinds, strict=True))

    @rounded.defjvp
    def derivative(values: Any, tangents: Any) -> Any:
        """In the precision of the values: outside x64 mode jax cannot take any derivative of float64."""
        return rounded(*values), jax.jvp(compute, values, tangents)[1]

    return rounded(*values)


def planar(values: Complex[jax.Array, "*batch N"]) -> Float[jax.Array, "*batch P"]:
    """Real parts, then imaginary parts, on the last axis."""
    return jnp.concatenate([values.real, values.imag], -1)


def from_planar(values: Float[jax.Array, "*batch P"]) -> Complex[jax.Array, "*batch N"]:
    """The inverse of ``planar``."""
    real, imag = split(values)
    return jax.lax.complex(real, imag)


def split(values: Float[jax.Array, "*batch P"]) -> tuple[jax.Array, jax.Array]:
    """Real and imaginary halves of a planar array."""
    half = values.shape[-1] // 2
    return values[..., :half], values[..., half:]


def times(a: jax.Array, b: jax.Array) -> jax.Array:
    """The complex product of two planar arrays that broadcast."""
    (a_r, a_i), (b_r, b_i) = split(a), split(b)
    return jnp.concatenate([a_r * b_r - a_i * b_i, a_r * b_i + a_i * b_r], -1)


def read_in(B_NH: Complex[jax.Array, "N H"]) -> Float[jax.Array, "H P"]:
    """The real matrix W with u @ W = planar(B u)."""
    return jnp.concatenate([B_NH.real, B_NH.imag], 0).T


def read_out(C_HN: Complex[jax.Array, "H N"]) -> Float[jax.Array, "P H"]:
    """The real matrix W with planar(x) @ W = Re(C x)."""
    return jnp.concatenate([C_HN.real, -C_HN.imag], 1).T


def project(x: Float[jax.Array, "*batch I"], W_IO: Float[jax.Array, "I O"]) -> Float[jax.Array, "*batch O"]:
    """``x @ W`` in the dtype of x, as one product of two matrices, which keeps its gradient one product too."""
    W_IO = W_IO.astype(x.dtype)
    return (x.reshape(-1, x.shape[-1]) @ W_IO).reshape(*x.shape[:-1], W_IO.shape[-1])
