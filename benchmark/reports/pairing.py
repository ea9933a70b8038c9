"""What of two sources is not compared, and why: lines and JSON."""

from collections.abc import Sequence
from typing import Any

from benchmark.regress.pairing import Pairing
from benchmark.regress.verdicts import Lacking
from benchmark.reports import numbers as n
from benchmark.store.row import Row

MOST_NAMED = 5


def pairing_lines(pairing: Pairing) -> list[str]:
    """What is not compared, and why, a line each reason."""
    lines = []
    for why, rows in _by_reason(pairing).items():
        keys = dict.fromkeys(key for entry in pairing.refused if "; ".join(entry.why) == why for key in entry.keys)
        allow = " ".join(f"--allow-different {key}" for key in keys)
        lines.append(f"not comparable: {why} ({_cells(rows)}); compare all the same with {allow}")
    if pairing.only_after:
        lines.append(f"without a baseline: {_cells(pairing.only_after)}")
    if pairing.only_before:
        lines.append(f"not measured now: {_cells(pairing.only_before)}")
    lines += [
        f"no result any more: {cell_name(after)} {after.status}: {after.reason or n.MISSING}"
        for _, after in pairing.broken
    ]
    return lines


def uncompared_lines(pairing: Pairing, alone: Sequence[Lacking]) -> list[str]:
    """The same, with the metrics that cells have on one side only."""
    where = {"before": "in the older source", "after": "in the newer source", "common": "of equal seeds or above 0"}
    groups: dict[tuple[str, str], list[Row]] = {}
    for entry in alone:
        groups.setdefault((entry.quantity.name, entry.side), []).append(entry.pair.row)
    lines = [f"no {name} {where[side]}, so not compared: {_cells(rows)}" for (name, side), rows in groups.items()]
    return [*pairing_lines(pairing), *lines]


def _by_reason(pairing: Pairing) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for entry in pairing.refused:
        found.setdefault("; ".join(entry.why), []).append(entry.row)
    return found


def _cells(rows: Sequence[Row]) -> str:
    named = ", ".join(cell_name(row) for row in rows[:MOST_NAMED])
    return named + (f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else "")


def cell_name(row: Row) -> str:
    """A cell in a few words."""
    what = row.task or (f"length {row.seq_len:,}" if row.seq_len else "")
    return " ".join(w for w in (row.metric, row.framework, row.layer, row.direction, what) if w)


def pairing_json(pairing: Pairing, alone: Sequence[Lacking]) -> dict[str, Any]:
    """What was not compared, as JSON values."""
    return {
        "refused": [{"cell_id": entry.row.cell_id, "differences": entry.why} for entry in pairing.refused],
        "broken": [
            {"cell_id": after.cell_id, "status": after.status, "reason": after.reason} for _, after in pairing.broken
        ],
        "only_before": [row.cell_id for row in pairing.only_before],
        "only_after": [row.cell_id for row in pairing.only_after],
        "lacking": [
            {"cell_id": entry.pair.row.cell_id, "quantity": entry.quantity.name, "side": entry.side} for entry in alone
        ],
    }
