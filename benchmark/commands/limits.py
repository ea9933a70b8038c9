"""Commands that measure what the layers should reach: marks, the choice of auto, growth, errors, public peers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from benchmark.commands.options import (
    EFFORT,
    RUNS,
    Again,
    Device,
    Folder,
    Framework,
    Json,
    Retry,
    Wait,
    Words,
    with_settings,
)
from benchmark.commands.running import effort_of, measure_and_show, run
from benchmark.console import (
    CHECK_FAILED,
    NOTHING_MEASURED,
    OK,
    Progress,
    finish,
    leave,
    rows_as_json,
    say,
    show,
    show_json,
    warn,
)
from benchmark.sweeps.config import Resolved

if TYPE_CHECKING:
    from benchmark.reports.tables import Table
    from benchmark.store.row import Row
    from benchmark.sweeps.cell import Cell
    from benchmark.sweeps.run import Effort

Found = TypeVar("Found")


@with_settings(only=("framework", *EFFORT))
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
    effort = effort_of(resolved.sweep, again=again, retry=retry)
    found = _judged(cells, out, effort, wait, json, partial(reached, listed), limits_table)
    leave(CHECK_FAILED if any(r.verdict != "reached" for r in found) else OK)


@with_settings(without=("algorithm",))
def choice(
    resolved: Resolved,
    task: Annotated[
        Words, typer.Option("--task", help="At the sizes of this task's small preset, several by commas, or all.")
    ] = [],
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Time auto against every algorithm that it could have chosen; exit 1 where it takes over 1.05 times the best.

    Where that is more than noise, that is: the verdict can't tell is no failure. More processes settle it.
    """
    from benchmark.reports.limits import choices, choices_table
    from benchmark.sweeps.choice import choice_cells, task_cells

    cells = task_cells(resolved.sweep, task) if task else choice_cells(resolved.sweep)
    effort = effort_of(resolved.sweep, again=again, retry=retry)
    found = _judged(cells, out, effort, wait, json, choices, choices_table)
    leave(judged([c.verdict for c in found]))


LENGTHS = ["1024", "4096", "16384", "65536"]
PASSES = ["forward", "forward+backward"]


@with_settings(
    only=("layer", "framework", "direction", "seq_len", "batch", "d_model", "d_state", *EFFORT),
    seq_len=LENGTHS,
    batch=["4"],
    direction=PASSES,
)
def growth(
    resolved: Resolved,
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Fit how time and memory of auto grow with the length; exit 1 where the exponent is not 1, within 0.05.

    Three lengths at least. The verdict can't tell, where the exponent's interval reaches into that band, is no
    failure; longer lengths or more processes settle it.
    """
    from benchmark.reports.growth import check_lengths, growth_table, growths
    from benchmark.sweeps.grid import numbers
    from benchmark.sweeps.plan import sweep_cells

    check_lengths(numbers("seq-len", resolved.sweep.seq_len))
    cells = sweep_cells(resolved.sweep, ["speed", "memory"])
    effort = effort_of(resolved.sweep, again=again, retry=retry)
    found = _judged(cells, out, effort, wait, json, growths, growth_table)
    leave(judged([g.verdict for g in found]))


def _judged(
    cells: "list[Cell]",
    out: Path,
    effort: "Effort",
    wait: bool,
    json: bool,
    judge: "Callable[[list[Row]], list[Found]]",
    table: "Callable[[list[Found]], Table]",
) -> "list[Found]":
    """Measure cells, judge their rows, show what was found or, as JSON, the rows, and say where they are kept."""
    rows = run(cells, out, effort, wait)
    found = judge(rows)
    show_json(rows_as_json(rows)) if json else show(table(found))
    finish(rows, out, len(cells), json)
    return found


def judged(verdicts: list[str]) -> int:
    """The exit code: a miss fails, and so does nothing to judge; what can't be told does not."""
    if not verdicts:
        warn("nothing could be judged: no row has another that differs from it in the one thing compared")
        return NOTHING_MEASURED
    return CHECK_FAILED if "missed" in verdicts else OK


def accuracy(
    framework: Framework = ["all"],
    seq_len: Annotated[Words, typer.Option("--seq-len", help="Lengths.")] = ["1024,16384,65536"],
    device: Device = "cpu",
    out: Folder = RUNS,
    json: Json = False,
) -> None:
    """Compare every scan in float32 with complex128 over lengths and moduli near 1; exit 1 if auto exceeds 2e-5.

    The table is kept as OUT/scan-accuracy/NAME.parquet.
    """
    from benchmark.reports.accuracy import accuracy_table
    from benchmark.store.files import prepare_folder
    from benchmark.sweeps import plan
    from benchmark.sweeps.grid import numbers
    from benchmark.verification.accuracy import accuracies
    from benchmark.verification.accuracy_file import as_json, write

    frameworks = plan.framework_names(framework)
    plan.check_device(device, frameworks)
    lengths = numbers("seq-len", seq_len)
    prepare_folder(out)
    with Progress("scanning") as progress:
        found = accuracies(frameworks, device, lengths, progress.advance)
    path = write(out, found, device)
    show_json(as_json(found)) if json else show(accuracy_table(found))
    (warn if json else say)(str(path))
    leave(OK if all(entry.passed for entry in found) else CHECK_FAILED)


@with_settings(only=("seq_len", "batch", *EFFORT), batch=["4"])
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
    lengths, batches = numbers("seq-len", sweep.seq_len), numbers("batch", sweep.batch)
    cells = [cell for L in lengths for B in batches for cell in peer_cells(L, B, sweep.threads)]
    measure_and_show(cells, out, effort_of(sweep, again=again, retry=retry), wait, json, peers_table)
