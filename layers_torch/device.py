"""Devices of this framework: which there are, their clocks and memory, and one prepared call to time."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmark.spec import LayerSpec, Unsupported
from benchmark.spec.devices import check_precision, parse_device
from layers_torch import native, peers
from layers_torch.array import asarray, dtype_of
from layers_torch.recurrence import coefficients, resolve_algorithm
from layers_torch.subjects import function_of

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


class _Events:
    """The device's own clock around a span of its work, for devices that have one."""

    def __init__(self, device: torch.device) -> None:
        """Two marks in the device's order of work."""
        self.device = device
        self.first, self.last = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def start(self) -> None:
        """Mark the beginning."""
        self.first.record(torch.cuda.current_stream(self.device))

    def stop(self) -> None:
        """Mark the end."""
        self.last.record(torch.cuda.current_stream(self.device))

    def seconds(self) -> float:
        """Between the marks, once the work has been waited for."""
        return self.first.elapsed_time(self.last) / 1000


def version() -> str:
    """The framework's version."""
    return str(torch.__version__)


def kinds() -> list[str]:
    """The kinds of device that can run here: cpu, and cuda where there is one."""
    return ["cpu", "cuda"] if torch.cuda.is_available() and torch.version.cuda else ["cpu"]


def resolve(device: str) -> torch.device:
    """The device of that name, such as cpu, cuda or cuda:1.

    Raises:
        UserError: for a name that is none.
        Unsupported: for a device that is not here.
    """
    kind, index = parse_device(device)
    if kind not in kinds():
        raise Unsupported(f"torch {version()} sees no CUDA device here; available: {', '.join(kinds())}")
    if index >= count(kind):
        raise Unsupported(f"torch sees {count(kind)} {kind} device(s), so there is no {device!r}")
    return torch.device(kind, index)


def count(kind: str) -> int:
    """How many devices of a kind there are."""
    return torch.cuda.device_count() if kind == "cuda" else 1


def describe(device: str) -> str:
    """The device's own name, such as NVIDIA H200."""
    found = resolve(device)
    return torch.cuda.get_device_name(found) if found.type == "cuda" else "cpu"


def compiled_recurrence() -> str:
    """Whether algorithm fused is here, or why it is not; builds it on the way."""
    return native.state()


def set_threads(threads: int) -> None:
    """How many threads a call may use on the CPU."""
    torch.set_num_threads(threads)


def set_precision(precision: str, device: str) -> None:
    """The least precision in which float32 matrices may be multiplied: fp32, tf32 or bf16.

    Raises:
        Unsupported: where the device has no such format.
    """
    check_precision(precision, device)
    torch.set_float32_matmul_precision({"fp32": "highest", "tf32": "high", "bf16": "medium"}[precision])
    torch.backends.cudnn.allow_tf32 = precision != "fp32"


def synchronise(outputs: Any) -> None:
    """Wait until every array in ``outputs`` has its value; other leaves are passed over."""
    for device in {leaf.device for leaf in leaves(outputs) if leaf.device.type == "cuda"}:
        torch.cuda.synchronize(device)


def is_ready(outputs: Any) -> bool:
    """Whether every array in ``outputs`` has its value now, without waiting."""
    devices = {leaf.device for leaf in leaves(outputs) if leaf.device.type == "cuda"}
    return all(torch.cuda.current_stream(device).query() for device in devices)


def leaves(outputs: Any) -> list[torch.Tensor]:
    """The arrays in a tree of dicts, lists and tuples."""
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    if isinstance(outputs, list | tuple):
        return [leaf for output in outputs for leaf in leaves(output)]
    return []


def device_events(device: str) -> _Events | None:
    """The device's clock, None where the host's is all there is."""
    found = resolve(device)
    return _Events(found) if found.type == "cuda" else None


def cache_flusher(device: str) -> Callable[[], None]:
    """A call that leaves nothing of earlier work in the device's caches, and has finished when it returns."""
    buffer = torch.zeros(FLUSH_BYTES // 4, dtype=torch.int32, device=resolve(device))

    def flush() -> None:
        buffer.add_(1)
        synchronise(buffer)

    return flush


def reset_memory(device: str) -> None:
    """Let the allocator's peak start anew."""
    found = resolve(device)
    if found.type == "cuda":
        torch.cuda.reset_peak_memory_stats(found)


def memory(device: str) -> dict[str, Any]:
    """Peaks of the device's allocator in bytes, or under ``allocator`` why they are not known."""
    found = resolve(device)
    if found.type != "cuda":
        return {"allocator": "torch's CPU allocator keeps no count"}
    return {
        "allocator_peak_bytes": torch.cuda.max_memory_allocated(found),
        "allocator_reserved_bytes": torch.cuda.max_memory_reserved(found),
    }


def resolve_call(spec: LayerSpec, algorithm: str, device: str, compiled: str, seq_len: int | None = None) -> str:
    """The algorithm that a call of the layer runs on the device, eager or compiled, where ``auto`` is asked for."""
    kind, _ = parse_device(device)
    if compiled == "compiled" and algorithm == "auto":  # torch.compile cannot look into compiled code
        return "fft" if spec.per_channel else "chunked" if kind == "cpu" else "associative"
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
    wide = torch.promote_types(kind, torch.complex64)
    full = torch.promote_types(kind, torch.float32)
    given = {k: asarray(v, dtype=full, device=where) for k, v in params.items()}
    fixed = coefficients(spec, given) if direction == "step" else given  # while decoding, parameters stay as they are
    placed = {k: asarray(v, dtype=wide if np.iscomplexobj(v) else kind, device=where) for k, v in arrays.items()}

    function = (
        peers.function_of(subject, spec.d_model, spec.modes, direction)
        if subject in peers.NEEDS
        else function_of(subject, spec, direction, algorithm)
    )

    def call() -> Any:
        with torch.no_grad():  # who wants gradients says so
            return function(fixed, placed)

    if compiled != "compiled":
        return Prepared(call, None, None, {})
    start = time.perf_counter()
    if direction == "step" and where.type == "cuda":
        with torch.cuda.device(where):
            graph = _graph(call)
        return Prepared(graph, None, time.perf_counter() - start, {})
    fast = torch.compile(call)
    synchronise(fast())
    return Prepared(fast, None, time.perf_counter() - start, {})


def _graph(call: Callable[[], Any]) -> Callable[[], Any]:
    """A step's many small kernels as one CUDA graph, which reads the same inputs and writes the same outputs again."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # capture wants everything initialised, and by another stream
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = call()

    def replay() -> Any:
        graph.replay()
        return outputs

    return replay


def counted_flops(prepared: Prepared) -> dict[str, Any]:
    """What the framework's own counter says of the call: ``counter_flops``, or under ``counter`` why it fails."""
    try:
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False) as counter:
            prepared.run()
        return {"counter_flops": int(counter.get_total_flops())}
    except Exception as error:
        return {"counter": f"torch's FlopCounterMode fails: {type(error).__name__}"}


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
        a = torch.ones(size, size, dtype=kind, device=where)
        return lambda: a @ a
    x = torch.ones(size // kind.itemsize, dtype=kind, device=where)
    y = torch.empty_like(x)
    return lambda: y.copy_(x)
