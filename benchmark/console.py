"""The lower half of the command line: what goes to the terminal, and how a command ends.

stdout holds results, a table or JSON; progress and warnings go to stderr. Light to import.
"""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from benchmark.reports.tables import Table
    from benchmark.store.row import Row
    from benchmark.sweeps.cell import Cell

OK, CHECK_FAILED, USAGE, NOTHING_MEASURED, CELLS_FAILED, INTERRUPTED = 0, 1, 2, 3, 4, 130


class ExitError(Exception):
    """A command ends with this code; what there was to say has been said."""

    def __init__(self, code: int) -> None:
        """Args: code, one of those above."""
        super().__init__(code)
        self.code = code


def leave(code: int) -> NoReturn:
    """End the command."""
    raise ExitError(code)


def say(text: str) -> None:
    """Print a line on stdout. Who reads it may stop reading; that changes neither the work nor the exit code."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(table: "Table") -> None:
    """Print a table: as wide as the terminal, or as wide as it needs where there is none."""
    from benchmark.reports.tables import to_terminal

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    say(to_terminal(table, width, use_color(sys.stdout), sys.stdout.encoding))


def show_json(value: Any) -> None:
    """Print strict JSON: no NaN, no infinity."""
    say(json.dumps(value, allow_nan=False, indent=1, default=str))


def tame_streams() -> None:
    """Let no character that a stream cannot encode end a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def rows_as_json(rows: "Iterable[Row]") -> list[dict[str, Any]]:
    """Rows as JSON values."""
    return [row.model_dump(mode="json", exclude_none=True) for row in rows]


def warn(text: str) -> None:
    """One line on stderr."""
    with contextlib.suppress(BrokenPipeError):
        print(f"rotbench: {' '.join(text.split())}", file=sys.stderr, flush=True)


def use_color(stream: Any) -> bool:
    """Whether a stream shows escape codes and nobody asked for none."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(stream.isatty())


def finish(rows: "Sequence[Row]", folder: Path, wanted: int, as_json: bool) -> None:
    """Name every cell without a result and where the rows are, and leave with the code that says how it went."""
    from benchmark.reports.results import failure_table

    failed = [row for row in rows if row.status != "ok"]
    if failed and not as_json:
        show(failure_table(rows))
    missing = wanted - len(rows)
    counted = f"{len(rows)} row{'s' if len(rows) != 1 else ''} in {folder}/cells"
    (warn if as_json else print)(counted + (f", {missing} not measured" if missing else ""))
    if len(failed) == len(rows):
        leave(NOTHING_MEASURED)
    if failed or missing:
        leave(CELLS_FAILED)


class Progress:
    """A bar with the time left on a terminal; elsewhere one plain line for each that is given. On stderr."""

    def __init__(self, title: str) -> None:
        """Nothing is drawn before the context is entered."""
        self.title, self.stream = title, sys.stderr
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> "Progress":
        """Start the bar, if the stream is a terminal that can move its cursor."""
        if self.stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("GITHUB_ACTIONS"):
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
            console = Console(file=self.stream, highlight=False, markup=False, no_color=not use_color(self.stream))
            left = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
            self.bar = Bar(*columns, *left, console=console, transient=True)
            self.task = self.bar.add_task(self.title, total=None)
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        if self.bar:
            self.bar.stop()

    def advance(self, done: float, of: float) -> None:
        """``done`` of ``of`` are done."""
        if self.bar:
            self.bar.update(self.task, completed=done, total=of)

    def say(self, line: str) -> None:
        """One line above the bar, or alone."""
        if self.bar:
            self.bar.console.print(line, soft_wrap=True)
        else:
            with contextlib.suppress(BrokenPipeError):
                print(line, file=self.stream, flush=True)


class SweepProgress:
    """Tells of a sweep: a line a finished cell, a bar on a terminal, else a heartbeat a minute at most."""

    HEARTBEAT_S = 60.0

    def __init__(self, progress: Progress) -> None:
        """Args: progress, where it is told."""
        import time

        self.progress, self.clock = progress, time.monotonic
        self.cells = self.rows = self.processes = self.done = 0
        self.last_said = self.clock()

    def on_start(self, cells: int, processes: int) -> None:
        """A sweep of so many cells in so many processes begins."""
        if cells and self.progress.bar is None:
            self.progress.say(f"measuring {cells} cells in {processes} processes")
        self.cells, self.processes = cells, processes

    def on_event(self, cell: "Cell", event: dict[str, Any]) -> None:
        """A running process tells how far it is, or what the user should know at once."""
        if event["event"] == "note":
            self.progress.say(f"{cell.framework} {cell.layer} {cell.task or ''}: {event['text']}")
            return
        self.progress.advance(self.done + event["done"] / event["of"], self.processes)
        self._heartbeat(cell)

    def on_process(self, cell: "Cell", done: int, of: int) -> None:
        """A process has ended."""
        self.done = done
        self.progress.advance(done, of)
        self._heartbeat(cell)

    def on_bad(self, path: Path, why: str) -> None:
        """A file of results is damaged."""
        self.progress.say(f"{path} could not be read, its cell counts as not measured: {why}")

    def on_row(self, row: "Row") -> None:
        """A cell is finished."""
        from benchmark.reports.progress import line

        self.rows += 1
        self.last_said = self.clock()
        self.progress.say(line(row, self.rows, self.cells))

    def _heartbeat(self, cell: "Cell") -> None:
        if self.progress.bar is None and self.clock() - self.last_said >= self.HEARTBEAT_S:
            self.last_said = self.clock()
            what = f"{cell.framework} {cell.layer} {cell.direction or cell.task or ''}"
            self.progress.say(f"... {self.done} of {self.processes} processes, now {what}")
