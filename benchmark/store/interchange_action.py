"""The list of figures that benchmark actions read: ``[{name, unit, value, range, extra}]``.

A file holds figures of one direction: customSmallerIsBetter takes times, bytes and joules,
customBiggerIsBetter rates and accuracies. Text in ``extra`` is shown beside the figure; its last line
is the cell, by which the figure finds back into a row.
"""

import json
from collections.abc import Sequence
from typing import Any

from benchmark.metrics.statistics import Interval
from benchmark.spec.errors import UserError
from benchmark.store.interchange import KEY, Better, Imported, NothingImportedError, cell_from, row_from, words_of
from benchmark.store.row import Row
from benchmark.store.soundness import is_positive

SMALLER = {"median_ms": "ms", "allocator_peak_bytes": "bytes", "xla_temp_bytes": "bytes", "energy_j": "J"}
"""Columns, with their units; the resident memory is left out, as it is not the same in every run."""

BIGGER = {"tokens_per_s": "tokens/s", "test_accuracy": "share"}
COLUMN = "column"
TIMED = ("median_ms", "tokens_per_s")
"""Figures that are never 0."""


def entries(rows: Sequence[Row], better: Better) -> list[dict[str, Any]]:
    """The figures of rows, several a row.

    Raises:
        NothingImportedError: if no row has a figure of that direction.
    """
    columns = SMALLER if better == "smaller" else BIGGER
    found = [
        _entry(row, column, unit)
        for row in rows
        if row.status == "ok"
        for column, unit in columns.items()
        if getattr(row, column) is not None
    ]
    if not found:
        raise NothingImportedError(f"no row has a figure of which {better} is better: {', '.join(columns)}")
    return found


def _entry(row: Row, column: str, unit: str) -> dict[str, Any]:
    entry = {"name": f"{words_of(row)} {column}", "unit": unit, "value": getattr(row, column)}
    if (half := _half_width(row, column)) is not None:
        entry["range"] = f"± {half:.3g}"
    words = [f"{len(row.process_medians_ms)} processes"] if row.process_medians_ms else []
    words += [str(row.environment[name]) for name in ("cpu", "commit") if row.environment.get(name)]
    record = row.cell_values(exclude_defaults=True) | {COLUMN: column}
    return entry | {"extra": f"{', '.join(words)}\n{KEY} {json.dumps(record, sort_keys=True)}"}


def _half_width(row: Row, column: str) -> float | None:
    """Half of the 95 % interval, in the figure's unit."""
    if column not in TIMED or None in (row.median_ms, row.ci_low_ms, row.ci_high_ms):
        return None
    share = Interval(row.median_ms or 0.0, row.ci_low_ms or 0.0, row.ci_high_ms or 0.0).relative_half_width
    return float(share * getattr(row, column))


def rows_of(listed: Any, name: str) -> Imported:
    """The rows of a list of figures; those of one cell become one row.

    Raises:
        UserError: if it is no such list.
        NothingImportedError: if it is an empty one.
    """
    if not isinstance(listed, list):
        raise UserError(f"{name} must be a list of tables with name, unit and value, as benchmark actions read it")
    if not listed:
        raise NothingImportedError(f"{name} holds no figure: it is an empty list")
    found = Imported([], [])
    values: dict[str, dict[str, Any]] = {}
    for entry in listed:
        title = str(entry.get("name")) if isinstance(entry, dict) else "an entry"
        figure = _figure(entry) if isinstance(entry, dict) else "it is no table"
        if isinstance(figure, str):
            found.passed_over.append((title, figure))
        else:
            values.setdefault(figure["cell_id"], {}).update(figure)
    for fields in values.values():
        row = row_from(fields)
        found.passed_over.append((fields["cell_id"], row)) if isinstance(row, str) else found.rows.append(row)
    return found


def _figure(entry: dict[str, Any]) -> dict[str, Any] | str:
    """The fields of a row that one figure knows; or why it knows none."""
    last = str(entry.get("extra", "")).rpartition("\n")[2]
    if not last.startswith(f"{KEY} "):
        return "its extra does not say which cell it measured"
    try:
        record = json.loads(last.removeprefix(f"{KEY} "))
        column, value = record.pop(COLUMN), float(entry["value"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return "its record cannot be read"
    if not (is_positive(value) or (value == 0 and column not in TIMED)):
        return f"its value must be a finite number {'above' if column in TIMED else 'not below'} 0, got {value:g}"
    cell = cell_from(record)
    if isinstance(cell, str):
        return cell
    fields = _columns(column, value, cell.tokens)
    known = {"cell_id": cell.id, "status": "ok", "detail": {"imported": "action-json"}}
    return cell.cell_values() | known | fields if fields else f"unknown figure {column!r}"


def _columns(column: str, value: float, tokens: int) -> dict[str, Any]:
    match column:
        case "median_ms":
            return {"median_ms": value, "process_medians_ms": [value]}
        case "tokens_per_s":
            return _columns("median_ms", tokens / value * 1e3, tokens)
        case "allocator_peak_bytes" | "xla_temp_bytes":
            return {column: round(value)}
        case "energy_j" | "test_accuracy":
            return {column: value}
    return {}
