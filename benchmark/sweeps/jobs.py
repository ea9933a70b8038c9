"""What a worker does for a cell. Runs in the worker; loads one framework."""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.metrics import machine, memory
from benchmark.metrics.energy import EnergyMeter
from benchmark.metrics.nvml import nvml_of
from benchmark.metrics.statistics import outliers
from benchmark.metrics.timing import Plan, measure
from benchmark.spec import UserError
from benchmark.spec.devices import HALVES, item_bytes, parse_device
from benchmark.sweeps import gate
from benchmark.sweeps.cell import Cell

Emit = Callable[..., None]
Result = dict[str, Any]


CEILING_SIZES = {
    "cpu": {"product": 2048, "copy": 256 << 20},
    "cuda": {"product": 8192, "copy": 1 << 30},
}
"""By kind of device: rows of a matrix whose product shows the peak, bytes of a copy that no cache holds."""


PROJECTIONS = ("read-in", "read-out", "read-in, backward", "read-out, backward")
"""Terms of a shared recurrence's FLOPs that its projections alone have too."""


def probe(payload: Result, emit: Emit) -> Result:  # noqa: ARG001
    """Version and devices of a framework; with a device in the payload, its name or Unsupported."""
    device = backends.device(payload["framework"])
    wanted = payload.get("device", "cpu")
    found = {"version": device.version(), "kinds": device.kinds(), "name": device.describe(wanted)}
    return found | ({"fused": device.compiled_recurrence()} if payload.get("build") else {})


def resolve(payload: Result, emit: Emit) -> Result:  # noqa: ARG001
    """The algorithm that each cell's ``auto`` stands for here."""
    cells = [Cell.model_validate(values) for values in payload["cells"]]
    return {cell.id: _algorithm(cell) for cell in cells}


def speed(payload: Result, emit: Emit) -> Result:  # noqa: ARG001
    """Time one cell, after its gate: what one process has found of its row."""
    cell = Cell.model_validate(payload["cell"])
    device, algorithm, error, found = _opened(cell)
    call, memory_found = _first_run(cell, device, algorithm)
    check_synchroniser(device, call)
    nvml = nvml_of(cell.device)
    before = machine.state(nvml)
    flush = device.cache_flusher(cell.device) if cell.cache == "cold" else lambda: None
    plan = Plan(**payload.get("plan", {}), inner=0 if cell.mode == "throughput" else 1)
    with EnergyMeter(nvml) as meter:
        timing = measure(call.run, device.synchronise, plan, events=device.device_events(cell.device), before=flush)
    after = machine.state(nvml)
    return (
        found
        | memory_found
        | {
            "gate_error": error,
            "compile_s": call.compile_s,
            "samples_ms": [s * 1e3 for s in timing.samples_s],
            "detail": found["detail"]
            | memory_found["detail"]
            | {
                "lower_s": call.lower_s,
                "stop_reason": timing.stop_reason,
                "inner": timing.inner,
                "warmup_ms": [s * 1e3 for s in (timing.first_run_s, *timing.warmup_s)],
                "device_ms": [s * 1e3 for s in timing.device_s] or None,
                "outliers": outliers(timing.samples_s),
                "interval_ms": [timing.interval.low * 1e3, timing.interval.high * 1e3],
                "energy_sampled_j": meter.result.joules,
                "energy_how": meter.result.how,
                "state_before": before,
                "state_after": after,
                "warnings": machine.warnings(before, after, os.cpu_count() or 1) + _launch_bound(timing),
            },
        }
    )


def count(payload: Result, emit: Emit) -> Result:  # noqa: ARG001
    """What the framework's own FLOP counter says of one call of a cell."""
    cell = Cell.model_validate(payload["cell"])
    device = backends.device(cell.framework)
    device.set_threads(cell.threads)
    call, _ = _first_run(cell, device, cell.algorithm)
    found: Result = device.counted_flops(call)
    return found


def memory_use(payload: Result, emit: Emit) -> Result:  # noqa: ARG001
    """What one call of a cell holds at its peak, in a fresh process and without timing."""
    cell = Cell.model_validate(payload["cell"])
    device, algorithm, error, found = _opened(cell)
    call, memory_found = _first_run(cell, device, algorithm)
    detail = found["detail"] | memory_found["detail"]
    return found | memory_found | {"gate_error": error, "compile_s": call.compile_s, "detail": detail}


def _opened(cell: Cell) -> tuple[Any, str, float | None, Result]:
    """The device's module set up for the cell, the algorithm, the gate's error, and the row so far."""
    device = backends.device(cell.framework)
    device.resolve(cell.device)
    device.set_threads(cell.threads)
    device.set_precision(cell.precision, cell.device)
    algorithm = _algorithm(cell)
    error = gate.passed(cell, algorithm) if cell.subject == "layer" else None
    call = cell.seq_len or 1, cell.batch, cell.direction or "forward"
    traffic = cell.spec.traffic_bytes(*call, item_bytes(cell.dtype))
    nvml = nvml_of(cell.device)
    detail = {
        "device_name": device.describe(cell.device),
        "gpu": nvml.description() if nvml else None,
        "source_hash": gate.source_hash(cell.framework),
        "precision": precision_of(cell),
        "traffic_bytes": sum(traffic.values()),
    }
    found = {"algorithm_run": algorithm, "flops": _flops(cell, algorithm), "detail": detail}
    return device, algorithm, error, found


