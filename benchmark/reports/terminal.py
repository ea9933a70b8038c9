"""What the terminal can show, and progress on it."""

import os
import shutil
import sys
from types import TracebackType
from typing import Any, TextIO


def terminal_width() -> int | None:
    """Columns of the terminal on stdout; None where stdout is none, so that nothing is cut off."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def use_color() -> bool:
    """Whether stdout shows escape codes and nobody asked for none."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Progress:
    """A bar with the time left on a terminal; elsewhere one plain line for each that is given."""

    def __init__(self, title: str, stream: TextIO) -> None:
        """Nothing is drawn before the context is entered."""
        self.title, self.stream = title, stream
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> "Progress":
        """Start the bar, if the stream is a terminal that can move its cursor."""
        if self.stream.isatty() and os.environ.get("TERM") != "dumb":
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
            console = Console(file=self.stream, highlight=False, markup=False)
            self.bar = Bar(
                *columns,
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )
            self.task = self.bar.add_task(self.title, total=None)
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        if self.bar:
            self.bar.stop()

    def advance(self, done: int, of: int, line: str | None = None) -> None:
        """``done`` of ``of`` are done; ``line`` says what was finished last."""
        if self.bar:
            self.bar.update(self.task, completed=done, total=of)
            if line:
                self.bar.console.print(line, soft_wrap=True)
        elif line:
            print(line, file=self.stream, flush=True)
