"""Arrays of a cell's framework on its device, and the framework's modules that only studies use."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from benchmark import backends
from benchmark.spec import LayerSpec
from benchmark.sweeps.cell import Cell

Array = np.ndarray


def module(cell: Cell, name: str) -> Any:
    """A module of the cell's framework by its name within the package."""
    return import_module(f"{backends.layers(cell.framework).__name__}.{name}")


def placed(cell: Cell, value: Any) -> Any:
    """An array of the framework on the device."""
    return module(cell, "array").asarray(value, device=backends.device(cell.framework).resolve(cell.device))


def placed_all(cell: Cell, values: Mapping[str, Any]) -> dict[str, Any]:
    """Named arrays of the framework on the device."""
    return {name: placed(cell, value) for name, value in values.items()}


def to_numpy(cell: Cell, value: Any) -> Array:
    """An array of the framework in the host's memory."""
    return np.asarray(backends.layers(cell.framework).to_numpy(value))


class Coefficients(NamedTuple):
    """Of a layer, as numpy's arrays: see ``layers_*.recurrence.Coefficients``."""

    lam: Array
    B: Array
    C: Array
    first_gain: Array | None


def coefficients(cell: Cell, spec: LayerSpec, params: Mapping[str, Any]) -> Coefficients:
    """The coefficients of a layer as the framework computes them."""
    c = backends.layers(cell.framework).coefficients(spec, placed_all(cell, params))
    first_gain = None if c.first_gain is None else to_numpy(cell, c.first_gain)
    lam, B, C = (to_numpy(cell, value) for value in (c.lam, c.B, c.C))
    return Coefficients(lam, B, C, first_gain)
