"""Counted instructions as a table."""

from collections.abc import Mapping, Sequence

from benchmark.reports import numbers as n
from benchmark.reports.listing import SHORT_ID
from benchmark.reports.tables import Table
from benchmark.sweeps.instructions import Change, Count


def instructions_table(counts: Sequence[Count], changes: Mapping[str, Change]) -> Table:
    """A line a cell.

    Args:
        counts: of at least one cell.
        changes: by cell, now over before, where that is known.
    """
    names = [
        "cell",
        "layer",
        "framework",
        "algorithm",
        "direction",
        "length",
        "instructions a call",
        "change",
        "reason",
    ]
    lines = [_line(entry, changes.get(entry.cell_id)) for entry in counts]
    numeric = frozenset({"length", "instructions a call", "may be off by", "change"})
    notes = [f"Counted by {counts[0].counter}, on one thread; start and compilation are taken out. No time."]
    notes.append("may be off by: what two starts differ in; more --calls, or a longer sequence, make it less.")
    if counts[0].counter == "valgrind":
        notes.append("Under valgrind the compiled recurrence is off, so auto may choose another algorithm than usual.")
    return Table("Instructions", names, lines, numeric, notes)


def _line(entry: Count, change: Change | None) -> list[str]:
    cell = entry.cell
    return [
        entry.cell_id[:SHORT_ID],
        str(cell["layer"]),
        str(cell["framework"]),
        str(cell.get("algorithm", n.MISSING)),
        str(cell.get("direction", n.MISSING)),
        n.count(cell.get("seq_len")),
        n.scaled(round(entry.instructions) if entry.instructions is not None else None),
        n.percent(entry.error) if entry.instructions else n.MISSING,
        f"{100 * (change.ratio - 1):+.2f} %" if change else n.MISSING,
        entry.reason or n.MISSING,
    ]
