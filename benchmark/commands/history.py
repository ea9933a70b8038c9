"""Commands on results over commits: where they step, and which commit made a step."""

import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.options import RUNS, Json, Wait, Words
from benchmark.console import CHECK_FAILED, NOTHING_MEASURED, OK, Progress, leave, say, show, show_json, warn

if TYPE_CHECKING:
    from benchmark.history.series import History, Series
    from benchmark.store.row import Row

history_app = typer.Typer(help="Results over commits: steps, and the commits that made them.", no_args_is_help=True)

Least = Annotated[float, typer.Option("--least", help="Smallest relative change of level that counts as a step.")]


@history_app.command("show")
def history_show(
    results: Annotated[
        Words, typer.Argument(help="Folders or files; REF:FOLDER of git, as in perf-data:results; several.")
    ] = [str(RUNS)],
    trunk: Annotated[str, typer.Option("--trunk", help="Branch or commit whose first parents are followed.")] = "HEAD",
    metric: Annotated[Words, typer.Option("--metric", help="ms, tokens/s, xla_temp_bytes, ...; the usual ones.")] = [],
    cell: Annotated[str, typer.Option("--cell", help="Only the cell whose id begins so.")] = "",
    least: Least = 0.02,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 if a loss is open.")] = False,
    ascii_: Annotated[bool, typer.Option("--ascii", help="Sparklines of plain characters.")] = False,
    json: Json = False,
) -> None:
    """Show every cell's figures over commits, and list the steps in them, recovered ones too."""
    from benchmark.history.steps import all_steps
    from benchmark.reports.history import history_json, history_tables
    from benchmark.sweeps.grid import words

    _check_least(least)
    history = _history(results, trunk, words(metric), cell)
    if json:
        show_json(history_json(history, least))
    else:
        for table in history_tables(history, least, ascii_ or not _draws(sys.stdout.encoding)):
            show(table)
    lost = any(step.state == "open" for step in all_steps(history.series, least))
    leave(CHECK_FAILED if fail and lost else OK)


@history_app.command("bisect")
def history_bisect(
    good: Annotated[str, typer.Argument(help="A commit before the step.")],
    bad: Annotated[str, typer.Argument(help="A later commit, after it.")],
    measure: Annotated[
        Words, typer.Argument(help="Of one cell, after --: speed --layer lru --framework torch --seq-len 1024.")
    ] = [],
    cell: Annotated[str, typer.Option("--cell", help="Instead: the cell in --results whose id begins so.")] = "",
    results: Annotated[Path, typer.Option("--results", help="Folder or file that has the cell.")] = RUNS,
    metric: Annotated[str, typer.Option("--metric", help="What is compared: ms, xla_temp_bytes, ...")] = "ms",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Times that a doubtful commit is measured.")] = 3,
    least: Least = 0.02,
    out: Annotated[Path, typer.Option("--out", help="Folder for the rows of all commits.")] = Path(
        "results/runs/bisect"
    ),
    wait: Wait = False,
    json: Json = False,
) -> None:
    """Find the commit that made a step: measure commits between two, each by its own code, halving what is left.

    Exit 1 if the ends do not differ or the step could not be narrowed down to one commit, 3 if an end cannot be
    measured. The same command again goes on where it was interrupted.
    """
    from benchmark.history import commits
    from benchmark.history.bisection import bisect
    from benchmark.history.measuring import Measurer
    from benchmark.regress.ending import unwinding
    from benchmark.regress.quantities import quantities
    from benchmark.reports.bisection import bisection_json, bisection_table, verdict

    _check_least(least)
    (quantity,) = quantities([metric])
    words, device = _measuring(measure, cell, results)
    here = Path()
    path = commits.between(here, good, bad)
    with unwinding(), Progress("bisecting") as progress:
        progress.say(f"{len(path)} commits; each is measured with: rotbench {shlex.join(words)}")
        measurer = Measurer(here, out / _folder_of(words), words, quantity, device, wait, progress.say)
        found = bisect(path, measurer, rounds, least)

    def subject(commit: str) -> str:
        return commits.subject(here, commit)

    if json:
        show_json(bisection_json(found, quantity))
    else:
        show(bisection_table(found, quantity, subject))
        say(verdict(found, subject))
    leave(OK if len(found.suspects) == 1 else CHECK_FAILED)


@history_app.command("machine")
def history_machine(
    gpu: Annotated[str | None, typer.Option("--gpu", help="Its name as rows have it, such as 'NVIDIA H200'.")] = None,
    id_: Annotated[bool, typer.Option("--id", help="The id alone, for the key of a cache.")] = False,
) -> None:
    """Print this machine's fingerprint: results of machines that differ in it are never put into one series."""
    from benchmark.history.machine import this_machine

    machine = this_machine(gpu)
    say(machine.id if id_ else f"{machine.id}  {machine.words}")


def _history(results: Words, trunk: str, metrics: Words, cell: str) -> "History":
    """The series; ends the command where there is none."""
    from benchmark.history.commits import trunk as commits_of
    from benchmark.history.series import history_of

    history = history_of(_rows(results), commits_of(Path(), trunk), metrics)
    chosen: list[Series] = [s for s in history.series if s.row.cell_id.startswith(cell)]
    if not chosen:
        what = f"no series of a cell that begins with {cell!r}" if history.series else "no row has a figure to follow"
        reasons = ", ".join(f"{count} rows {reason}" for reason, count in history.left_out.items())
        told = f" ({reasons})" if reasons else ""
        warn(f"{what} in {', '.join(results)}{told}; measure commits without local changes, or see --metric")
        leave(NOTHING_MEASURED)
    return history._replace(series=chosen)


def _check_least(least: float) -> None:
    from benchmark.spec.errors import UserError

    if not 0 <= least < 1:
        raise UserError(f"--least must lie in [0, 1), got {least:g}; 0.02 is 2 %")


def _rows(results: Words) -> "list[Row]":
    from benchmark.regress.sources import read_source

    sources = [read_source(word, RUNS) for word in results]
    for place, why in (entry for source in sources for entry in source.bad):
        warn(f"{place} could not be read and is left out: {why}")
    return [row for source in sources for row in source.rows]


def _measuring(given: Words, cell: str, results: Path) -> tuple[tuple[str, ...], str]:
    """The words that measure one cell, and the device that they name."""
    from benchmark.spec.errors import UserError

    if bool(given) == bool(cell):
        raise UserError("bisect takes one cell: --cell ID of a row in --results, or after -- a command such as speed")
    words = _again(cell, results) if cell else tuple(given)
    if words[0] not in {"speed", "memory"}:
        raise UserError(f"bisect measures with speed or memory; got {words[0]!r}; write them after --")
    device = next((after for word, after in pairwise(words) if word == "--device"), "cpu")
    return words, device


def _again(cell: str, results: Path) -> tuple[str, ...]:
    """The words that measure a row's cell again; rows known from other commits do not count here."""
    from benchmark.commands.results import read_results
    from benchmark.reports.again import again
    from benchmark.reports.listing import one_row

    row = one_row(read_results([results])[0], cell)
    words = shlex.split(again([row.model_copy(update={"replicate": 0})]))
    return tuple(word for word in words if word not in {"rotbench", "--again"})


def _folder_of(words: tuple[str, ...]) -> str:
    """A name for what is measured, so that two bisections share rows only where they measure the same."""
    import hashlib

    return hashlib.sha256(shlex.join(words).encode()).hexdigest()[:12]


def _draws(encoding: str) -> bool:
    """Whether a stream's encoding has block characters."""
    return encoding.lower().replace("-", "").startswith("utf")
