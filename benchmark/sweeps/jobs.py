"""What a worker does for the cells that it measures. Runs in the worker; loads one framework."""

import resource
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.metrics.timing import Plan, measure
from benchmark.spec import LayerSpec, UserError, reference
from benchmark.sweeps.cell import Cell

Emit = Callable[..., None]

GATE_LENGTH = 9
GATE_TOLERANCE = {"float32": 1e-4, "float64": 1e-9}


def probe(payload: dict[str, Any], emit: Emit) -> dict[str, Any]:  # noqa: ARG001
    """Version and devices of a framework; with a device in the payload, its name or Unsupported."""
    device = backends.device(payload["framework"])
    wanted = payload.get("device", "cpu")
    return {"version": device.version(), "kinds": device.kinds(), "name": device.describe(wanted)}


def speed(payload: dict[str, Any], emit: Emit) -> dict[str, Any]:  # noqa: ARG001
    """Time one cell, after its gate: the columns of its row."""
    cell = Cell.model_validate(payload["cell"])
    device, spec = backends.device(cell.framework), cell.spec
    device.resolve(cell.device)
    device.set_threads(cell.threads)
    params = spec.init(cell.seed)
    algorithm = backends.layers(cell.framework).resolve_algorithm(spec, cell.algorithm, cell.device)
    error = gate(cell, spec, params)
    call = device.prepare(
        spec,
        params,
        inputs(cell, spec),
        direction=cell.direction,
        algorithm=algorithm,
        device=cell.device,
        dtype=cell.dtype,
    )
    timing = measure(call.run, device.synchronise, Plan(**payload.get("plan", {})))
    return {
        "algorithm": algorithm,
        "flops": sum(spec.flops(cell.seq_len or 1, cell.batch, algorithm, cell.direction or "forward").values()),
        "gate_error": error,
        "lower_s": call.lower_s,
        "compile_s": call.compile_s,
        "first_run_s": timing.first_run_s,
        "median_ms": timing.interval.median * 1e3,
        "ci_low_ms": timing.interval.low * 1e3,
        "ci_high_ms": timing.interval.high * 1e3,
        "samples_ms": [s * 1e3 for s in timing.samples_s],
        "stop_reason": timing.stop_reason,
        "peak_rss_bytes": peak_rss_bytes(),
        "notes": {"warmup_ms": [s * 1e3 for s in timing.warmup_s], "device_name": device.describe(cell.device)},
    }


def inputs(cell: Cell, spec: LayerSpec) -> dict[str, np.ndarray]:
    """Random inputs of the cell's sizes: u, and w or state where the direction asks for them."""
    rng = np.random.default_rng(cell.seed)
    if cell.direction == "step":
        shape = (cell.batch, *spec.state_shape)
        state = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
        return {"u": rng.standard_normal((cell.batch, spec.d_model)), "state": state}
    shape = (cell.batch, cell.seq_len or 1, spec.d_model)
    u = rng.standard_normal(shape, dtype=np.float32)
    if cell.direction == "forward":
        return {"u": u}
    return {"u": u, "w": rng.standard_normal(shape, dtype=np.float32)}


def gate(cell: Cell, spec: LayerSpec, params: dict[str, np.ndarray]) -> float:
    """The relative error of a small call against the oracle. Raises UserError if it is too large."""
    u = np.random.default_rng(cell.seed + 1).standard_normal((1, GATE_LENGTH, spec.d_model)).astype(cell.dtype)
    typed = {name: value.astype(cell.dtype) for name, value in params.items()}
    layers, device = backends.layers(cell.framework), backends.device(cell.framework)
    call = device.prepare(
        spec, typed, {"u": u}, direction="forward", algorithm=cell.algorithm, device=cell.device, dtype=cell.dtype
    )
    y, expected = layers.to_numpy(call.run()), reference.apply(spec, params, u)
    error = float(np.linalg.norm(y - expected) / np.linalg.norm(expected))
    if not error <= GATE_TOLERANCE[cell.dtype]:
        raise UserError(
            f"gate: {cell.layer} in {cell.framework} differs from the oracle by {error:.1e}"
            f", more than {GATE_TOLERANCE[cell.dtype]:g}; not timed"
        )
    return error


def peak_rss_bytes() -> int:
    """The largest resident size that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
