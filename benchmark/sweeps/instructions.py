"""Cells whose instructions are counted, kept as JSON, and held against an earlier count."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter

from benchmark.metrics.environment import environment
from benchmark.metrics.instructions import Counter, per_call
from benchmark.spec.errors import UserError
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.process import worker_environment
from benchmark.sweeps.supervisor import command_of

START_NOISE = 10_000_000
"""Instructions by which the start of a process may differ from run to run: torch's under valgrind differed by 6 million
in three runs. Compilation by jax differs too, and by how much is not known."""


class IncomparableError(UserError):
    """Counts that say nothing of each other."""

    exit_code = 3


class Count(BaseModel):
    """What one call of a cell executes, on one thread, and what the count hangs on."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    cell_id: str
    cell: dict[str, Any]
    instructions: float | None
    """A call; None if it could not be counted, and ``reason`` says why."""
    reason: str | None = None
    calls: int
    counter: str
    cpu: str
    versions: dict[str, str]

    @property
    def error(self) -> float:
        """The share by which the count may be off, from what two starts differ in."""
        return START_NOISE / (self.calls * self.instructions) if self.instructions else 0.0


class Change(NamedTuple):
    """A cell's instructions now over before, and the share by which that may be off."""

    ratio: float
    error: float


def counted(cells: Sequence[Cell], counter: Counter, calls: int, on_cell: Callable[[int, int], None]) -> list[Count]:
    """Count each cell; one that cannot be counted has a reason instead.

    Args:
        cells: of the CPU.
        counter: what counts.
        calls: over which a count is averaged.
        on_cell: told how many of all cells are done.
    """
    found = []
    for index, cell in enumerate(cells):
        found.append(_counted(cell.model_copy(update={"threads": 1}), counter, calls))
        on_cell(index + 1, len(cells))
    return found


def _counted(cell: Cell, counter: Counter, calls: int) -> Count:
    variables = worker_environment(threads=1, device="cpu", dtype=cell.dtype) | {"PYTHONHASHSEED": "0"}
    env = os.environ | variables | dict(counter.variables)
    value, reason = None, None
    try:
        value = per_call(
            lambda n: command_of("benchmark.sweeps.calls", cell.model_dump_json(), str(n)), counter, env, calls
        )
    except UserError as error:
        reason = str(error)
    told = environment()
    names = (cell.framework, *(["jaxlib"] if cell.framework == "jax" else []), "numpy")
    return Count(
        cell_id=cell.id,
        cell=cell.cell_values(),
        instructions=value,
        reason=reason,
        calls=calls,
        counter=counter.name,
        cpu=told["cpu"],
        versions={name: told["versions"][name] for name in names if name in told["versions"]},
    )


def to_json(counts: Sequence[Count]) -> str:
    """Counts as a file's text."""
    return json.dumps([entry.model_dump() for entry in counts], indent=1) + "\n"


def read_counts(path: Path) -> dict[str, Count]:
    """By cell, the counts of a file.

    Raises:
        IncomparableError: if it is missing, empty, or not such a file.
    """
    try:
        entries = TypeAdapter(list[Count]).validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no list of counts"
        raise IncomparableError(f"no counts in {path}: {why}; write them with `rotbench instructions --out`") from None
    return {entry.cell_id: entry for entry in entries if entry.instructions}


def changes(now: Sequence[Count], before: Mapping[str, Count]) -> dict[str, Change]:
    """By cell, how its instructions have changed.

    Raises:
        IncomparableError: if no cell is in both, or a pair differs in counter, processor or versions.
    """
    pairs = [(entry, before[entry.cell_id]) for entry in now if entry.instructions and entry.cell_id in before]
    if not pairs:
        raise IncomparableError("no cell has a count in both; count the same cells, with the same options")
    for ours, theirs in pairs:
        for name in ("counter", "cpu", "versions"):
            if (a := getattr(ours, name)) != (b := getattr(theirs, name)):
                raise IncomparableError(f"counts of another {name} say nothing of each other: {b} before, {a} now")
    return {
        ours.cell_id: Change((ours.instructions or 0.0) / (theirs.instructions or 1.0), ours.error + theirs.error)
        for ours, theirs in pairs
    }
