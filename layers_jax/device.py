"""Devices of this framework: which there are, waiting for them, and one prepared call to time."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmark.spec import LayerSpec, Unsupported
from benchmark.spec.devices import parse_device
from layers_jax.array import asarray, dtype_of
from layers_jax.recurrence import apply, step, vjp


class Prepared(NamedTuple):
    """A call that is ready to be timed: compiled where the framework compiles, inputs on the device."""

    run: Callable[[], Any]
    lower_s: float | None
    compile_s: float | None


def version() -> str:
    """The framework's version."""
    return str(jax.__version__)


def kinds() -> list[str]:
    """The kinds of device that can run here: cpu, and cuda where there is one."""
    return ["cpu", "cuda"] if jax.default_backend() == "gpu" and count("cuda") else ["cpu"]


def resolve(device: str) -> jax.Device:
    """The device of that name, such as cpu, cuda or cuda:1.

    Raises:
        UserError: for a name that is none.
        Unsupported: for a device that is not here.
    """
    kind, index = parse_device(device)
    if kind not in kinds():
        raise Unsupported(f"jax {version()} sees no CUDA device here; available: {', '.join(kinds())}")
    if index >= count(kind):
        raise Unsupported(f"jax sees {count(kind)} {kind} device(s), so there is no {device!r}")
    return jax.devices(kind)[index]


def count(kind: str) -> int:
    """How many devices of a kind there are."""
    return len(jax.devices(kind))


def describe(device: str) -> str:
    """The device's own name, such as NVIDIA H200."""
    return str(resolve(device).device_kind)


def set_threads(threads: int) -> None:
    """How many threads a call may use on the CPU."""
    # XLA sizes its pool by the processors that the process may use when it starts, so the worker
    # limits those before it imports jax; nothing is left to set.


def synchronise(outputs: Any) -> None:
    """Wait until every array in ``outputs`` has its value; other leaves are passed over."""
    jax.block_until_ready(outputs)


def prepare(
    spec: LayerSpec,
    params: dict[str, np.ndarray],
    arrays: dict[str, np.ndarray],
    *,
    direction: str,
    algorithm: str,
    device: str,
    dtype: str,
) -> Prepared:
    """A call of the layer, ready to be timed.

    Args:
        spec: which layer, and its sizes.
        params: its parameters.
        arrays: u, and w for forward+backward or state for step.
        direction: forward, forward+backward or step.
        algorithm: of the recurrence.
        device: where to run.
        dtype: float32 or float64.

    Returns:
        The call, and how long it took to lower and to compile, None where the framework does neither.
    """
    where, kind = resolve(device), dtype_of(dtype)
    wide = jnp.promote_types(kind, jnp.complex64)
    given = {k: asarray(v, dtype=kind, device=where) for k, v in params.items()}
    placed = {k: asarray(v, dtype=wide if np.iscomplexobj(v) else kind, device=where) for k, v in arrays.items()}

    def call(given: Any, placed: Any) -> Any:
        match direction:
            case "forward":
                return apply(spec, given, placed["u"], algorithm=algorithm)
            case "forward+backward":
                return vjp(spec, given, placed["u"], placed["w"], algorithm=algorithm)
            case _:
                return step(spec, given, placed["u"], placed["state"])

    start = time.perf_counter()
    lowered = jax.jit(call).lower(given, placed)
    lowered_at = time.perf_counter()
    compiled = lowered.compile()
    return Prepared(lambda: compiled(given, placed), lowered_at - start, time.perf_counter() - lowered_at)
