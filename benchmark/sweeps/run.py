"""Cells to rows: each in a process of its own, each row written as soon as it is there."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmark.metrics.environment import environment
from benchmark.store import files
from benchmark.store.row import Row
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.process import Event, Outcome, run_job, worker_environment

JOBS = {"speed": "benchmark.sweeps.jobs:speed", "train": "benchmark.training.job:train"}


def run_cells(
    cells: Iterable[Cell],
    folder: Path,
    *,
    plan: dict[str, Any] | None = None,
    on_event: Callable[[Cell, Event], None] = lambda *_: None,
    on_row: Callable[[Row], None] = lambda _: None,
) -> list[Row]:
    """Measure the cells one after the other.

    Args:
        cells: what to measure.
        folder: where the rows go; made and checked before the first cell runs.
        plan: fields of metrics.timing.Plan for speed cells.
        on_event: called with progress of a running cell.
        on_row: called with each finished row, already on disk.

    Raises:
        UserError: if the folder cannot be written.
    """
    files.prepare_folder(folder)
    record, rows = environment(), []
    for cell in cells:
        payload = {"cell": cell.model_dump(mode="json"), "plan": plan or {}}
        variables = worker_environment(threads=cell.threads, device=cell.device, dtype=cell.dtype)
        outcome = run_job(JOBS[cell.metric], payload, variables, lambda event, cell=cell: on_event(cell, event))  # type: ignore[misc]
        row = row_of(cell, outcome, record | {"worker": variables})
        files.write(folder, row)
        rows.append(row)
        on_row(row)
    return rows


def row_of(cell: Cell, outcome: Outcome, record: dict[str, Any]) -> Row:
    """The row of a cell, from how its job ended."""
    spec, measured = cell.spec, dict(outcome.result or {})
    fields: dict[str, Any] = cell.model_dump(mode="json") | {
        "cell_id": cell.id,
        "status": outcome.status,
        "reason": outcome.reason,
        "param_count": spec.param_count,
        "real_state_size": spec.real_state_size,
        "environment": record,
        "notes": {"stderr_tail": outcome.stderr_tail} if outcome.status != "ok" and outcome.stderr_tail else {},
    }
    if cell.metric == "speed":
        itemsize = 8 if cell.dtype == "float64" else 4
        terms = spec.traffic_bytes(cell.seq_len or 1, cell.batch, cell.direction or "forward", itemsize)
        fields["traffic_bytes"] = sum(terms.values())
    return Row(**(fields | measured))
