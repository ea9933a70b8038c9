"""What the commands that measure share: from settings to cells and effort, and from cells to rows on the screen."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.commands.options import Words
from benchmark.console import Progress, SweepProgress, finish, rows_as_json, show, show_json
from benchmark.sweeps.config import Sweep

if TYPE_CHECKING:
    from benchmark.store.row import Row
    from benchmark.sweeps.cell import Cell
    from benchmark.sweeps.run import Effort


def cells_of(sweep: Sweep, metrics: Words) -> "list[Cell]":
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


def effort_of(
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
        retry=retries(retry),
        again=again,
    )


def retries(retry: Words) -> tuple[str, ...]:
    """The statuses of all --retry options."""
    from benchmark.sweeps.grid import words

    return tuple(words(retry))


def training_effort(
    cells: "list[Cell]",
    preset: str,
    data_dir: Path,
    progress: Progress,
    workers: int = 0,
    save_s: float = 60.0,
    snapshots: bool = False,
    *,
    inline: bool = False,
    fail_fast: bool = False,
    again: bool = False,
    retry: Words = [],
) -> "Effort":
    """Make ready what cells are trained on, say what their recipes leave open, and return the effort to train them.

    Args:
        cells: trainings.
        preset: that their recipes are from.
        data_dir: where data sets are.
        progress: where all this is told.
        workers: processes that read batches ahead.
        save_s: seconds between checkpoints.
        snapshots: keep the weights after each validation too.
        inline: train in this very process.
        fail_fast: stop at the first that fails.
        again: train what has a row already.
        retry: statuses that do not count as done.

    Raises:
        UserError: if data are missing, or not what they should be.
    """
    from benchmark.sweeps.run import Effort
    from benchmark.sweeps.train_plan import prepare_data
    from benchmark.training.published import deviations, told

    pairs = list(dict.fromkeys((cell.task or "", cell.layer) for cell in cells))
    for line in (line for pair in pairs if preset == "paper" for line in told(*pair)):
        progress.say(line)
    prepare_data(cells, data_dir, progress.advance, progress.say)
    kept = {"workers": workers, "save_s": save_s, "snapshots": snapshots}
    training: dict[str, Any] = {"data_dir": str(data_dir), "deviations": {}, **kept}
    for task, layer in pairs:
        training["deviations"].setdefault(task, {})[layer] = deviations(preset, task, layer)
    return Effort(inline=inline, fail_fast=fail_fast, again=again, retry=retries(retry), training=training)


def measure_and_show(
    cells: "list[Cell]", out: Path, effort: "Effort", wait: bool, as_json: bool, *tables: Callable[..., Any]
) -> None:
    """Measure, print each table of the rows that it is for, and end the command."""
    rows = run(cells, out, effort, wait)
    if as_json:
        show_json(rows_as_json(rows))
    else:
        metrics = list(dict.fromkeys(cell.metric for cell in cells))
        for metric, table in zip(metrics, tables, strict=True):
            show(table([row for row in rows if row.metric == metric]))
    finish(rows, out, len(cells), as_json)


def run(cells: "list[Cell]", out: Path, effort: "Effort", wait: bool) -> "list[Row]":
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
        watcher = Watcher(told.on_start, told.on_event, told.on_process, told.on_row, told.on_bad)
        return run_cells(cells, out, effort, watcher)
