"""The gate before a measurement: the very call that is timed, at a small size, against the oracle."""

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.metrics.environment import versions
from benchmark.spec import LayerSpec, UserError, reference
from benchmark.spec.algorithms import CHUNK
from benchmark.spec.devices import PRECISIONS
from benchmark.sweeps.cell import Cell

LENGTH = CHUNK + 5
"""More than one chunk of every algorithm, and odd."""

SOURCES = (".py", ".cpp", ".hpp")

HALF_BOUNDS = {"bfloat16": 5e-2, "float16": 1e-2}

TOLERANCES = {
    ("float32", "fp32"): 1e-4,
    ("float32", "tf32"): 1e-2,
    ("float32", "bf16"): 1e-1,
    ("float64", "fp32"): 1e-9,
    **{(dtype, precision): bound for dtype, bound in HALF_BOUNDS.items() for precision in PRECISIONS},
}
"""Largest relative error that passes, by dtype and precision of matrix products."""


class GateError(UserError):
    """The layer does not compute what the papers say, so it is not timed."""


def passed(cell: Cell, algorithm: str) -> float:
    """The gate's error for a cell, kept from an earlier pass of the same code, versions and device where there is one.

    Raises:
        GateError: if the error is too large.
    """
    path = _cache_file(cell, algorithm)
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        error = measured(cell, algorithm)
    with contextlib.suppress(OSError):  # where nothing can be kept it is measured again
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = path.with_suffix(f".{os.getpid()}")
        staged.write_text(repr(error))
        staged.replace(path)
    return error


def measured(cell: Cell, algorithm: str) -> float:
    """The largest relative error of outputs, state or gradients of a small call in the cell's direction."""
    spec, params = cell.spec, cell.spec.init(cell.seed)
    exact = "float64" if cell.dtype == "float64" else "float32"
    typed = {name: value.astype(exact) for name, value in params.items()}
    arrays = inputs(spec, cell.direction or "forward", 1, LENGTH, cell.seed + 1, exact)
    device, layers = backends.device(cell.framework), backends.layers(cell.framework)
    call = device.prepare(
        spec,
        typed,
        arrays,
        direction=cell.direction or "forward",
        algorithm=algorithm,
        device=cell.device,
        dtype=cell.dtype,
        compiled=cell.compiled,
    )
    found = call.run()
    match cell.direction:
        case "step":
            error = _step_error(spec, typed, arrays, layers.to_numpy(found[0]))
        case "forward+backward":
            gradients = {name: layers.to_numpy(value) for name, value in {**found[1], "u": found[2]}.items()}
            error = _gradient_error(spec, typed, arrays, layers.to_numpy(found[0]), gradients)
        case _:
            error = reference.relative_error(layers.to_numpy(found), reference.apply(spec, typed, arrays["u"]))
    if not error <= TOLERANCES[cell.dtype, cell.precision]:
        raise GateError(
            f"gate: {cell.layer} ({algorithm}, {cell.direction}) in {cell.framework} differs from the oracle by "
            f"{error:.1e}, more than {TOLERANCES[cell.dtype, cell.precision]:g}; not measured"
        )
    return error


def inputs(
    spec: LayerSpec,
    direction: str,
    batch: int,
    seq_len: int,
    seed: int,
    dtype: str = "float32",
    subject: str = "layer",
) -> dict[str, np.ndarray]:
    """Random inputs: u, and w for forward+backward, or u of one step and a state; and what else a subject takes."""
    rng = np.random.default_rng(seed)
    kind = np.float64 if dtype == "float64" else np.float32
    if direction == "step":
        shape = (batch, *spec.state_shape)
        state = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
        wide = np.complex128 if dtype == "float64" else np.complex64
        return {"u": rng.standard_normal((batch, spec.d_model)).astype(kind), "state": state.astype(wide)}
    shape = (batch, seq_len, spec.d_model)
    P = 2 * spec.modes
    shapes: dict[str, tuple[int, ...]] = {"u": shape}
    if subject == "projections":
        shapes |= {"W_in": (spec.d_model, P), "W_out": (P, spec.d_model)}
    if subject == "scan":
        shapes["z"] = (batch, seq_len, P)
    if direction == "forward+backward":
        shapes["w"] = shapes["z"] if subject == "scan" else shape
    arrays: dict[str, np.ndarray] = {name: rng.standard_normal(wanted, dtype=kind) for name, wanted in shapes.items()}
    if subject == "scan":
        angles = rng.uniform(0, 2 * np.pi, spec.modes)
        arrays["lam"] = (0.99 * np.concatenate([np.cos(angles), np.sin(angles)])).astype(kind)
    return arrays


def _step_error(spec: LayerSpec, params: dict[str, np.ndarray], arrays: dict[str, Any], y: np.ndarray) -> float:
    expected = reference.apply(spec, params, arrays["u"][:, None], state=arrays["state"])[:, 0]
    return reference.relative_error(y, expected)


def _gradient_error(
    spec: LayerSpec, params: dict[str, np.ndarray], arrays: dict[str, Any], y: np.ndarray, gradients: dict[str, Any]
) -> float:
    """Of the outputs, and of the derivative along one random direction of inputs and all parameters at once."""
    rng = np.random.default_rng(0)
    u, w = (arrays[name].astype(np.float64) for name in ("u", "w"))
    start = {name: value.astype(np.float64) for name, value in params.items()}
    ways = {name: rng.standard_normal(np.shape(value)) for name, value in gradients.items()}

    def total(moved: np.ndarray) -> float:
        shifted = {name: value + float(moved) * ways[name] for name, value in start.items()}
        return float((w * reference.apply(spec, shifted, u + float(moved) * ways["u"])).sum())

    slope = reference.directional(total, np.zeros(()), np.ones(()), step=5e-4 / LENGTH)
    found = sum(float((gradients[name] * way).sum()) for name, way in ways.items())
    scale = float(np.sqrt(sum((gradients[name].astype(np.float64) ** 2).sum() for name in ways)))
    return max(reference.relative_error(y, reference.apply(spec, start, u)), abs(found - slope) / scale)


def _cache_file(cell: Cell, algorithm: str) -> Path:
    from platformdirs import user_cache_path

    key = {
        "layer": cell.layer,
        "sizes": [cell.d_model, cell.d_state],
        "options": cell.options,
        "seed": cell.seed,
        "call": [cell.framework, algorithm, cell.direction, cell.dtype, cell.precision, cell.compiled],
        "device": backends.device(cell.framework).describe(cell.device),
        "versions": versions(),
        "source": source_hash(cell.framework),
    }
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:24]
    return user_cache_path("rotbench") / "gate" / name


def source_hash(framework: str, *more: str) -> str:
    """Of every file that decides what a layer of this framework computes, and of ``more`` packages of benchmark."""
    digest = hashlib.sha256()
    for path in source_files(framework, *more):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def source_files(framework: str, *more: str) -> list[Path]:
    """What ``source_hash`` is the hash of."""
    root = Path(__file__).resolve().parents[2]
    folders = [f"layers_{framework}", *(f"benchmark/{name}" for name in ("spec", *more))]
    return sorted(path for folder in folders for path in (root / folder).iterdir() if path.suffix in SOURCES)
