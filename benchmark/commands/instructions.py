"""The command that counts instead of timing."""

from pathlib import Path
from typing import Annotated

import typer

from benchmark.commands.options import Json, with_settings
from benchmark.commands.running import cells_of
from benchmark.console import CELLS_FAILED, CHECK_FAILED, NOTHING_MEASURED, OK, Progress, leave, say, show, show_json
from benchmark.sweeps.config import Resolved


@with_settings(without=("device", "threads", "processes", "budget_s", "target", "timeout_s", "memory_limit", "start"))
def instructions(
    resolved: Resolved,
    counter: Annotated[str, typer.Option("--counter", help="auto, perf, valgrind.")] = "auto",
    calls: Annotated[int, typer.Option("--calls", min=1, help="Calls over which a count is averaged.")] = 10,
    against: Annotated[Path | None, typer.Option("--against", help="Counts that --out has written before.")] = None,
    fail_on: Annotated[float, typer.Option("--fail-on", help="Share by which more is too much.")] = 0.01,
    out: Annotated[Path | None, typer.Option("--out", help="File for the counts, as JSON.")] = None,
    json: Json = False,
) -> None:
    """Count the instructions of a call on the CPU, by perf or valgrind: a second opinion that a busy machine leaves be.

    With --against exit 1 if a cell executes more than before. Where neither tool works, one line says so; exit 2.
    """
    from benchmark.metrics.instructions import COUNTERS, find_counter
    from benchmark.reports.instructions import instructions_table
    from benchmark.spec.errors import unknown
    from benchmark.store.files import write_whole
    from benchmark.sweeps import instructions as counting

    if counter not in {"auto", *COUNTERS}:
        raise unknown("counter", counter, ("auto", *COUNTERS))
    before = counting.read_counts(against) if against else {}
    cells = cells_of(resolved.sweep, ["speed"])
    tool = find_counter(counter)
    with Progress("counting") as progress:
        counts = counting.counted(cells, tool, calls, progress.advance)
    if out:
        write_whole(out, counting.to_json(counts))
    done = [entry for entry in counts if entry.instructions is not None]
    changes = counting.changes(counts, before) if against and done else {}
    show_json([entry.model_dump() for entry in counts]) if json else show(instructions_table(counts, changes))
    more = [cell for cell, change in changes.items() if change.ratio > 1 + fail_on + change.error]
    if against and done and not json:
        say(f"{len(more)} of {len(changes)} cells execute surely over {100 * fail_on:g} % more")
    leave(_exit_code(len(counts), len(done), bool(more)))


def _exit_code(wanted: int, done: int, more: bool) -> int:
    if more:
        return CHECK_FAILED
    if not done:
        return NOTHING_MEASURED
    return OK if done == wanted else CELLS_FAILED
