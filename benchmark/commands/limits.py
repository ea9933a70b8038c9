"""Commands that measure what the layers should reach: marks, the choice of auto, public implementations."""

from benchmark.commands.options import EFFORT, RUNS, Again, Folder, Json, Retry, Wait, with_settings
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
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Time auto against every algorithm that it could have chosen; exit 1 where it takes over 1.05 times the best."""
    from benchmark.reports.limits import choices, choices_table
    from benchmark.sweeps.limits import choice_cells

    cells = choice_cells(resolved.sweep)
    rows = run(cells, out, effort_of(resolved.sweep, again=again, retry=retry), wait)
    found = choices(rows)
    show_json(rows_as_json(rows)) if json else show(choices_table(found))
    finish(rows, out, len(cells), json)
    leave(CHECK_FAILED if any(c.verdict == "missed" for c in found) else OK)


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
