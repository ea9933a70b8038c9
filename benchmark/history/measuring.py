"""A commit measured by its own code, in a tree of its own, with rows kept for the next time."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmark.history.commits import worktree
from benchmark.regress.ending import told_by
from benchmark.regress.quantities import Quantity
from benchmark.spec.errors import UserError
from benchmark.store import files
from benchmark.store.row import Row
from benchmark.sweeps.lock import device_lock

INTERRUPTED = 130


@dataclass(frozen=True)
class Measurer:
    """Measures one cell at any commit: ``measurer(commit, rounds)``, as ``bisection.bisect`` asks.

    Rows lie in FOLDER/COMMIT, so what has been measured once, in this call or an earlier one, is
    only read; a round is a replicate of the cell.
    """

    repository: Path
    folder: Path
    words: tuple[str, ...]
    """The command that measures the cell, such as ``("speed", "--layer", "lru")``."""
    quantity: Quantity
    device: str = "cpu"
    wait: bool = False
    say: Callable[[str], None] = lambda _: None

    def __call__(self, commit: str, rounds: int) -> list[float] | str:
        """Values, one a process, of so many rounds; or why there are none.

        Raises:
            DeviceBusyError: if another sweep measures and ``wait`` is not set.
            UserError: if the command stands for more than one cell.
        """
        place = (self.folder / commit[:12]).resolve()
        if (known := self._known(place, commit, rounds)) is not None:
            return known
        self._until_free()
        self.say(f"measuring {commit[:10]}{f', round {rounds}' if rounds > 1 else ''}")
        with worktree(self.repository, commit) as tree:
            if not (tree / "cli.py").is_file():
                return "it has no cli.py"
            told = self._run(tree, place, rounds)
        found = self._known(place, commit, rounds)
        return found if found is not None else self._reason(place, told)

    def _run(self, tree: Path, place: Path, rounds: int) -> str:
        """Let the tree's own command line measure; returns what it said on stderr.

        The working directory is the folder of results, so that the settings of neither tree are read.
        """
        place.mkdir(parents=True, exist_ok=True)
        options = ["--replicates", str(rounds), "--out", str(place), *(["--wait"] if self.wait else [])]
        words = [sys.executable, str(tree / "cli.py"), *self.words, *options]
        code, told = told_by(words, place, os.environ | {"PYTHONPATH": str(tree)})
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code:
            self._until_free()  # another sweep may have been quicker: then this commit is not to blame
        return told

    def _until_free(self) -> None:
        with device_lock(self.device, self.wait, self.say):
            pass

    def _known(self, place: Path, commit: str, rounds: int) -> list[float] | None:
        """The values that lie there, if they are of enough rounds."""
        rows = [row for row in _rows(place) if row.status == "ok" and row.environment.get("commit") == commit]
        if len({row.model_copy(update={"replicate": 0}).id for row in rows}) > 1:
            raise UserError("bisect measures one cell; give every axis one value, as in --layer lru --framework torch")
        replicates = {row.replicate: row for row in rows if row.replicate < rounds}
        values = [value for row in replicates.values() for value in self.quantity.on_scale(row)]
        return values if len(replicates) == rounds and values else None

    def _reason(self, place: Path, told: str) -> str:
        """Why there is no result: of the newest row, else the last line of what was said."""
        rows = _rows(place)
        if rows and rows[-1].status != "ok":
            return f"{rows[-1].status}: {rows[-1].reason or 'no reason is known'}"
        lines = told.strip().splitlines()
        return lines[-1].removeprefix("rotbench: ") if lines else f"no value of {self.quantity.name}"


def _rows(place: Path) -> list[Row]:
    return files.read([place]).rows if place.exists() else []