def _flops(cell: Cell, algorithm: str) -> int | None:
    """Analytic FLOPs of a call, None of a subject that has no formula. Projections are the same in every algorithm."""
    sizes, direction = (cell.seq_len or 1, cell.batch), cell.direction or "forward"
    match cell.subject:
        case "layer":
            return sum(cell.spec.flops(*sizes, algorithm, direction).values())
        case "projections":
            terms = cell.spec.flops(*sizes, "sequential", direction)
            return sum(terms.get(name, 0) for name in PROJECTIONS)
    return None


def precision_of(cell: Cell) -> str:
    """What runs in which precision."""
    if cell.dtype in HALVES:
        return f"inputs, outputs and projections in {cell.dtype}; coefficients and recurrence in float32"
    return f"matrix products of {cell.dtype} at least in {cell.precision}, all else in {cell.dtype}"


def _algorithm(cell: Cell) -> str:
    if cell.direction == "step":
        return "auto"
    if cell.subject not in {"layer", "scan"}:
        return cell.algorithm
    device = backends.device(cell.framework)
    found: str = device.resolve_call(cell.spec, cell.algorithm, cell.device, cell.compiled, cell.seq_len)
    return found


def _first_run(cell: Cell, device: Any, algorithm: str) -> tuple[Any, Result]:
    """The call, ready to run, and the memory that its first run takes."""
    spec = cell.spec
    sizes = cell.direction or "forward", cell.batch, cell.seq_len or 1
    arrays = gate.inputs(spec, *sizes, cell.seed, cell.dtype, cell.subject)
    call = device.prepare(
        spec,
        spec.init(cell.seed),
        arrays,
        direction=cell.direction,
        algorithm=algorithm,
        device=cell.device,
        dtype=cell.dtype,
        compiled=cell.compiled,
        subject=cell.subject,
    )
    del arrays
    before, reset = memory.rss_bytes(), memory.reset_rss_peak()
    device.reset_memory(cell.device)
    start = time.perf_counter()
    device.synchronise(call.run())
    first_run_s = time.perf_counter() - start
    peak, nvml = memory.rss_peak_bytes(), nvml_of(cell.device)
    found = {name: value for name, value in call.analysis.items() if name == "xla_temp_bytes"}
    allocator = device.memory(cell.device)
    whys = {name: text for name, text in allocator.items() if not name.endswith("_bytes")}
    if nvml is None:
        whys["nvml"] = "no GPU works here"
    elif nvml.reason:
        whys["nvml"] = nvml.reason
    return call, found | {n: v for n, v in allocator.items() if n.endswith("_bytes")} | {
        "rss_peak_bytes": peak,
        "rss_delta_bytes": peak - before if before is not None and reset else None,
        "nvml_process_bytes": nvml.process_bytes() if nvml else None,
        "detail": {
            "first_run_s": first_run_s,
            "rss_before_bytes": before,
            "xla": {n: v for n, v in call.analysis.items() if n.startswith("xla")},
            "memory_unknown": whys,
        },
    }


def check_synchroniser(device: Any, call: Any) -> None:
    """Raise UserError if a result is not there after it has been waited for: then no time would be true."""
    output = call.run()
    device.synchronise(output)
    if not device.is_ready(output):
        raise UserError("self-check: the result was not there after the wait for it, so no time can be trusted")


def _launch_bound(timing: Any) -> list[str]:
    """A warning where the device was busy for less than a third of the time that the host took."""
    if timing.device_s and np.median(timing.device_s) < np.median(timing.samples_s) / 3:
        return ["launch-bound: the device worked for less than a third of the time; the rest is the host's"]
    return []


def roofline(payload: Result, emit: Emit) -> Result:  # noqa: ARG001
    """The machine's ceilings in one framework: FLOP/s of a square matrix product, bytes/s of a copy."""
    cell = Cell.model_validate(payload["cell"])
    device = backends.device(cell.framework)
    device.resolve(cell.device)
    device.set_threads(cell.threads)
    device.set_precision(cell.precision, cell.device)
    plan = Plan(**payload.get("plan", {}))
    events = device.device_events(cell.device)
    sizes, found = CEILING_SIZES[parse_device(cell.device)[0]], {}
    for name, size in sizes.items():
        run = device.ceiling(name, size, cell.device, cell.dtype)
        timing = measure(run, device.synchronise, plan, events=events)
        best = min(timing.device_s or timing.samples_s)
        found[name] = (2 * size**3 if name == "product" else 2 * size) / best
    return {
        "detail": {
            "flops_per_s": found["product"],
            "bytes_per_s": found["copy"],
            **{f"{name}_size": size for name, size in sizes.items()},
            "device_name": device.describe(cell.device),
        }
    }
