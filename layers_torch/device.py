"""Devices of this framework: which there are, waiting for them, and one prepared call to time."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmark.spec import LayerSpec, Unsupported
from benchmark.spec.devices import parse_device
from layers_torch.array import asarray, dtype_of
from layers_torch.recurrence import apply, step, vjp


class Prepared(NamedTuple):
    """A call that is ready to be timed: compiled where the framework compiles, inputs on the device."""

    run: Callable[[], Any]
    lower_s: float | None
    compile_s: float | None


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


def set_threads(threads: int) -> None:
    """How many threads a call may use on the CPU."""
    torch.set_num_threads(threads)


def synchronise(outputs: Any) -> None:
    """Wait until every array in ``outputs`` has its value; other leaves are passed over."""
    if isinstance(outputs, torch.Tensor):
        if outputs.device.type == "cuda":
            torch.cuda.synchronize(outputs.device)
    elif isinstance(outputs, dict):
        synchronise(list(outputs.values()))
    elif isinstance(outputs, list | tuple):
        for output in outputs:
            synchronise(output)


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
    wide = torch.promote_types(kind, torch.complex64)
    given = {k: asarray(v, dtype=kind, device=where) for k, v in params.items()}
    placed = {k: asarray(v, dtype=wide if np.iscomplexobj(v) else kind, device=where) for k, v in arrays.items()}

    def run() -> Any:
        match direction:
            case "forward":
                with torch.no_grad():
                    return apply(spec, given, placed["u"], algorithm=algorithm)
            case "forward+backward":
                return vjp(spec, given, placed["u"], placed["w"], algorithm=algorithm)
            case _:
                with torch.no_grad():
                    return step(spec, given, placed["u"], placed["state"])

    return Prepared(run, None, None)
