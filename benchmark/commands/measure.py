"""Commands that measure, and those that say what would be measured or what it costs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.options import (
    EFFORT,
    RUNS,
    Again,
    FailFast,
    Folder,
    Inline,
    Json,
    NoSkip,
    Retry,
    Wait,
    Words,
    with_settings,
)
from benchmark.commands.running import cells_of, effort_of, measure_and_show, run
from benchmark.console import Progress, finish, show, show_json
from benchmark.sweeps.config import Resolved

if TYPE_CHECKING:
    from benchmark.reports.tables import Table
    from benchmark.store.row import Row


@with_settings()
def speed(
    resolved: Resolved,
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    inline: Inline = False,
    fail_fast: FailFast = False,
    no_skip: NoSkip = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Time the layers: one row a combination of the axes, each measured in processes of its own."""
    effort = effort_of(resolved.sweep, inline, fail_fast, no_skip, again, retry)
    measure_and_show(cells_of(resolved.sweep, ["speed"]), out, effort, wait, json, _speed_table(out))


@with_settings(direction=["forward", "forward+backward"])
def memory(
    resolved: Resolved,
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    inline: Inline = False,
    fail_fast: FailFast = False,
    no_skip: NoSkip = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Measure the memory of one call, in a fresh process each, every kind in a column of its own."""
    from benchmark.reports.results import memory_table

    effort = effort_of(resolved.sweep, inline, fail_fast, no_skip, again, retry)
    measure_and_show(cells_of(resolved.sweep, ["memory"]), out, effort, wait, json, memory_table)


@with_settings()
def sweep(
    resolved: Resolved,
    metric: Annotated[Words, typer.Option("--metric", help="speed, memory.")] = ["speed,memory"],
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    fail_fast: FailFast = False,
    no_skip: NoSkip = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Measure several metrics over all axes, in random order; run it again to measure only what is missing."""
    from benchmark.reports.results import memory_table
    from benchmark.sweeps.plan import each

    metrics = each("metric", metric, ("speed", "memory"))
    tables = {"speed": _speed_table(out), "memory": memory_table}
    effort = effort_of(resolved.sweep, False, fail_fast, no_skip, again, retry)
    measure_and_show(cells_of(resolved.sweep, metrics), out, effort, wait, json, *(tables[name] for name in metrics))


@with_settings()
def plan(
    resolved: Resolved,
    metric: Annotated[Words, typer.Option("--metric", help="speed, memory.")] = ["speed"],
    out: Folder = RUNS,
    json: Json = False,
) -> None:
    """Print the cells of a sweep, what is done already, and estimates of time and memory; measures nothing."""
    from benchmark.reports.planned import plan_table, planned
    from benchmark.sweeps.plan import each

    effort = effort_of(resolved.sweep)
    found = planned(cells_of(resolved.sweep, each("metric", metric, ("speed", "memory"))), out, effort)
    show_json([entry._asdict() for entry in found]) if json else show(plan_table(found))


@with_settings(direction=["forward", "forward+backward"])
def flops(
    resolved: Resolved,
    explain: Annotated[bool, typer.Option("--explain", help="Formulas term by term.")] = False,
    counters: Annotated[
        bool, typer.Option("--counters", help="The frameworks' own counters beside, with their coverage.")
    ] = False,
    json: Json = False,
) -> None:
    """Print analytic FLOPs, one convention for both frameworks, and what the frameworks' counters see of them."""
    from benchmark.reports.flops import as_json, counted, explained, flops_table, resolved_costs

    costs = resolved_costs(cells_of(resolved.sweep, ["speed"]))
    if counters:
        with Progress("counting") as progress:
            costs = counted(costs, progress.advance)
    if json:
        show_json(as_json(costs))
        return
    show(flops_table(costs))
    for table in explained(costs) if explain else []:
        show(table)


@with_settings(only=("framework", "dtype", "precision", "device", *EFFORT))
def roofline(
    resolved: Resolved, out: Folder = RUNS, json: Json = False, wait: Wait = False, again: Again = False
) -> None:
    """Measure the machine's ceilings: FLOP/s of a matrix product and bytes/s of a copy."""
    from benchmark.reports.roofline import roofline_table
    from benchmark.sweeps.roofline import roofline_cells

    measure_and_show(
        roofline_cells(resolved.sweep), out, effort_of(resolved.sweep, again=again), wait, json, roofline_table
    )


@with_settings(only=("layer", "framework", "precision", "device", "seed", *EFFORT))
def gpu_hours(
    resolved: Resolved,
    task: Annotated[Words, typer.Option("--task", help="Published recipes: lra-listops, ..., or all.")] = ["all"],
    price: Annotated[float | None, typer.Option("--price", help="Of one device-hour, to print costs.")] = None,
    examples: Annotated[int, typer.Option("--examples", help="Sequences in a measured step; 0 as published.")] = 0,
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Measure training steps of published recipes and project device-hours; and list those that were measured."""
    from benchmark.reports.hours import hours_as_json, hours_tables
    from benchmark.store import files
    from benchmark.sweeps.hours import check_price, step_cells

    check_price(price)
    cells = step_cells(resolved.sweep, task, examples)
    rows = run(cells, out, effort_of(resolved.sweep, again=again, retry=retry), wait)
    known = [row for row in files.read([out]).rows if row.metric == "train"]
    if json:
        show_json(hours_as_json([*rows, *known], price))
    else:
        for table in hours_tables([*rows, *known], price):
            show(table)
    finish(rows, out, len(cells), json)


def _speed_table(out: Path) -> "Callable[[list[Row]], Table]":
    """The table of speeds, against the ceilings that the folder holds when it is made."""
    from benchmark.reports.results import speed_table
    from benchmark.reports.roofline import ceilings
    from benchmark.store import files

    return lambda rows: speed_table(rows, ceilings=ceilings(files.read([out]).rows))
