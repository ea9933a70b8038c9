"""Whether a row from elsewhere holds what its columns promise: numbers that are numbers, records of known shape."""

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

from benchmark.store.row import Row

POSITIVE = ("median_ms", "process_medians_ms", "samples_ms")
NOT_NEGATIVE = (
    "ci_low_ms",
    "compile_s",
    "rss_peak_bytes",
    "allocator_peak_bytes",
    "allocator_reserved_bytes",
    "xla_temp_bytes",
    "nvml_process_bytes",
    "energy_j",
    "test_accuracy",
    "device_hours",
)
TABLES = ("versions", "worker", "plan")
TEXTS = ("commit", "cpu", "cpu_governor", "system", "os", "python", "start")
COUNTS = ("cores", "cpus", "memory_bytes")


def fault_of(row: Row) -> str | None:
    """The first thing that a row cannot hold if it was measured; None if it is sound.

    A time that is not a number would pass every comparison, as no threshold is below it.
    """
    return next(chain(_figures(row), _score(row), _environment(row)), None)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, and no yes or no."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


def is_positive(value: Any) -> bool:
    """Whether a value is a finite number above 0, as a time is."""
    return is_number(value) and value > 0


def _figures(row: Row) -> Iterator[str]:
    for name in POSITIVE:
        if wrong := [value for value in _listed(getattr(row, name)) if not is_positive(value)]:
            yield f"{name} must be finite and above 0, got {wrong[0]:g}"
    for name in NOT_NEGATIVE:
        if wrong := [value for value in _listed(getattr(row, name)) if not (is_number(value) and value >= 0)]:
            yield f"{name} must be finite and not below 0, got {wrong[0]:g}"


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _score(row: Row) -> Iterator[str]:
    history = row.detail.get("history")
    score = history.get("test_score") if isinstance(history, dict) else None
    if score is not None and not is_number(score):
        yield f"detail.history.test_score must be a finite number, got {score!r:.40}"


def _environment(row: Row) -> Iterator[str]:
    told = {name: value for name, value in row.environment.items() if value is not None}
    for names, kind, words in ((TABLES, dict, "a table"), (TEXTS, str, "text")):
        for name in names:
            if name in told and not isinstance(told[name], kind):
                yield f"environment.{name} must be {words}, got {told[name]!r:.40}"
    for name in COUNTS:
        if name in told and not is_positive(told[name]):
            yield f"environment.{name} must be a number above 0, got {told[name]!r:.40}"
