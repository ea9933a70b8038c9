"""Two builds of this project measured by turns: a checkout as it is, and worktrees of older commits."""

import contextlib
import math
import os
import random
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmark.regress.conditions import axes
from benchmark.regress.decision import Floats
from benchmark.regress.sources import git
from benchmark.regress.verdicts import Change
from benchmark.reports.again import again
from benchmark.store import files
from benchmark.store.row import Row

ROOT = Path(__file__).resolve().parents[2]
REPEATABLE = ("speed", "memory")
OURS, THEIRS = "after", "before"


@dataclass
class Builds:
    """Measures cells again, each process through ``python cli.py`` of its build. Use as a context.

    The baseline's build is a git worktree of the commit that its rows name, under the same
    interpreter; the other is the checkout as it is. That the code is the one that was measured
    before is seen by its hash, which stands in every row.
    """

    checkout: Path = ROOT
    say: Callable[[str], None] = lambda _: None
    advance: Callable[[float, float], None] = lambda *_: None
    failures: dict[str, str] = field(default_factory=dict)
    """By cell, why measuring it again failed."""

    def __enter__(self) -> "Builds":
        """Nothing is built before it is needed."""
        self.folder = Path(tempfile.mkdtemp(prefix="rotbench-rerun-"))
        self.worktrees: dict[str, Path] = {}
        return self

    def __exit__(self, *_: object) -> None:
        """Take the worktrees away."""
        for path in self.worktrees.values():
            with contextlib.suppress(subprocess.CalledProcessError):
                git(self.checkout, "worktree", "remove", "--force", str(path))
        shutil.rmtree(self.folder, ignore_errors=True)

    def refusal(self, change: Change) -> str | None:
        """See ``gating.Remeasure``."""
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
        return self.failures.get(row.cell_id)

    def _knows(self, commit: str) -> bool:
        try:
            git(self.checkout, "cat-file", "-e", f"{commit}^{{commit}}")
        except (OSError, subprocess.CalledProcessError):
            return False
        return (self.checkout / "cli.py").exists()

    def worsening(self, changes: Sequence[Change], pairs: int) -> Floats:
        """See ``gating.Remeasure``: cells in random order, of each cell the two builds one right after the other."""
        self.say(f"measuring {len(changes)} suspicious cells again, {pairs} processes of each build")
        found = np.full((len(changes), pairs), np.nan)
        for nth in range(pairs):
            order = random.sample(range(len(changes)), len(changes))
            for done, index in enumerate(order):
                found[index, nth] = self._pair(changes[index])
                self.advance(nth * len(order) + done + 1, pairs * len(order))
        return found

    def _pair(self, change: Change) -> float:
        """The log ratio of one process of each build, positive if worse; not a number if one failed."""
        quantity, measured = change.quantity, {}
        for side in random.sample((THEIRS, OURS), 2):
            if change.row.cell_id in self.failures:
                return math.nan
            found = self._measure(self._root(change, side), change.row if side == OURS else change.pair.before[0])
            values = [] if isinstance(found, str) else quantity.values(found)
            if not values:
                why = found if isinstance(found, str) else f"no {quantity.name}"
                build = "this checkout" if side == OURS else "the baseline's build"
                self.failures[change.row.cell_id] = f"{build}: {why}"
                return math.nan
            measured[side] = values[0]
        ratio = math.log(measured[OURS] / measured[THEIRS])
        return -ratio if quantity.higher_is_better else ratio

    def _root(self, change: Change, side: str) -> Path:
        """The folder of a build."""
        if side == OURS:
            return self.checkout
        commit = str(change.pair.before[0].environment["commit"])
        if commit not in self.worktrees:
            path = self.folder / commit[:12]
            git(self.checkout, "worktree", "add", "--detach", str(path), commit)
            self.worktrees[commit] = path
        return self.worktrees[commit]

    def _measure(self, root: Path, original: Row) -> Row | str:
        """One process of one build; or why it gave no row of the same code."""
        out = self.folder / secrets.token_hex(4)
        out.mkdir()
        words = [sys.executable, str(root.resolve() / "cli.py"), *command(original), "--out", str(out)]
        own = os.environ | {"PYTHONPATH": str(root.resolve())}  # before whatever else is installed
        done = subprocess.run(words, cwd=out, env=own, capture_output=True, text=True)
        rows = [row for row in files.read([out]).rows if axes(row) == axes(original)]
        shutil.rmtree(out, ignore_errors=True)
        if not rows:
            return (done.stderr.strip().splitlines() or ["no row was written"])[-1]
        return _fault(rows[0], original) or rows[0]


def command(row: Row) -> list[str]:
    """The words after ``cli.py`` that measure a row's cell once more, in one process, with its own effort."""
    plan = row.environment.get("plan") or {}
    words = [*shlex.split(again([row]))[1:], "--processes", "1", "--wait"]
    for flag, name in (("--budget-s", "budget_s"), ("--target", "precision")):
        words += [flag, str(plan[name])] if name in plan else []
    start = row.environment.get("start")
    return words + (["--start", start] if start in {"fork", "spawn"} else [])


def _fault(row: Row, original: Row) -> str | None:
    """Why a row cannot stand for the original's build; None if it can."""
    if row.status != "ok":
        return f"{row.status}: {row.reason}"
    same = row.detail.get("source_hash") == original.detail.get("source_hash")
    return None if same else "its code is not that of the rows, measure them anew"
