"""What a sweep would do, and a rough estimate of what it takes."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.spec.costs import resident_items
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.run import Effort, done_rows

PROCESS_S = {"torch": 0.6, "jax": 2.5}
"""Start, gate and compilation of one process, as seen on 2 cores."""

CPU_FLOPS_PER_S, GPU_FLOPS_PER_S = 1e10, 1e13
"""Guesses of what a layer reaches, for estimates only."""


class Planned(NamedTuple):
    """A cell, whether it has a row, and estimates."""

    id: str
    metric: str
    layer: str
    framework: str
    algorithm: str
    direction: str | None
    seq_len: int | None
    batch: int
    d_model: int
    d_state: int
    done: str | None
    estimated_s: float
    estimated_bytes: int


def planned(cells: Sequence[Cell], folder: Path, effort: Effort) -> list[Planned]:
    """Every cell of a sweep with what is known of it; nothing is made or measured."""
    done = done_rows(folder, effort) if (folder / "cells").exists() and not effort.again else {}
    return [
        Planned(
            cell.id,
            cell.metric,
            cell.layer,
            cell.framework,
            cell.algorithm,
            cell.direction,
            cell.seq_len,
            cell.batch,
            cell.d_model,
            cell.d_state,
            done[cell.id].status if cell.id in done else None,
            0.0 if cell.id in done else estimated_s(cell, effort),
            estimated_bytes(cell),
        )
        for cell in cells
    ]


def estimated_s(cell: Cell, effort: Effort) -> float:
    """Seconds that a cell takes: starts, and the sampling budget or seven calls, whichever is longer."""
    spec = cell.spec
    algorithm = "fft" if spec.per_channel else "sequential"
    flops = sum(spec.flops(cell.seq_len or 1, cell.batch, algorithm, cell.direction or "forward").values())
    call = flops / (CPU_FLOPS_PER_S if cell.device == "cpu" else GPU_FLOPS_PER_S)
    sampling = max(effort.plan.get("budget_s", 2.0), 7 * call) if cell.metric == "speed" else call
    return effort.processes_of(cell) * (PROCESS_S.get(cell.framework, 2.0) + sampling)


def estimated_bytes(cell: Cell) -> int:
    """Bytes of the arrays that a call holds at once."""
    items = resident_items(cell.spec, cell.seq_len or 1, cell.batch, cell.direction or "forward")
    return items * (8 if cell.dtype == "float64" else 4)


def plan_table(found: Sequence[Planned]) -> Table:
    """One line a cell, totals below."""
    names = ["id", "metric", "layer", "framework", "algorithm", "direction", "length", "batch", "d_model", "d_state"]
    names += ["done", "time", "memory"]
    lines = [
        [
            p.id,
            p.metric,
            p.layer,
            p.framework,
            p.algorithm,
            p.direction or n.MISSING,
            n.count(p.seq_len),
            n.count(p.batch),
            n.count(p.d_model),
            n.count(p.d_state),
            p.done or "",
            n.duration(p.estimated_s) if not p.done else "",
            n.scaled(p.estimated_bytes, "B"),
        ]
        for p in found
    ]
    done = sum(p.done is not None for p in found)
    largest = max((p.estimated_bytes for p in found), default=0)
    notes = [
        f"{len(found)} cells, {done} done; about {n.duration(sum(p.estimated_s for p in found))} for the rest, "
        f"and {n.scaled(largest, 'B')} for the largest on top of the framework. Estimates, from FLOPs and array sizes."
    ]
    optional = ("id", "metric", "memory", "d_model", "batch", "algorithm")
    return Table("Plan", names, lines, frozenset({*names[6:10], "time", "memory"}), notes, optional)
