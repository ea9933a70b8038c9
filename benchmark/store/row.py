"""The one record of a finished cell, and the Arrow schema made from it."""

import json
from datetime import UTC, datetime
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1

Status = Literal["ok", "unsupported", "failed", "timeout", "crashed"]


class Row(BaseModel):
    """One cell and what was found. A null is unknown or does not apply, and is never 0.

    Units are in the names. JSON columns (options, recipe, notes, history, environment) hold text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = SCHEMA_VERSION
    cell_id: str
    created_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    status: Status
    reason: str | None = None

    metric: str
    layer: str
    framework: str
    algorithm: str
    d_model: int
    d_state: int
    options: dict[str, Any]
    dtype: str
    device: str
    threads: int
    seed: int
    batch: int
    seq_len: int | None = None
    direction: str | None = None
    task: str | None = None
    recipe: dict[str, Any] | None = None

    param_count: int | None = None
    real_state_size: int | None = None
    flops: int | None = None
    traffic_bytes: int | None = None

    gate_error: float | None = None
    lower_s: float | None = None
    compile_s: float | None = None
    first_run_s: float | None = None
    median_ms: float | None = None
    ci_low_ms: float | None = None
    ci_high_ms: float | None = None
    samples_ms: list[float] | None = None
    stop_reason: str | None = None
    peak_rss_bytes: int | None = None

    test_accuracy: float | None = None
    validation_accuracy: float | None = None
    train_wall_s: float | None = None
    device_hours: float | None = None

    notes: dict[str, Any] = Field(default_factory=dict)
    history: dict[str, Any] | None = None
    environment: dict[str, Any] = Field(default_factory=dict)

    @property
    def tokens_per_s(self) -> float | None:
        """Steps of all sequences that one second gets through, at the median."""
        if self.median_ms is None or not self.median_ms:
            return None
        steps = 1 if self.direction == "step" else self.seq_len or 1
        return self.batch * steps / (self.median_ms / 1000)

    def arrow_values(self) -> dict[str, Any]:
        """The values as the Arrow schema has them: dicts become JSON text."""
        values = self.model_dump()
        return {
            name: json.dumps(value, sort_keys=True, allow_nan=False) if isinstance(value, dict) else value
            for name, value in values.items()
        }

    @classmethod
    def from_arrow(cls, values: dict[str, Any]) -> "Row":
        """The inverse of ``arrow_values``. Columns of later versions are passed over."""
        known = {name: value for name, value in values.items() if name in cls.model_fields}
        for name in json_columns():
            if isinstance(known.get(name), str):
                known[name] = json.loads(known[name])
        return cls(**{name: value for name, value in known.items() if value is not None})


@cache
def json_columns() -> tuple[str, ...]:
    """Names of the columns that hold JSON text."""
    return tuple(n for n, f in Row.model_fields.items() if get_origin(_bare(f.annotation)) is dict)


@cache
def arrow_schema() -> "pa.Schema":
    """The explicit schema of a results file, from the annotations of Row."""
    import pyarrow as pa

    kinds = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), datetime: pa.timestamp("us", tz="UTC")}
    columns = []
    for name, field in Row.model_fields.items():
        hint = _bare(field.annotation)
        kind = pa.list_(pa.float64()) if get_origin(hint) is list else kinds.get(hint, pa.string())
        columns.append(pa.field(name, kind))
    return pa.schema(columns, metadata={"schema_version": str(SCHEMA_VERSION)})


def _bare(hint: Any) -> Any:
    """The annotation without ``| None``."""
    if get_origin(hint) is UnionType or isinstance(hint, UnionType):
        return next(part for part in get_args(hint) if part is not type(None))
    return hint
