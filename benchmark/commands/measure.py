"""Commands that measure, and those that say what would be measured or what it costs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmark.commands.options import (
    RUNS,
    Again,
    FailFast,
    Folder,
    Inline,
    Json,
    Layer,
    NoSkip,
    Retry,
    Settings,
    Wait,
    Words,
    with_settings,
)
from benchmark.console import CHECK_FAILED, OK, Progress, SweepProgress, finish, leave, rows_as_json, show, show_json
from benchmark.sweeps.config import Resolved, Sweep

if TYPE_CHECKING:
    from benchmark.reports.tables import Table
    from benchmark.store.row import Row
    from benchmark.sweeps.cell import Cell
    from benchmark.sweeps.run import Effort


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
    effort = _effort(resolved.sweep, inline, fail_fast, no_skip, again, retry)
    _measure(_cells(resolved.sweep, ["speed"]), out, effort, wait, json, _speed_table(out))


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

    effort = _effort(resolved.sweep, inline, fail_fast, no_skip, again, retry)
    _measure(_cells(resolved.sweep, ["memory"]), out, effort, wait, json, memory_table)


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
    effort = _effort(resolved.sweep, False, fail_fast, no_skip, again, retry)
    _measure(_cells(resolved.sweep, metrics), out, effort, wait, json, *(tables[name] for name in metrics))


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

    effort = _effort(resolved.sweep)
    found = planned(_cells(resolved.sweep, each("metric", metric, ("speed", "memory"))), out, effort)
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

    costs = resolved_costs(_cells(resolved.sweep, ["speed"]))
    if counters:
        with Progress("counting") as progress:
            costs = counted(costs, progress.advance)
    if json:
        show_json(as_json(costs))
        return
    show(flops_table(costs))
    for table in explained(costs) if explain else []:
        show(table)


@with_settings()
def roofline(
    resolved: Resolved, out: Folder = RUNS, json: Json = False, wait: Wait = False, again: Again = False
) -> None:
    """Measure the machine's ceilings: FLOP/s of a matrix product and bytes/s of a copy."""
    from benchmark.reports.roofline import roofline_table
    from benchmark.sweeps.roofline import roofline_cells

    _measure(roofline_cells(resolved.sweep), out, _effort(resolved.sweep, again=again), wait, json, roofline_table)


@with_settings()
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
    from benchmark.sweeps.hours import step_cells

    cells = step_cells(resolved.sweep, task, examples)
    rows = _run(cells, out, _effort(resolved.sweep, again=again, retry=retry), wait)
    known = [row for row in files.read([out]).rows if row.metric == "train"]
    if json:
        show_json(hours_as_json([*rows, *known], price))
    else:
        for table in hours_tables([*rows, *known], price):
            show(table)
    finish(rows, out, len(cells), json)


