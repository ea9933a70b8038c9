"""Devices of this framework: which there are, their clocks and memory, and one prepared call to time."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmark.spec import LayerSpec, Unsupported
from benchmark.spec.devices import check_precision, parse_device
from layers_jax import native, peers
from layers_jax.array import asarray, dtype_of
from layers_jax.recurrence import coefficients, resolve_algorithm
from layers_jax.subjects import function_of

FLUSH_BYTES = 256 << 20


class Prepared(NamedTuple):
    """A call that is ready to be timed: compiled where that was asked for, inputs on the device.

    ``analysis`` is what the framework says of the compiled call: bytes and counted FLOPs by name, or
    under ``counter`` why it says nothing.
    """

    run: Callable[[], Any]
    lower_s: float | None
    compile_s: float | None
    analysis: dict[str, Any]


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


def compiled_recurrence() -> str:
    """Whether algorithm fused is here, or why it is not; builds it on the way."""
    return native.state()


def set_threads(threads: int) -> None:
    """How many threads a call may use on the CPU."""
    # XLA sizes its pool by the processors that the process may use when it starts, so the worker
    # limits those before it imports jax; nothing is left to set.


def set_precision(precision: str, device: str) -> None:
    """The least precision in which float32 matrices may be multiplied: fp32, tf32 or bf16.

    Raises:
        Unsupported: where the device has no such format.
    """
    check_precision(precision, device)
    name = {"fp32": "highest", "tf32": "tensorfloat32", "bf16": "bfloat16"}[precision]
    jax.config.update("jax_default_matmul_precision", name)


def synchronise(outputs: Any) -> None:
    """Wait until every array in ``outputs`` has its value; other leaves are passed over."""
    jax.block_until_ready(leaves(outputs))


def is_ready(outputs: Any) -> bool:
    """Whether every array in ``outputs`` has its value now, without waiting."""
    return all(leaf.is_ready() for leaf in leaves(outputs))  # type: ignore[attr-defined]


def leaves(outputs: Any) -> list[jax.Array]:
    """The arrays in a tree of dicts, lists and tuples."""
    return [leaf for leaf in jax.tree.leaves(outputs) if isinstance(leaf, jax.Array)]


def device_events(device: str) -> None:
    """The device's clock, None where the host's is all there is."""
    resolve(device)  # jax shows none of the device's clocks


def cache_flusher(device: str) -> Callable[[], None]:
    """A call that leaves nothing of earlier work in the device's caches, and has finished when it returns."""
    buffer = jnp.zeros(FLUSH_BYTES // 4, jnp.int32, device=resolve(device))
    add = jax.jit(lambda x: x + 1, donate_argnums=0)

    def flush() -> None:
        nonlocal buffer
        buffer = add(buffer)
        synchronise(buffer)

    return flush


def reset_memory(device: str) -> None:
    """Let the allocator's peak start anew."""
    resolve(device)  # jax's allocators only ever raise theirs; a fresh process is what starts it anew


def memory(device: str) -> dict[str, Any]:
    """Peaks of the device's allocator in bytes, or under ``allocator`` why they are not known."""
    stats = resolve(device).memory_stats()
    if not stats or "peak_bytes_in_use" not in stats:
        return {"allocator": "jax's CPU allocator keeps no count"}
    found = {"allocator_peak_bytes": stats["peak_bytes_in_use"]}
    reserved = stats.get("peak_pool_bytes", stats.get("pool_bytes"))
    return found if reserved is None else found | {"allocator_reserved_bytes": reserved}


def resolve_call(spec: LayerSpec, algorithm: str, device: str, compiled: str, seq_len: int | None = None) -> str:  # noqa: ARG001
    """The algorithm that a call of the layer runs on the device, eager or compiled, where ``auto`` is asked for."""
    kind, _ = parse_device(device)
    return resolve_algorithm(spec, algorithm, kind, seq_len)


def prepare(
    spec: LayerSpec,
    params: dict[str, np.ndarray],
    arrays: dict[str, np.ndarray],
    *,
    direction: str,
    algorithm: str,
    device: str,
    dtype: str,
    compiled: str = "default",
    subject: str = "layer",
) -> Prepared:
    """A call of the layer, or of what stands beside it, ready to be timed.

    Args:
        spec: which layer, and its sizes.
        params: its parameters.
        arrays: u, and w for forward+backward or state for step; of other subjects see subjects.py.
        direction: forward, forward+backward or step.
        algorithm: of the recurrence.
        device: where to run.
        dtype: float32, float64, bfloat16 or float16.
        compiled: default, eager or compiled; default is eager in torch and compiled in jax.
        subject: layer, projections, scan, in jax published, or in torch the name of a public implementation.

    Returns:
        The call, and how long it took to lower and to compile, None where it was not.
    """
    where, kind = resolve(device), dtype_of(dtype)
    wide = jnp.promote_types(kind, jnp.complex64)
    full = jnp.promote_types(kind, jnp.float32)
    given = {k: asarray(v, dtype=full, device=where) for k, v in params.items()}
    fixed = coefficients(spec, given) if direction == "step" else given  # while decoding, parameters stay as they are
    placed = {k: asarray(v, dtype=wide if np.iscomplexobj(v) else kind, device=where) for k, v in arrays.items()}

    published = subject == peers.PUBLISHED
    call = peers.function_of(spec, direction) if published else function_of(subject, spec, direction, algorithm)

    if compiled == "eager":
        return Prepared(lambda: call(fixed, placed), None, None, {"counter": "jax counts compiled calls only"})
    start = time.perf_counter()
    lowered = jax.jit(call).lower(fixed, placed)
    lowered_at = time.perf_counter()
    fast = lowered.compile()
    return Prepared(lambda: fast(fixed, placed), lowered_at - start, time.perf_counter() - lowered_at, _analysis(fast))


def _analysis(fast: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    try:
        sizes = fast.memory_analysis()
        found |= {
            "xla_temp_bytes": int(sizes.temp_size_in_bytes),
            "xla_argument_bytes": int(sizes.argument_size_in_bytes),
            "xla_output_bytes": int(sizes.output_size_in_bytes),
        }
    except Exception as error:
        found["memory_analysis"] = f"XLA's memory_analysis fails: {type(error).__name__}"
    try:
        costs = fast.cost_analysis()
        costs = costs[0] if isinstance(costs, list) else costs
        flops = float(costs["flops"])
        found |= {"counter_flops": int(flops)} if flops >= 0 else {"counter": f"XLA's cost_analysis says {flops:g}"}
    except Exception as error:
        found["counter"] = f"XLA's cost_analysis fails: {type(error).__name__}"
    return found


def counted_flops(prepared: Prepared) -> dict[str, Any]:
    """What the framework's own counter says of the call: ``counter_flops``, or under ``counter`` why it fails."""
    return {name: value for name, value in prepared.analysis.items() if name.startswith("counter")}


def ceiling(name: str, size: int, device: str, dtype: str) -> Callable[[], Any]:
    """A call that shows what the device can do at most.

    Args:
        name: product, of two square matrices of ``size`` rows, or copy, of ``size`` bytes.
        size: see name.
        device: where to run.
        dtype: of the numbers.
    """
    where, kind = resolve(device), dtype_of(dtype)
    if name == "product":
        a = jnp.ones((size, size), kind, device=where)
        multiply = jax.jit(lambda x: x @ x)
        return lambda: multiply(a)
    x = jnp.ones(size // kind.itemsize, kind, device=where)
    y = jnp.empty_like(x, device=where)
    fill = jax.jit(lambda y, x: y.at[:].set(x), donate_argnums=0)

    def copy() -> jax.Array:
        nonlocal y
        y = fill(y, x)  # into y's own memory: fresh pages would cost more than the copy
        return y

    return copy
