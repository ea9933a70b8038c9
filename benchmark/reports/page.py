"""The report as one HTML file that needs no network: style, script, Vega and all data are inside it."""

import json
import re
from collections.abc import Mapping
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from benchmark.reports import explorer
from benchmark.reports.as_json import finite
from benchmark.reports.charts import config
from benchmark.reports.environments import environments
from benchmark.reports.page_tables import cell_lines, page_table
from benchmark.reports.scaling_charts import template
from benchmark.reports.sections import Section
from benchmark.reports.training_charts import training_charts

if TYPE_CHECKING:
    from benchmark.reports.report import Report

VERDICTS = {"yes": "✓", "no": "✗", "partly": "◐", "undecided": "?", "not measured": "\N{EM DASH}"}
"""A sign beside each verdict, as colour alone tells nothing to some."""

_UNIT = re.compile(r"(?<=\d) (?=(?:%|[mµ]?s|min|h|[kMGT]?(?:B|FLOP|J))(?!\w))")
SHOWN = {"sentences": 3, "rows": 12, "findings": 8, "cells": 3, "ids": 24, "paper": 25}
"""How much stands open on the page; the rest is folded away below it."""


def to_html(report: "Report") -> str:
    """The whole page."""
    import jinja2

    loader = jinja2.PackageLoader("benchmark.reports")
    page = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=loader)
    page.filters["marked"] = _marked
    names = environments(report.rows)
    charts = training_charts(report.rows)
    sections = [_section(section) for section in report.sections if not section.missing]
    answers = [_answer(entry) for entry in report.answers]
    scaling = _scaling(report)
    drawn = [*charts, *(chart for part in sections for chart in part["section"].charts)]
    specs = {chart.name: chart.spec for chart in drawn} | {a["name"]: a["chart"] for a in answers if a["chart"]}
    return page.get_template("report.html.j2").render(
        report=report,
        answers=answers,
        shown=SHOWN,
        charts=charts,
        explorer=scaling,
        data=_script_json({"charts": specs, "explorer": scaling, "config": config()}),
        tables=[page_table(table, f"table-{i}") for i, table in enumerate(report.tables, 1)],
        published=[page_table(table, f"published-{i}") for i, table in enumerate(report.published, 1)],
        sections=sections,
        lacking=[section for section in report.sections if section.missing],
        cells=cell_lines(report.rows, names),
        known={row.cell_id for row in report.rows},
        several=len(set(names.values())) > 1,
        library=_library() if specs or scaling else "",
    )


def _marked(text: str) -> Any:
    """Plain text whose parts between backticks are code, and whose numbers keep their units on their line."""
    from markupsafe import Markup, escape

    parts = re.split(r"`([^`]+)`", text)
    words = [escape(_UNIT.sub("\N{NO-BREAK SPACE}", part)) for part in parts[::2]]
    codes = [Markup("<code>{}</code>").format(part) for part in parts[1::2]]
    return Markup("").join(part for pair in zip_longest(words, codes, fillvalue=Markup("")) for part in pair)


def _answer(entry: Any) -> dict[str, Any]:
    """An answer as the template reads it."""
    return {
        "name": f"answer-{entry.id}",
        "sign": VERDICTS.get(entry.verdict, "?"),
        "chart": entry.chart,
        "table": page_table(entry.table, f"answer-{entry.id}-table") if entry.table else None,
        "entry": entry,
    }


def _section(section: Section) -> dict[str, Any]:
    """A section as the template reads it."""
    tables = [page_table(table, f"{section.name}-table-{i}") for i, table in enumerate(section.tables, 1)]
    return {"section": section, "tables": tables}


def _scaling(report: "Report") -> Mapping[str, Any] | None:
    """What the chart over sequence length chooses from; None where no picture has two lengths."""
    points = explorer.points(report.rows)
    if not explorer.has_lengths(points):
        return None
    present = [metric for metric in explorer.METRICS if any(metric.name in point["values"] for point in points)]
    return {
        "points": points,
        "metrics": {metric.name: {"title": metric.title, "format": metric.format} for metric in present},
        "facets": explorer.facets(points),
        "start": explorer.start(points),
        "narrow": list(explorer.ANY),
        "template": template(None),
    }


def _script_json(value: Any) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(finite(value), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _library() -> str:
    """Vega, Vega-Lite and the embedder as one script, which must not end its own element."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    return re.sub(r"</(script)", r"<\\/\1", bundle, flags=re.IGNORECASE)
