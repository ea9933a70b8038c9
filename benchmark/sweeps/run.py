"""A sweep: its cells' processes in random order, each row written as soon as its last process has ended."""

import random
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.metrics.environment import environment
from benchmark.spec import UserError
from benchmark.spec.costs import least_items
from benchmark.spec.devices import item_bytes
from benchmark.store import files
from benchmark.store.row import Row
from benchmark.store.trained import checkpoint_path, remove_checkpoint
from benchmark.sweeps import combine
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.inline import run_inline
from benchmark.sweeps.outcome import Outcome
from benchmark.sweeps.process import Event, Limits, Pool, Start, worker_environment

JOBS = {
    "speed": "benchmark.sweeps.jobs:speed",
    "memory": "benchmark.sweeps.jobs:memory_use",
    "train": "benchmark.training.job:train",
    "train-step": "benchmark.training.step_job:train_step",
    "roofline": "benchmark.sweeps.jobs:roofline",
    "study": "benchmark.studies.job:study",
}

RETRY = ("oom", "timeout", "crashed", "killed", "diverged", "failed", "unsupported", "skipped_after_oom")
ENDED = ("ok", "diverged")
"""Statuses after which a training is not taken up again; after the others it goes on from its checkpoint."""
GROWING = ("seq_len", "batch", "d_model", "d_state")


