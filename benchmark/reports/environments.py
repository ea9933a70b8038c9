"""The distinct machines, versions and commits behind some rows, numbered E1, E2, ... in the order of their rows."""

from collections.abc import Sequence

from benchmark.reports import numbers as n
from benchmark.store.row import Row


def environments(rows: Sequence[Row]) -> dict[str, str]:
    """By cell, the name of the environment it was measured in."""
    names: dict[str, str] = {}
    return {row.cell_id: names.setdefault(description(row), f"E{len(names) + 1}") for row in rows}


def environment_lines(rows: Sequence[Row]) -> list[str]:
    """One line an environment: its name, what is known of it, and how many cells were measured in it."""
    names = environments(rows)
    counts: dict[str, int] = {}
    for row in rows:
        line = f"{names[row.cell_id]}: {description(row)}"
        counts[line] = counts.get(line, 0) + 1
    return [f"{line} ({n.counted(count, 'cell')})" for line, count in counts.items()]


def device(row: Row) -> str:
    """The device's own name; of a CPU with its threads."""
    return f"{device_name(row)}, {n.counted(row.threads, 'thread')}" if row.device == "cpu" else device_name(row)


def device_name(row: Row) -> str:
    """The device's own name, else what the cell calls it."""
    own = row.environment.get("cpu") if row.device == "cpu" else None
    return str(row.detail.get("device_name") or own or row.device)


def description(row: Row) -> str:
    """Everything known of an environment that may change a figure; equal texts are the same environment."""
    e = row.environment
    listed = e.get("versions")
    versions = ", ".join(f"{k} {v}" for k, v in listed.items()) if isinstance(listed, dict) else "versions unknown"
    commit = str(e.get("commit") or "no commit")[:12] + (" (modified)" if e.get("dirty") else "")
    parts = [
        f"{e.get('cpu') or 'unknown processor'}, {e.get('cpus', '?')} CPUs",
        f"{n.scaled(e.get('memory_bytes'), 'B')} memory",
        f"{e.get('system', 'unknown system')}, Python {e.get('python', '?')}",
        versions,
        commit,
        f"device {row.detail.get('device_name', row.device)}",
    ]
    return "; ".join(parts)
