"""The one record of a finished cell, and the Arrow schema made from it."""

import json
from datetime import UTC, datetime
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import AwareDatetime, ConfigDict, Field

from benchmark.sweeps.cell import Cell, Recipe
from benchmark.sweeps.outcome import Status

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 2


class Row(Cell):
    """A cell and what was found. A null is unknown or does not apply, and is never 0; ``detail`` says why.

    Units are in the names. ``detail`` holds what has no column of its own: first runs and warm-up,
    counters, clocks, notes, the history of a training.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = SCHEMA_VERSION
    cell_id: str
    created_at: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    status: Status
    reason: str | None = None
    algorithm_run: str | None = None

    layer_param_count: int | None = None
    model_param_count: int | None = None
    real_state_size: int | None = None
    flops: int | None = None

    gate_error: float | None = None
    median_ms: float | None = None
    ci_low_ms: float | None = None
    ci_high_ms: float | None = None
    process_medians_ms: list[float] | None = None
    samples_ms: list[float] | None = None
    compile_s: float | None = None

    rss_peak_bytes: int | None = None
    rss_delta_bytes: int | None = None
    allocator_peak_bytes: int | None = None
    allocator_reserved_bytes: int | None = None
    xla_temp_bytes: int | None = None
    nvml_process_bytes: int | None = None
    energy_j: float | None = None

    test_accuracy: float | None = None
    device_hours: float | None = None

    detail: dict[str, Any] = Field(default_factory=dict)
    environment: dict[str, Any] = Field(default_factory=dict)

    @property
    def cell(self) -> Cell:
        """The cell alone."""
        return Cell.model_validate(self.cell_values())

    @property
    def tokens_per_s(self) -> float | None:
        """Steps of all sequences that one second gets through, at the median."""
        return self.tokens / (self.median_ms / 1000) if self.median_ms else None

    @property
    def train_wall_s(self) -> float | None:
        """Seconds of a training, on one device."""
        return self.device_hours * 3600 if self.device_hours is not None else None

    @property
    def flops_per_s(self) -> float | None:
        """Analytic FLOPs over the median time."""
        return self.flops / (self.median_ms / 1000) if self.median_ms and self.flops else None

    def arrow_values(self) -> dict[str, Any]:
        """The values as the Arrow schema has them: dicts and the recipe become JSON text."""
        return {
            name: json.dumps(value, sort_keys=True, allow_nan=False) if isinstance(value, dict) else value
            for name, value in self.model_dump().items()
        }

    @classmethod
    def from_arrow(cls, values: dict[str, Any]) -> "Row":
        """The inverse of ``arrow_values``, for this schema version and older ones; later columns are passed over."""
        present = {name: value for name, value in values.items() if value is not None}
        for name in (*json_columns(), *V1_JSON):
            if isinstance(present.get(name), str):
                present[name] = json.loads(present[name])
        if present.get("schema_version", SCHEMA_VERSION) < SCHEMA_VERSION:
            present = upgraded(present)
        return cls(**{name: value for name, value in present.items() if name in cls.model_fields})


V1_JSON = ("notes", "history")
V1_DETAIL = ("traffic_bytes", "lower_s", "first_run_s", "stop_reason", "validation_accuracy", "notes", "history")


def upgraded(values: dict[str, Any]) -> dict[str, Any]:
    """A row of schema version 1 in the names of version 2: what lost its column is in ``detail``."""
    values = dict(values) | {"schema_version": SCHEMA_VERSION, "algorithm_run": values.get("algorithm")}
    values["detail"] = {name: values.pop(name) for name in V1_DETAIL if values.get(name)}
    if "peak_rss_bytes" in values:
        values["rss_peak_bytes"] = values.pop("peak_rss_bytes")
    if "param_count" in values:
        name = "model_param_count" if values.get("metric") == "train" else "layer_param_count"
        values[name] = values.pop("param_count")
    return values


@cache
def json_columns() -> tuple[str, ...]:
    """Names of the columns that hold JSON text."""
    kinds = {name: _bare(field.annotation) for name, field in Row.model_fields.items()}
    return tuple(name for name, kind in kinds.items() if get_origin(kind) is dict or kind is Recipe)


@cache
def arrow_schema() -> "pa.Schema":
    """The explicit schema of a results file, from the annotations of Row."""
    import pyarrow as pa

    kinds = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), AwareDatetime: pa.timestamp("us", tz="UTC")}
    columns = []
    for name, field in Row.model_fields.items():
        hint = _bare(field.annotation)
        kind = pa.list_(pa.float64()) if get_origin(hint) is list else kinds.get(hint, pa.string())
        columns.append(pa.field(name, kind))
    return pa.schema(columns, metadata={"schema_version": str(SCHEMA_VERSION)})


def _bare(hint: Any) -> Any:
    """The annotation without ``| None``."""
    if isinstance(hint, UnionType):
        return next(part for part in get_args(hint) if part is not type(None))
    return hint
