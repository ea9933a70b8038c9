"""A report as JSON values: everything that is in its other forms, without samples."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmark.reports.tables import Table

if TYPE_CHECKING:
    from benchmark.reports.answers.record import Answer
    from benchmark.reports.report import Report
    from benchmark.reports.sections import Section
    from benchmark.store.row import Row

FORMAT = 1
"""Raised when a name changes its meaning or goes away."""

LARGE = {"samples_ms"}
"""Columns that are left out; the results folder has them."""


def to_json(report: "Report") -> str:
    """The whole report as text: strict JSON, in which a number that is not finite is null."""
    return json.dumps(report_values(report), allow_nan=False, indent=1, default=str) + "\n"


def report_values(report: "Report") -> dict[str, Any]:
    """The report by its parts; ``format`` is the version of their names."""
    return {
        "format": FORMAT,
        "summary": report.summary,
        "answers": [answer_values(answer) for answer in report.answers],
        "findings": list(report.findings),
        "tables": [table_values(table) for table in report.tables],
        "sections": [section_values(section) for section in report.sections],
        "methods": list(report.methods),
        "caveats": list(report.caveats),
        "environments": list(report.machines),
        "rows": [row_values(row) for row in report.rows],
    }


def answer_values(answer: "Answer") -> dict[str, Any]:
    """An answer under the names of its fields."""
    table = table_values(answer.table) if answer.table else None
    return finite({**vars(answer), "table": table})


def table_values(table: Table) -> dict[str, Any]:
    """A table: its columns in order, and its lines as text under their names.

    ``cells``, where the table knows them, are the ids behind each line.
    """
    lines = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    found = {"title": table.title, "columns": list(table.columns), "rows": lines, "notes": list(table.notes)}
    cells = getattr(table, "cells", None)
    return found | ({"cells": cells} if cells else {})


def section_values(section: "Section") -> dict[str, Any]:
    """A section under the names of its fields; its charts are Vega-Lite."""
    tables = [table_values(table) for table in section.tables]
    return finite({**vars(section), "tables": tables, "charts": [vars(chart) for chart in section.charts]})


def row_values(row: "Row") -> dict[str, Any]:
    """A result row without what is unknown, and without samples."""
    values = row.model_dump(mode="json", exclude_none=True, exclude=LARGE)
    values["detail"] = {name: value for name, value in row.detail.items() if name != "process_samples"}
    return finite(values)


def finite(value: Any) -> Any:
    """A value in which every number that is not finite has become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): finite(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(part) for part in value]
    return value