@dataclass(frozen=True)
class Effort:
    """How hard to try. ``retry`` names the statuses that do not count as done; ``again`` makes none count."""

    processes: int = 3
    plan: dict[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    start: Start = "fork"
    inline: bool = False
    fail_fast: bool = False
    skip_after_oom: bool = True
    retry: tuple[str, ...] = ()
    again: bool = False
    training: dict[str, Any] = field(default_factory=dict)
    """For trainings and studies: data_dir, workers, save_s, snapshots; weights, files by cell."""

    def __post_init__(self) -> None:
        """Raise UserError for a ``retry`` that is no status."""
        for word in self.retry:
            if word not in RETRY:
                raise UserError(f"--retry takes {', '.join(RETRY)}; got {word!r}")

    def processes_of(self, cell: Cell) -> int:
        """Only times are measured more than once."""
        return self.processes if cell.metric in {"speed", "train-step"} and not self.inline else 1

    def variables_of(self, cell: Cell) -> dict[str, str]:
        """The environment of the cell's processes."""
        return worker_environment(threads=cell.threads, device=cell.device, dtype=cell.dtype)


@dataclass
class Watcher:
    """What a sweep tells while it runs; each call may do nothing."""

    on_start: Callable[[int, int], None] = lambda *_: None
    """How many cells there are, and how many processes will run."""
    on_event: Callable[[Cell, Event], None] = lambda *_: None
    on_process: Callable[[Cell, int, int], None] = lambda *_: None
    """A process has ended: its cell, and how many of all have."""
    on_row: Callable[[Row], None] = lambda _: None
    """A row is finished and on disk."""
    on_bad: Callable[[Path, str], None] = lambda *_: None
    """A file in the folder could not be read, and why: its cell counts as not measured."""


class StoppedError(Exception):
    """``fail_fast`` met a cell that failed."""


class SweepRun:
    """The state of one sweep."""

    def __init__(self, folder: Path, effort: Effort, watcher: Watcher) -> None:
        """Nothing runs yet."""
        self.folder, self.effort, self.watcher = folder, effort, watcher
        self.environment = environment() | {"start": "inline" if effort.inline else effort.start}
        self.outcomes: dict[str, list[Outcome]] = {}
        self.started_s: dict[str, list[float]] = {}
        self.rows: dict[str, Row] = {}
        self.exhausted: list[Cell] = []

    def visit(self, cell: Cell, pool: Pool) -> None:
        """Run one process of a cell, unless its row is already decided."""
        if cell.id in self.rows:
            return
        smaller = next((small for small in self.exhausted if is_larger(cell, small)), None)
        if smaller is not None and self.effort.skip_after_oom:
            reason = f"a smaller cell ran out of memory ({size_of(smaller)}); --no-skip measures it all the same"
            self.finish(combine.skipped(cell, reason, self.record(cell)))
            return
        outcomes = self.outcomes.setdefault(cell.id, [])
        self.started_s.setdefault(cell.id, []).append(time.time())
        outcomes.append(self.too_large(cell) or self.run(cell, pool))
        if outcomes[-1].status != "ok" or len(outcomes) == self.effort.processes_of(cell):
            self.finish(combine.row_of(cell, outcomes, self.record(cell)))
            if outcomes[-1].status == "oom":
                self.exhausted.append(cell)

    def too_large(self, cell: Cell) -> Outcome | None:
        """The outcome of a cell whose arrays alone exceed the memory of this machine: it is not even tried."""
        items = least_items(cell.spec, cell.seq_len or 1, cell.batch, cell.direction or "forward")
        needed = item_bytes(cell.dtype) * items
        if cell.device != "cpu" or needed <= self.environment["memory_bytes"]:
            return None
        return Outcome("oom", reason=f"host: its arrays need {needed:,} bytes, more than this machine has; not tried")

    def run(self, cell: Cell, pool: Pool) -> Outcome:
        """One process of a cell."""
        payload = {"cell": cell.cell_values(), "plan": self.effort.plan}
        if cell.metric in {"train", "study"}:
            payload["training"] = self.effort.training | {"folder": str(self.folder.absolute())}

        def tell(event: Event) -> None:
            self.watcher.on_event(cell, event)

        if self.effort.inline:
            return run_inline(JOBS[cell.metric], payload, tell)
        return pool.run(
            JOBS[cell.metric],
            payload,
            self.effort.variables_of(cell),
            framework=cell.framework,
            limits=self.effort.limits,
            on_event=tell,
        )

    def record(self, cell: Cell) -> dict[str, Any]:
        """The environment of a row; when its processes started tells a drift over the sweep."""
        own = {"worker": self.effort.variables_of(cell), "plan": self.effort.plan}
        return self.environment | own | {"process_started_s": self.started_s.get(cell.id, [])}

    def finish(self, row: Row) -> None:
        """Keep a row, first of all on disk."""
        files.write(self.folder, row)
        self.rows[row.cell_id] = row
        if row.status in ENDED:
            remove_checkpoint(self.folder, row.cell_id)
        self.watcher.on_row(row)
        if self.effort.fail_fast and row.status not in {"ok", "unsupported"}:
            raise StoppedError


def run_cells(
    cells: Sequence[Cell], folder: Path, effort: Effort | None = None, watcher: Watcher | None = None
) -> list[Row]:
    """Measure the cells that have no row yet; return the rows of all that have one now, in the cells' order.

    Args:
        cells: what to measure.
        folder: where the rows are and go; made and checked before the first cell runs.
        effort: processes, limits, what to do about failures.
        watcher: told of progress.

    Raises:
        UserError: if the folder cannot be written.
    """
    effort, watcher = effort or Effort(), watcher or Watcher()
    files.prepare_folder(folder)
    loaded = files.read([folder])
    for path, why in loaded.bad:
        watcher.on_bad(path, why)
    newest = newest_of(loaded.rows)
    done = {} if effort.again else done_of(newest, folder, effort)
    missing = [cell for cell in cells if cell.id not in done]
    for cell in missing:
        if cell.id in newest and not goes_on(newest[cell.id], folder):
            remove_checkpoint(folder, cell.id)  # of a training that ended and begins anew
    run = SweepRun(folder, effort, watcher)
    visits = [cell for cell in missing for _ in range(effort.processes_of(cell))]
    # by lottery over the whole sweep, so that a slow quarter of an hour does not fall on one layer
    random.Random(secrets.randbits(64)).shuffle(visits)
    watcher.on_start(len(missing), len(visits))
    with Pool(effort.start) as pool:
        try:
            for index, cell in enumerate(visits):
                run.visit(cell, pool)
                watcher.on_process(cell, index + 1, len(visits))
        except StoppedError:
            pass
    found = done | run.rows
    return [found[cell.id] for cell in cells if cell.id in found]


def newest_of(rows: Sequence[Row]) -> dict[str, Row]:
    """By cell, the last of its rows, which are in the order in which they were made."""
    return {row.cell_id: row for row in rows}


def done_of(newest: Mapping[str, Row], folder: Path, effort: Effort) -> dict[str, Row]:
    """Those of the newest rows that count as done, in the effort's eyes and because no training goes on."""
    return {key: row for key, row in newest.items() if row.status not in effort.retry and not goes_on(row, folder)}


def done_rows(folder: Path, effort: Effort) -> dict[str, Row]:
    """By cell, the newest row in the folder if it counts as done."""
    return done_of(newest_of(files.read([folder]).rows), folder, effort)


def goes_on(row: Row, folder: Path) -> bool:
    """Whether the training that a row tells of, or a later one of the same cell, left a checkpoint to go on from.

    A checkpoint older than the row of a training that ended is of that one: only its removal did not come about.
    """
    try:
        written_s = checkpoint_path(folder, row.cell_id).stat().st_mtime
    except OSError:
        return False
    return row.status not in ENDED or written_s > row.created_at.timestamp()


def is_larger(cell: Cell, than: Cell) -> bool:
    """Whether a cell is another with at least one size greater and none smaller."""
    sizes = [(getattr(cell, name) or 0, getattr(than, name) or 0) for name in GROWING]
    same = cell.model_copy(update={name: getattr(than, name) for name in GROWING})
    return same == than and all(a >= b for a, b in sizes) and any(a > b for a, b in sizes)


def size_of(cell: Cell) -> str:
    """The sizes of a cell in words."""
    return ", ".join(f"{name} {getattr(cell, name)}" for name in GROWING if getattr(cell, name) is not None)
