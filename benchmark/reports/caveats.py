"""How results came about, and what a reader must keep in mind of them."""

from collections.abc import Sequence
from pathlib import Path

from benchmark.reports import numbers as n
from benchmark.reports.environments import environments
from benchmark.reports.labels import algorithm
from benchmark.reports.progress import warnings_of
from benchmark.reports.results import history
from benchmark.reports.trained import notes_on_data
from benchmark.store.row import SCHEMA_VERSION, Row

MOST_GAPS = 12
"""Gaps of a sweep that are named one by one."""

METHODS = (
    "A cell is one combination of layer, sizes, framework, algorithm, direction, device and settings. Each of its "
    "processes is fresh and measures once, after a check of the very same call against an independent oracle.",
    "A time is the geometric mean of the medians of several fresh processes, with Student's 95 % interval; of a "
    "single process it is that process's median with its bootstrap interval: spread between processes is missing.",
    "FLOPs are counted from formulas, one convention for both frameworks: real add 1, mul 1; complex add 2, mul 6.",
    "Memory is kept by kind, because kinds do not compare: what the allocator, the compiler or the system counts.",
    "Device-hours are wall time of a training times devices, evaluation and compilation included, of the device named.",
    "An unknown value is an en dash and has its reason in the results; it is never 0.",
)


def caveats(rows: Sequence[Row], last: Sequence[Row], bad: Sequence[tuple[Path, str]]) -> list[str]:
    """What must be kept in mind, from most general to single files.

    Args:
        rows: all that were read.
        last: the last of each cell.
        bad: files that could not be read, with the reason.
    """
    said = ["Speed is compared at the sizes given, which are not matched in parameters or state; tables have both."]
    said += [*_of_environments(last), *_of_trainings(last), *_of_failures(last), *gaps(last)]
    if any(row.device == "cpu" for row in last):
        said.append("Times and device-hours on cpu are those of the processor named below, not of a GPU.")
    if len(rows) > len(last):
        said.append(f"Left out: {n.counted(len(rows) - len(last), 'older row')} of cells that were measured again.")
    if newer := sum(row.schema_version > SCHEMA_VERSION for row in last):
        said.append(f"Written by a newer rotbench, whose additions are not shown: {n.counted(newer, 'row')}.")
    said += _warnings(last)
    if dirty := len({row.cell_id for row in last if row.environment.get("dirty")}):
        said.append(f"Measured on a tree that differed from its commit: {n.counted(dirty, 'cell')}.")
    return [*said, *(f"{path} could not be read and is left out: {reason}" for path, reason in bad)]


def _of_environments(rows: Sequence[Row]) -> list[str]:
    count = len(set(environments(rows).values()))
    if count < 2:
        return []
    return [
        f"These results come from {count} environments (machine, versions, commit). Figures of different ones are kept "
        "apart: no chart or sentence compares them."
    ]


def _of_trainings(rows: Sequence[Row]) -> list[str]:
    trained = [row for row in rows if row.metric == "train" and row.status == "ok"]
    seeds: dict[tuple[str | None, str, str], set[int]] = {}
    for row in trained:
        seeds.setdefault((row.task, row.framework, row.layer), set()).add(row.seed)
    said = ["One seed a training decides no difference between layers."] if 1 in map(len, seeds.values()) else []
    if unscored := sum(history(row).get("test_score", row.test_accuracy) is None for row in trained):
        said.append(f"Without a test score: {n.counted(unscored, 'training')}.")
    return said + [f"{note}." for note in dict.fromkeys(note for row in rows for note in notes_on_data(row))]


def _of_failures(rows: Sequence[Row]) -> list[str]:
    counts: dict[str, int] = {}
    for row in rows:
        if row.status != "ok":
            counts[row.status] = counts.get(row.status, 0) + 1
    if not counts:
        return []
    kinds = ", ".join(f"{count} {status}" for status, count in counts.items())
    total = f"{sum(counts.values())} of {n.counted(len(rows), 'cell')}"
    return [f"Without a result, and in a table of their own: {total} ({kinds})."]


def gaps(rows: Sequence[Row]) -> list[str]:
    """Lengths that a layer lacks and others of the same framework, direction and environment have."""
    names = environments(rows)
    several = len(set(names.values())) > 1
    groups: dict[tuple[str, ...], dict[str, set[int]]] = {}
    for row in rows:
        if row.metric in {"speed", "memory"} and row.status == "ok" and row.seq_len and row.subject == "layer":
            place = names[row.cell_id] if several else ""
            series = groups.setdefault((row.metric, row.framework, row.direction or "", place), {})
            series.setdefault(f"{row.layer} ({algorithm(row)})", set()).add(row.seq_len)
    found = []
    for key, series in groups.items():
        every = set().union(*series.values())
        for name, lengths in series.items():
            if lacking := sorted(every - lengths):
                listed = ", ".join(map(n.count, lacking))
                found.append(f"No {' '.join(filter(None, key))} of {name} at length {listed}, which others have.")
    more = [f"And {n.counted(len(found) - MOST_GAPS, 'more gap')} of this kind."] if len(found) > MOST_GAPS else []
    return found[:MOST_GAPS] + more


def _warnings(rows: Sequence[Row]) -> list[str]:
    """What disturbed measurements, and how many."""
    counts: dict[str, int] = {}
    for row in rows:
        for text in {word.split(" (")[0] for word in warnings_of(row)}:
            counts[text] = counts.get(text, 0) + 1
    return [f"In {count} of {n.counted(len(rows), 'cell')} {text}." for text, count in counts.items()]
