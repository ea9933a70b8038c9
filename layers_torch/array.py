"""Arrays of this framework: conversion, and the planar form of complex numbers.

A planar array holds n complex numbers as 2n real ones on its last axis, all real parts first.
Its products are real matrix products, which are faster than complex ones in both frameworks.

Shapes: B batch, L time, H features, N complex states, P = 2N planar.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex, Float

from benchmark.spec import Unsupported, unknown

Array = torch.Tensor
Params = dict[str, torch.Tensor]

_HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_DTYPES = {"float32": torch.float32, "float64": torch.float64, **_HALVES}


def dtype_of(name: str) -> torch.dtype:
    """The dtype of that name. Raises UserError for one that the layers do not take."""
    if name not in _DTYPES:
        raise unknown("dtype", name, _DTYPES)
    return _DTYPES[name]


def asarray(value: Any, dtype: torch.dtype | None = None, device: Any = None) -> torch.Tensor:
    """``value`` as an array of this framework; float64 input stays float64 or raises UserError."""
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(np.require(value, requirements=["C", "W"]))
    return torch.as_tensor(value, dtype=dtype, device=device)


def to_numpy(value: torch.Tensor) -> np.ndarray:
    """A copy in the memory of the host."""
    value = value.detach().cpu()
    return np.array((value.float() if is_half(value) else value).numpy())


def is_half(value: torch.Tensor) -> bool:
    """Whether an array of the framework holds numbers of 16 bits."""
    return value.dtype in _HALVES.values()


def narrowed(value: torch.Tensor) -> torch.Tensor:
    """``value`` in bfloat16."""
    return value.to(torch.bfloat16)


def widened(value: torch.Tensor) -> torch.Tensor:
    """``value``, in float32 if its numbers have 16 bits."""
    return value.float() if is_half(value) else value


def is_complex(value: Any) -> bool:
    """Whether an array of numpy or the framework holds complex numbers."""
    return value.is_complex() if isinstance(value, torch.Tensor) else np.iscomplexobj(value)


def as_complex(value: Any) -> torch.Tensor:
    """``value`` as a complex array; a real one gets zero imaginary parts."""
    array = asarray(value)
    if array.is_complex():
        return array
    real = array if array.is_floating_point() and not is_half(array) else array.float()
    return torch.complex(real, torch.zeros_like(real))


def on_host(value: Any) -> np.ndarray | None:
    """``value`` for a look at its contents, None where looking is impossible or would wait for a device."""
    if value is None or (isinstance(value, torch.Tensor) and value.device.type != "cpu"):
        return None
    return value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def device_kind(u: Any) -> str:
    """Where the call will run: cpu, or the platform of a GPU. Raises Unsupported for a device of another kind."""
    kind: str = u.device.type if isinstance(u, torch.Tensor) else "cpu"
    if kind not in {"cpu", "cuda"}:
        raise Unsupported(f"layers run on cpu and cuda, not on {kind}: move inputs and parameters to one of these")
    return kind


def common(params: Mapping[str, Any], *arrays: Any) -> tuple[Params, list[torch.Tensor]]:
    """Parameters and arrays in their widest floating dtype, float32 at least; torch's on the first array's device.

    Real arrays of 16 bits stay as they are: only projections are computed in them.
    """
    first, *rest = [asarray(array) for array in arrays]
    given = {name: asarray(value) for name, value in params.items()}
    dtype = torch.float32
    for value in (first, *rest, *given.values()):
        device_kind(value)
        dtype = torch.promote_types(dtype, torch.float32 if is_half(value) else value.real.dtype)
    moved = {name: value.to(first.device, dtype) for name, value in given.items()}
    wide = torch.promote_types(dtype, torch.complex64)
    kinds = [x.dtype if is_half(x) else wide if is_complex(x) else dtype for x in (first, *rest)]
    return moved, [x.to(first.device, kind) for x, kind in zip((first, *rest), kinds, strict=True)]


def rounded_once(compute: Callable[..., tuple[torch.Tensor, ...]], *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What ``compute`` makes of real arrays in float64, each result rounded once to their precision.

    A state magnifies an error of lam by 1 / (1 - |lam|), so lam has none but that of its storage.

    Args:
        compute: from as many arrays to a tuple of them, real or complex.
        values: float32, or float64, which stays.
    """
    kind = values[0].dtype
    found = compute(*(value.double() for value in values))
    return tuple(x.to(torch.promote_types(kind, torch.complex64) if x.is_complex() else kind) for x in found)


def planar(values: Complex[torch.Tensor, "*batch N"]) -> Float[torch.Tensor, "*batch P"]:
    """Real parts, then imaginary parts, on the last axis."""
    return torch.cat([values.real, values.imag], -1)


def from_planar(values: Float[torch.Tensor, "*batch P"]) -> Complex[torch.Tensor, "*batch N"]:
    """The inverse of ``planar``."""
    real, imag = split(values)
    return torch.complex(real.contiguous(), imag.contiguous())


def split(values: Float[torch.Tensor, "*batch P"]) -> tuple[torch.Tensor, torch.Tensor]:
    """Real and imaginary halves of a planar array."""
    half = values.shape[-1] // 2
    return values[..., :half], values[..., half:]


def times(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The complex product of two planar arrays that broadcast."""
    (a_r, a_i), (b_r, b_i) = split(a), split(b)
    return torch.cat([a_r * b_r - a_i * b_i, a_r * b_i + a_i * b_r], -1)


def read_in(B_NH: Complex[torch.Tensor, "N H"]) -> Float[torch.Tensor, "H P"]:
    """The real matrix W with u @ W = planar(B u)."""
    return torch.cat([B_NH.real, B_NH.imag], 0).T


def read_out(C_HN: Complex[torch.Tensor, "H N"]) -> Float[torch.Tensor, "P H"]:
    """The real matrix W with planar(x) @ W = Re(C x)."""
    return torch.cat([C_HN.real, -C_HN.imag], 1).T


def project(x: Float[torch.Tensor, "*batch I"], W_IO: Float[torch.Tensor, "I O"]) -> Float[torch.Tensor, "*batch O"]:
    """``x @ W`` in the dtype of x, as one product of two matrices, which keeps its gradient one product too."""
    W_IO = W_IO.to(x.dtype)
    return (x.reshape(-1, x.shape[-1]) @ W_IO).reshape(*x.shape[:-1], W_IO.shape[-1])
