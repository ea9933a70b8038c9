"""Data sets: where they come from, what of them is here, and whether it is as published."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark.data.examine import Finding
from benchmark.data.folder import State
from benchmark.data.sources import SOURCES
from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.tasks import readers
from benchmark.tasks.base import Splits

EXAMPLE = "Get one with `rotbench data get NAME`; NAME/PART is enough for the tasks beside it."


def source_table() -> Table:
    """Every part of every data set, and the tasks that read it."""
    rows = []
    for source in SOURCES.values():
        for address, part in zip(source.addresses, source.parts.values(), strict=True):
            tasks = ", ".join(readers([address])) or n.MISSING
            size = n.scaled(None if part.files else source.download_bytes, "B")
            rows.append([address, part.title, tasks, size, source.licence, source.citation])
    columns = ["name", "data set", "tasks", "download", "licence", "source"]
    return Table("Data sets", columns, rows, frozenset({"download"}), [EXAMPLE], ("source", "licence"))


def state_table(states: Sequence[State], folder: Path, cache_bytes: int) -> Table:
    """What of each address is here, every missing file, and what to do."""
    rows = [
        [s.address, s.status, str(s.root or "") or ", ".join(map(str, s.archives)) or n.MISSING, _lines(s), s.cure]
        for s in states
    ]
    notes = [f"Data folder: {folder}"]
    if cache_bytes:
        notes.append(f"Caches: {n.scaled(cache_bytes, 'B')} in {folder / 'cache'}; they can be deleted at any time.")
    return Table("Data sets here", ["name", "state", "where", "missing", "what to do"], rows, notes=notes)


def _lines(found: State) -> str:
    return "\n".join(found.missing) or n.MISSING


def state_json(found: State) -> dict[str, Any]:
    """One state as JSON values."""
    plain = {"root": str(found.root) if found.root else None, "archives": [str(path) for path in found.archives]}
    return found._asdict() | plain


def finding_table(findings: Sequence[Finding]) -> Table:
    """What was checked, and how it is."""
    rows = [[f.address, str(f.place), "good" if f.good else "WRONG", f.detail] for f in findings]
    return Table("Data sets checked", ["name", "what", "verdict", "detail"], rows)


def made_line(task: str, kind: str, splits: Splits, folder: Path | None, size_bytes: int) -> str:
    """Of what a task's data consist, and where they are kept."""
    sizes = [
        f"{n.count(len(split.labels))} {name}"
        for name, split in zip(("training", "validation", "test"), splits[:3], strict=True)
    ]
    kept = f"{n.scaled(size_bytes, 'B')} in {folder}" if folder else "no cache is kept"
    return f"{task}, {kind} data: {', '.join(sizes)} examples; {kept}"
