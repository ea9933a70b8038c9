"""A cell: everything that decides one measurement, as data."""

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from benchmark.spec import LAYERS, LayerSpec, UserError, unknown
from benchmark.spec.algorithms import algorithms_of, check_algorithm

Value = bool | int | float | str
Metric = Literal["speed", "train"]


class Recipe(BaseModel):
    """How a model is trained. Rates are the peaks of a schedule that warms up, then follows a cosine to zero."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epochs: int
    batch: int
    depth: int
    lr: float
    recurrence_lr: float
    weight_decay: float
    dropout: float
    warmup: float
    norm: Literal["batch", "layer"]
    activation: Literal["gelu", "half_glu1", "half_glu2", "full_glu"]


class Cell(BaseModel):
    """One measurement. Its id is a hash of its canonical JSON, so equal cells are the same cell.

    ``options`` holds the layer's fields beyond d_model and d_state, all of them, so that the id
    does not hang on defaults. Fields of the other metric are None and leave no trace in the id.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: Metric
    layer: str
    framework: str
    d_model: int
    d_state: int
    options: dict[str, Value]
    algorithm: str = "auto"
    dtype: Literal["float32", "float64"] = "float32"
    device: str = "cpu"
    threads: int
    seed: int = 0
    batch: int
    seq_len: int | None = None
    direction: Literal["forward", "forward+backward", "step"] | None = None
    task: str | None = None
    recipe: Recipe | None = None

    @property
    def canonical_json(self) -> str:
        """The same text for equal cells, on every machine."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), sort_keys=True, separators=(",", ":"))

    @property
    def id(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the canonical JSON."""
        return hashlib.sha256(self.canonical_json.encode()).hexdigest()[:16]

    @property
    def spec(self) -> LayerSpec:
        """The layer that the cell is about."""
        return LAYERS[self.layer](d_model=self.d_model, d_state=self.d_state, **self.options)  # type: ignore[arg-type]


def layer_spec(layer: str, d_model: int, d_state: int, options: dict[str, Value]) -> LayerSpec:
    """The validated spec of a layer by name.

    Raises:
        UserError: for an unknown layer or option, or sizes that do not fit.
    """
    if layer not in LAYERS:
        raise unknown("layer", layer, LAYERS)
    known = LAYERS[layer].option_names()
    for name in options:
        if name not in known:
            raise unknown(f"{layer} option", name, known)
    fields: dict[str, Any] = {"d_model": d_model, "d_state": d_state} | options
    return LAYERS[layer](**fields)


def checked_algorithm(spec: LayerSpec, algorithm: str) -> str:
    """``algorithm``, if it serves the layer. Raises UserError otherwise."""
    check_algorithm(algorithm, algorithms_of(spec), spec.name)
    return algorithm


def positive(name: str, value: int) -> int:
    """``value``, if it is at least 1. Raises UserError otherwise."""
    if value < 1:
        raise UserError(f"{name} must be a positive integer, got {value}")
    return value
