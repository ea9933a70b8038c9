"""Rows one by one: lists, everything of one, other forms."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from benchmark.reports import numbers as n
from benchmark.reports.labels import algorithm, layer, variants
from benchmark.reports.tables import Table, to_markdown
from benchmark.spec.errors import UserError, unknown
from benchmark.store.row import Row

SHORT_ID = 8
"""Digits of an id in lists: enough to tell cells apart, and to name one by."""

FORMS = ("csv", "json", "md")


def row_table(rows: Sequence[Row]) -> Table:
    """One line a row."""
    words = variants(rows)
    names = ["cell", "when", "metric", "layer", "framework", "algorithm", "direction", "length or task", "batch"]
    names += ["median ms", "variant", "status"]
    lines = [
        [
            row.cell_id[:SHORT_ID],
            row.created_at.strftime("%Y-%m-%d %H:%M"),
            row.metric,
            layer(row),
            row.framework,
            algorithm(row),
            row.direction or n.MISSING,
            row.task or n.count(row.seq_len),
            n.count(row.batch),
            n.significant(row.median_ms),
            words[row.cell_id],
            row.status,
        ]
        for row in rows
    ]
    optional = ("when", "variant", "batch", "algorithm", "direction")
    return Table("Results", names, lines, frozenset({"batch", "median ms"}), optional=optional)


def one_row(rows: Sequence[Row], cell: str) -> Row:
    """The newest row of the cell whose id begins so. Raises UserError if there is none, or more than one cell."""
    found = {row.cell_id: row for row in rows if row.cell_id.startswith(cell)}
    if len(found) != 1 or not cell:
        what = f"{len(found)} cells begin with {cell!r}" if found else f"no cell begins with {cell!r}"
        raise UserError(f"{what}; `rotbench results list` names them")
    return next(iter(found.values()))


def detail_table(row: Row) -> Table:
    """Everything that is known of a row, a line a value."""
    lines = []
    for name, value in row.model_dump(mode="json", exclude_none=True).items():
        if isinstance(value, dict):
            lines += [[f"{name}.{key}", _text(part)] for key, part in value.items()]
        else:
            lines.append([name, _text(value)])
    return Table(f"Cell {row.cell_id}", ["name", "value"], lines)


def _text(value: Any) -> str:
    """One line; long lists are counted and shown by their ends."""
    if isinstance(value, list) and len(value) > 8:
        ends = ", ".join(map(str, value[:3])), ", ".join(map(str, value[-2:]))
        return f"{len(value)} values: {ends[0]}, ..., {ends[1]}"
    return value if isinstance(value, str) else json.dumps(value)


def exported(rows: Sequence[Row], form: str) -> str:
    """All rows as CSV, JSON or Markdown. Raises UserError for another form."""
    match form:
        case "json":
            values = [row.model_dump(mode="json", exclude_none=True) for row in rows]
            return json.dumps(values, allow_nan=False, indent=1) + "\n"
        case "md":
            return to_markdown(row_table(rows)) + "\n"
        case "csv":
            text = io.StringIO()
            writer = csv.DictWriter(text, list(Row.model_fields), lineterminator="\n")
            writer.writeheader()
            for row in rows:
                writer.writerow({name: _cell(value) for name, value in row.model_dump(mode="json").items()})
            return text.getvalue()
    raise unknown("format", form, FORMS)


def _cell(value: Any) -> Any:
    return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value
