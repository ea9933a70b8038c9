"""From what the processes of a cell found to its one row."""

from typing import Any

import numpy as np

from benchmark.metrics.statistics import median_interval, process_interval
from benchmark.store.row import Row
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.outcome import Outcome

LEAST_ENERGY_WINDOW_S = 0.2
"""Below this an energy counter has not moved enough to be divided by the number of calls."""

SHARED = ("algorithm_run", "flops", "gate_error", "test_accuracy", "model_param_count")
LARGEST = (
    "rss_peak_bytes",
    "rss_delta_bytes",
    "allocator_peak_bytes",
    "allocator_reserved_bytes",
    "xla_temp_bytes",
    "nvml_process_bytes",
)


def row_of(cell: Cell, outcomes: list[Outcome], environment: dict[str, Any]) -> Row:
    """The row of a cell.

    If a process did not end well the row tells how the first such one ended, and no numbers.
    Statistics rest on the processes' medians; the interval of a single process is its own.
    """
    spec = cell.spec
    fields: dict[str, Any] = cell.cell_values() | {
        "cell_id": cell.id,
        "status": "ok",
        "layer_param_count": spec.param_count,
        "real_state_size": spec.real_state_size,
        "environment": environment,
    }
    failed = next((outcome for outcome in outcomes if outcome.status != "ok"), None)
    if failed is not None:
        detail = failed.detail | ({"output_tail": failed.output_tail} if failed.output_tail else {})
        return Row(**fields | {"status": failed.status, "reason": failed.reason, "detail": detail})
    results = [outcome.result or {} for outcome in outcomes]
    fields |= {name: results[0][name] for name in SHARED if results[0].get(name) is not None}
    fields |= {name: max(v) for name in LARGEST if (v := _values(results, name))}
    fields |= {name: value for name, value in results[0].items() if name in {"device_hours", "energy_j"}}
    if compile_s := _values(results, "compile_s"):
        fields["compile_s"] = float(np.median(compile_s))
    if any("samples_ms" in result for result in results):
        fields |= _times(results)
    fields["detail"] = _detail(results, outcomes)
    if "samples_ms" in fields:
        fields["energy_j"] = _energy_of_a_call(results)
    return Row(**fields)


def skipped(cell: Cell, reason: str, environment: dict[str, Any]) -> Row:
    """The row of a cell that was not measured because a smaller one ran out of memory."""
    return row_of(cell, [Outcome("skipped_after_oom", reason=reason)], environment)


def _values(results: list[dict[str, Any]], name: str) -> list[Any]:
    return [result[name] for result in results if result.get(name) is not None]


def _times(results: list[dict[str, Any]]) -> dict[str, Any]:
    medians = [float(np.median(result["samples_ms"])) for result in results]
    interval = process_interval(medians) if len(medians) > 1 else median_interval(results[0]["samples_ms"])
    return {
        "median_ms": interval.median if len(medians) > 1 else medians[0],
        "ci_low_ms": interval.low,
        "ci_high_ms": interval.high,
        "process_medians_ms": medians,
        "samples_ms": [sample for result in results for sample in result["samples_ms"]],
    }


def _detail(results: list[dict[str, Any]], outcomes: list[Outcome]) -> dict[str, Any]:
    """One process's detail as it is; of several, what differs between them as lists."""
    details = [result.get("detail", {}) for result in results]
    merged = {}
    for name in dict.fromkeys(key for detail in details for key in detail):
        values = [detail.get(name) for detail in details]
        merged[name] = values[0] if all(value == values[0] for value in values) else values
    merged["process_samples"] = [len(result.get("samples_ms", [])) for result in results]
    merged["process_cpu_s"] = [outcome.cpu_s for outcome in outcomes]
    return {name: value for name, value in merged.items() if value is not None}


def _energy_of_a_call(results: list[dict[str, Any]]) -> float | None:
    """Mean joules of one call while sampling, over the processes; None where no process could tell."""
    found = []
    for result in results:
        detail, samples = result["detail"], result["samples_ms"]
        warmup = detail["warmup_ms"]
        seconds = (sum(samples) * detail["inner"] + sum(warmup)) / 1000
        if detail.get("energy_sampled_j") is not None and seconds >= LEAST_ENERGY_WINDOW_S:
            found.append(detail["energy_sampled_j"] / (len(samples) * detail["inner"] + len(warmup)))
    return float(np.mean(found)) if found else None
