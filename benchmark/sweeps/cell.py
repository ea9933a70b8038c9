"""A cell: everything that decides one measurement, as data.

The model is the configuration of a measurement, its identity, the message to its worker and, by
inheritance, the first columns of its row (``benchmark.store.row``).
"""

import hashlib
import json
from dataclasses import fields
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from benchmark.spec import LAYERS, LayerSpec, unknown
from benchmark.sweeps.recipe import Recipe, Value

Metric = Literal["speed", "memory", "train", "train-step", "roofline", "study"]
Direction = Literal["forward", "forward+backward", "step"]
Dtype = Literal["float32", "float64", "bfloat16", "float16"]
Compiled = Literal["default", "eager", "compiled"]
Precision = Literal["fp32", "tf32", "bf16"]
Cache = Literal["hot", "cold"]
Mode = Literal["latency", "throughput"]
Subject = Literal["layer", "projections", "scan", "published", "s5-pytorch", "lru-pytorch", "accelerated-scan"]


class Cell(BaseModel):
    """One measurement. Its id is a hash of its canonical JSON, so equal cells are the same cell.

    A field that has its default, or is None, leaves no trace in the id, nor does a layer option:
    so an axis or option that is added later changes no old id, and no default ever changes its
    meaning. ``options`` holds all of the layer's fields beyond d_model and d_state.

    ``compiled``: default is torch eager and jax compiled. ``precision`` of float32 matrix
    products: fp32 (nothing less), tf32, bf16. ``mode``: latency waits for each call, throughput
    once for many. ``subject``: the layer itself, or at its sizes its two projections alone, its bare
    scan, in jax the published form, in torch a public implementation. ``replicate`` tells
    repetitions of one cell apart, for A/A comparisons.
    Of metric study ``task`` names the study and what it looks at (``benchmark.studies.names``).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: Metric
    layer: str
    framework: str
    d_model: int
    d_state: int
    options: dict[str, Value]
    algorithm: str = "auto"
    seq_len: int | None = None
    batch: int
    direction: Direction | None = None
    dtype: Dtype = "float32"
    device: str = "cpu"
    compiled: Compiled = "default"
    precision: Precision = "fp32"
    threads: int
    cache: Cache = "hot"
    mode: Mode = "latency"
    subject: Subject = "layer"
    seed: int = 0
    replicate: int = 0
    task: str | None = None
    recipe: Recipe | None = None

    @property
    def canonical_json(self) -> str:
        """The same text for equal cells, on every machine."""
        values = self.cell_values(exclude_defaults=True)
        defaults = {field.name: field.default for field in fields(LAYERS[self.layer])}
        values["options"] = {name: value for name, value in self.options.items() if value != defaults.get(name)}
        return json.dumps(values, sort_keys=True, separators=(",", ":"))

    @property
    def id(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the canonical JSON."""
        return hashlib.sha256(self.canonical_json.encode()).hexdigest()[:16]

    @property
    def spec(self) -> LayerSpec:
        """The layer that the cell is about."""
        return layer_spec(self.layer, self.d_model, self.d_state, self.options)

    @property
    def tokens(self) -> int:
        """Steps of all sequences in one call."""
        return self.batch * (1 if self.direction == "step" else self.seq_len or 1)

    def cell_values(self, exclude_defaults: bool = False) -> dict[str, Any]:
        """The fields of the cell alone, as JSON values; a subclass has more."""
        names = set(Cell.model_fields)
        return self.model_dump(mode="json", include=names, exclude_defaults=exclude_defaults, exclude_none=True)


__all__ = ["Cell", "Recipe", "Value", "layer_spec"]


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
    values: dict[str, Any] = {"d_model": d_model, "d_state": d_state} | options
    return LAYERS[layer](**values)
