"""Two builds of this project measured by turns: a checkout as it is, and worktrees of older commits."""

import math
import os
import random
import secrets
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmark.regress.conditions import axes
from benchmark.regress.decision import Floats
from benchmark.regress.ending import told_by
from benchmark.regress.sources import GitError, git
from benchmark.regress.verdicts import Change
from benchmark.reports.again import again
from benchmark.store import files
from benchmark.store.row import Row

ROOT = Path(__file__).resolve().parents[2]
REPEATABLE = ("speed", "memory")
OURS, THEIRS = "after", "before"
BUILD = {OURS: "this checkout", THEIRS: "the baseline's build"}


@dataclass
class Builds:
    """Measures cells again, each process through ``python cli.py`` of its build. Use as a context.

    The baseline's build is a git worktree of the commit that its rows name, under the same
    interpreter; the other is the checkout as it is. The hash in every row shows that the layers are
    those that were measured before; it does not cover the harness.
    """

    checkout: Path = ROOT
    say: Callable[[str], None] = lambda _: None
    advance: Callable[[float, float], None] = lambda *_: None
    budget_s: float = math.inf
    """After so many seconds no further pair is begun."""
    clock: Callable[[], float] = time.monotonic
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    """By cell and quantity, why measuring it again failed."""

    def __enter__(self) -> "Builds":
        """Nothing is built before it is needed."""
        self.folder = Path(tempfile.mkdtemp(prefix="rotbench-rerun-"))
        self.worktrees: dict[str, Path] = {}
        self.end_s = self.clock() + self.budget_s
        return self

    def __exit__(self, *_: object) -> None:
        """Take the worktrees away."""
        for path in self.worktrees.values():
            self._remove(path)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _remove(self, path: Path) -> None:
        with suppress(GitError):
            git(self.checkout, "worktree", "remove", "--force", str(path))

    def refusal(self, change: Change) -> str | None:
        """See ``remeasuring.Remeasure``."""
        row, before = change.row, change.pair.before[0]
        commit = before.environment.get("commit")
        if row.metric not in REPEATABLE or row.subject != "layer":
            return f"rows of {row.metric if row.metric not in REPEATABLE else row.subject} are not measured in pairs"
        if not commit:
            return "the baseline's rows name no commit"
        if before.environment.get("dirty"):
            return f"the baseline was measured in a tree with changes on top of {commit[:12]}"
        if not self._knows(commit):
            return f"git in {self.checkout} does not know the baseline's commit {commit[:12]}: fetch it"
        return self.failures.get(_key(change))

    def _knows(self, commit: str) -> bool:
        try:
            git(self.checkout, "cat-file", "-e", f"{commit}^{{commit}}")
        except GitError:
            return False
        return (self.checkout / "cli.py").exists()

    def worsening(self, changes: Sequence[Change], pairs: int) -> Floats | None:
        """See ``remeasuring.Remeasure``: cells in random order, of each the two builds one right after the other."""
        self.say(f"measuring {len(changes)} suspicious cells again, {pairs} processes of each build")
        found = np.full((len(changes), pairs), np.nan)
        for nth in range(pairs):
            order = random.sample(range(len(changes)), len(changes))
            for done, index in enumerate(order):
                if self.clock() >= self.end_s:
                    self.say(f"the {self.budget_s:g} s for measuring again are up; the last finished look decides")
                    return None
                found[index, nth] = self._pair(changes[index])
                self.advance(nth * len(order) + done + 1, pairs * len(order))
        return found

    def _pair(self, change: Change) -> float:
        """The log ratio of one process of each build, positive if worse; not a number if one failed."""
        measured = {}
        for side in random.sample((THEIRS, OURS), 2):
            if _key(change) in self.failures:
                return math.nan
            found = self._value(change, side)
            if isinstance(found, str):
                self.failures[_key(change)] = f"{BUILD[side]}: {found}"
                return math.nan
            measured[side] = found
        ratio = math.log(measured[OURS] / measured[THEIRS])
        return -ratio if change.quantity.higher_is_better else ratio

    def _value(self, change: Change, side: str) -> float | str:
        """What one process of a build finds; or why it finds nothing."""
        try:
            root = self._root(change, side)
        except GitError as error:
            return str(error)
        found = self._measure(root, change.row if side == OURS else change.pair.before[0])
        if isinstance(found, str):
            return found
        values = change.quantity.on_scale(found)
        return values[0] if values else f"no {change.quantity.name}"

    def _root(self, change: Change, side: str) -> Path:
        """The folder of a build."""
        if side == OURS:
            return self.checkout
        commit = str(change.pair.before[0].environment["commit"])
        if commit not in self.worktrees:
            path = self.folder / commit[:12]
            git(self.checkout, "worktree", "prune")  # what a killed run has left
            try:
                git(self.checkout, "worktree", "add", "--detach", str(path), commit)
            except BaseException:
                self._remove(path)  # where a hook has failed it is there all the same
                raise
            self.worktrees[commit] = path
        return self.worktrees[commit]

    def _measure(self, root: Path, original: Row) -> Row | str:
        """One process of one build; or why it gave no row of the same code."""
        out = self.folder / secrets.token_hex(4)
        out.mkdir()
        words = [sys.executable, str(root.resolve() / "cli.py"), *command(original), "--out", str(out)]
        own = os.environ | {"PYTHONPATH": str(root.resolve())}  # before whatever else is installed
        _, told = told_by(words, out, own)
        rows = [row for row in files.read([out]).rows if axes(row) == axes(original)]
        shutil.rmtree(out, ignore_errors=True)
        if not rows:
            return (told.strip().splitlines() or ["no row was written"])[-1]
        return _fault(rows[0], original) or rows[0]


def command(row: Row) -> list[str]:
    """The words after ``cli.py`` that measure a row's cell once more, in one process, with its own effort."""
    plan = row.environment.get("plan") or {}
    words = [*shlex.split(again([row]))[1:], "--processes", "1", "--wait"]
    for flag, name in (("--budget-s", "budget_s"), ("--target", "precision")):
        words += [flag, str(plan[name])] if name in plan else []
    start = row.environment.get("start")
    return words + (["--start", start] if start in {"fork", "spawn"} else [])


def _key(change: Change) -> tuple[str, str]:
    return change.row.cell_id, change.quantity.name


def _fault(row: Row, original: Row) -> str | None:
    """Why a row cannot stand for the original's build; None if it can."""
    if row.status != "ok":
        return f"{row.status}: {row.reason}"
    same = row.detail.get("source_hash") == original.detail.get("source_hash")
    return None if same else "its code is not that of the rows, measure them anew"