def train(
    task: Annotated[str, typer.Argument(help="The task, see rotbench list.")],
    layer: Layer = ["all"],
    framework: Annotated[
        Words, typer.Option("--framework", help="torch, jax or all; the first that is installed if left out.")
    ] = [],
    seed: Annotated[list[int], typer.Option("--seed", help="Of initial values and batch order; repeat it.")] = [0],
    epochs: Annotated[int | None, typer.Option("--epochs", help="Passes over the training set.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="Sequences in an update.")] = None,
    lr: Annotated[float | None, typer.Option("--lr", help="Peak rate of the regular parameters.")] = None,
    recurrence_lr: Annotated[float | None, typer.Option("--recurrence-lr", help="Peak rate of the recurrence.")] = None,
    weight_decay: Annotated[float | None, typer.Option("--weight-decay", help="Of the regular parameters.")] = None,
    dropout: Annotated[float | None, typer.Option("--dropout", help="Rate after the GELU and after the gate.")] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Blocks.")] = None,
    d_model: Annotated[int | None, typer.Option("--d-model", help="Features.")] = None,
    d_state: Annotated[int | None, typer.Option("--d-state", help="State size in each paper's own meaning.")] = None,
    algorithm: Annotated[str, typer.Option("--algorithm", help="Of the recurrence.")] = "auto",
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1.")] = "cpu",
    threads: Annotated[int, typer.Option("--threads", help="Processors that a process may use; 0 for all.")] = 0,
    settings: Settings = [],
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    inline: Inline = False,
    fail_fast: FailFast = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Train a model around each layer, with the same initial values, batches and rates in both frameworks."""
    from benchmark import backends
    from benchmark.reports.results import training_table
    from benchmark.sweeps.run import Effort
    from benchmark.sweeps.train_plan import train_cells

    recipe = {
        "epochs": epochs,
        "batch": batch,
        "lr": lr,
        "recurrence_lr": recurrence_lr,
        "weight_decay": weight_decay,
        "dropout": dropout,
        "depth": depth,
    }
    cells = train_cells(
        task,
        layers=layer,
        frameworks=framework or list(backends.installed()[:1]),
        seeds=seed,
        device=device,
        threads=threads,
        algorithm=algorithm,
        settings=settings,
        d_model=d_model,
        d_state=d_state,
        overrides=recipe,
    )
    effort = Effort(inline=inline, fail_fast=fail_fast, again=again, retry=_retries(retry))
    _measure(cells, out, effort, wait, json, training_table)


def _speed_table(out: Path) -> "Callable[[list[Row]], Table]":
    """The table of speeds, against the ceilings that the folder holds when it is made."""
    from benchmark.reports.results import speed_table
    from benchmark.reports.roofline import ceilings
    from benchmark.store import files

    return lambda rows: speed_table(rows, ceilings=ceilings(files.read([out]).rows))


def _cells(sweep: Sweep, metrics: Words) -> "list[Cell]":
    """The cells of a sweep, with matched sizes where that is asked for."""
    from benchmark.reports.matching import match_lines
    from benchmark.sweeps.match import matched
    from benchmark.sweeps.plan import sweep_cells

    cells = sweep_cells(sweep, metrics)
    if sweep.match == "none":
        return cells
    with Progress("matching") as progress:
        cells, matches = matched(cells, sweep.match, progress.say)
        for line in match_lines(matches):
            progress.say(line)
    return cells


def _effort(
    sweep: Sweep,
    inline: bool = False,
    fail_fast: bool = False,
    no_skip: bool = False,
    again: bool = False,
    retry: Words = [],
) -> "Effort":
    """The effort that settings and options ask for."""
    from benchmark.sweeps.plan import limits_of, plan_of
    from benchmark.sweeps.run import Effort

    return Effort(
        processes=sweep.processes,
        plan=plan_of(sweep),
        limits=limits_of(sweep),
        start=sweep.start,
        inline=inline,
        fail_fast=fail_fast,
        skip_after_oom=not no_skip,
        retry=_retries(retry),
        again=again,
    )


def _retries(retry: Words) -> tuple[str, ...]:
    from benchmark.sweeps.grid import words

    return tuple(words(retry))


def _measure(
    cells: "list[Cell]", out: Path, effort: "Effort", wait: bool, as_json: bool, *tables: Callable[..., Any]
) -> None:
    """Measure, print each table of the rows that it is for, and end the command."""
    rows = _run(cells, out, effort, wait)
    if as_json:
        show_json(rows_as_json(rows))
    else:
        metrics = list(dict.fromkeys(cell.metric for cell in cells))
        for metric, table in zip(metrics, tables, strict=True):
            show(table([row for row in rows if row.metric == metric]))
    finish(rows, out, len(cells), as_json)


def _run(cells: "list[Cell]", out: Path, effort: "Effort", wait: bool) -> "list[Row]":
    """Measure the cells under the device's lock, with progress; Ctrl-C keeps what is finished."""
    from benchmark.store.files import prepare_folder
    from benchmark.sweeps.lock import device_lock
    from benchmark.sweeps.plan import check_device
    from benchmark.sweeps.run import Watcher, run_cells

    devices = sorted({cell.device for cell in cells})
    for device in devices:
        check_device(device, sorted({cell.framework for cell in cells}))
    prepare_folder(out)
    with Progress("measuring") as progress, device_lock(devices[0], wait, progress.say):
        told = SweepProgress(progress)
        watcher = Watcher(told.on_start, told.on_event, told.on_process, told.on_row)
        return run_cells(cells, out, effort, watcher)


@with_settings()
def limits(
    resolved: Resolved,
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Measure the ratios that the layers should reach here, against floors and published forms; exit 1 if one misses.

    Frameworks, threads, processes and budget are taken from the settings; the sizes are those of the marks.
    """
    from benchmark.reports.limits import limits_table, reached
    from benchmark.sweeps.limits import marks

    listed = marks(resolved.sweep.framework, resolved.sweep.threads)
    cells = list({cell.id: cell for mark in listed for cell in (mark.top, mark.bottom)}.values())
    rows = _run(cells, out, _effort(resolved.sweep, again=again, retry=retry), wait)
    found = reached(listed, rows)
    show_json(rows_as_json(rows)) if json else show(limits_table(found))
    finish(rows, out, len(cells), json)
    leave(CHECK_FAILED if any(r.verdict != "reached" for r in found) else OK)


@with_settings(batch=["4"])
def peers(
    resolved: Resolved,
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Time public implementations from PyPI against ours, in torch and in one sweep; needs the extra peers."""
    from benchmark.reports.limits import peers_table
    from benchmark.sweeps.grid import numbers
    from benchmark.sweeps.limits import peer_cells

    sweep = resolved.sweep
    (seq_len, *_), (batch, *_) = numbers("seq-len", sweep.seq_len), numbers("batch", sweep.batch)
    cells = peer_cells(seq_len, batch, sweep.threads)
    _measure(cells, out, _effort(sweep, again=again, retry=retry), wait, json, peers_table)
