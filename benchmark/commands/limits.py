"""Commands that measure what the layers should reach: marks, the choice of auto, growth, public implementations."""

from typing import Annotated

import typer

from benchmark.commands.options import EFFORT, RUNS, Again, Folder, Json, Retry, Wait, Words, with_settings
from benchmark.commands.running import effort_of, measure_and_show, run
from benchmark.console import CHECK_FAILED, OK, finish, leave, rows_as_json, show, show_json
from benchmark.sweeps.config import Resolved


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
    rows = run(cells, out, effort_of(resolved.sweep, again=again, retry=retry), wait)
    found = reached(listed, rows)
    show_json(rows_as_json(rows)) if json else show(limits_table(found))
    finish(rows, out, len(cells), json)
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
    """Time auto against every algorithm that it could have chosen; exit 1 where it takes over 1.05 times the best."""
    from benchmark.reports.limits import choices, choices_table
    from benchmark.sweeps.choice import choice_cells, task_cells

    cells = task_cells(resolved.sweep, task) if task else choice_cells(resolved.sweep)
    rows = run(cells, out, effort_of(resolved.sweep, again=again, retry=retry), wait)
    found = choices(rows)
    show_json(rows_as_json(rows)) if json else show(choices_table(found))
    finish(rows, out, len(cells), json)
    leave(CHECK_FAILED if any(c.verdict == "missed" for c in found) else OK)


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
    """Fit how time and memory of auto grow with the length; exit 1 where the exponent is not 1, within 0.05."""
    from benchmark.reports.growth import growth_table, growths
    from benchmark.sweeps.plan import sweep_cells

    cells = sweep_cells(resolved.sweep, ["speed", "memory"])
    rows = run(cells, out, effort_of(resolved.sweep, again=again, retry=retry), wait)
    found = growths(rows)
    show_json(rows_as_json(rows)) if json else show(growth_table(found))
    finish(rows, out, len(cells), json)
    leave(CHECK_FAILED if any(g.verdict == "missed" for g in found) else OK)


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
