"""A report: what it says, gathered from rows, and the files that it is written to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.reports.caveats import METHODS, caveats
from benchmark.reports.charts import Chart, drawn
from benchmark.reports.environments import environment_lines
from benchmark.reports.findings import findings
from benchmark.reports.page import to_html
from benchmark.reports.page_text import to_text
from benchmark.reports.results import latest
from benchmark.reports.sections import Section
from benchmark.reports.tables import Table, Traced
from benchmark.reports.traced import result_tables
from benchmark.store.files import write_whole
from benchmark.store.row import Row

if TYPE_CHECKING:
    from benchmark.reports.answers.record import Answer


@dataclass(frozen=True)
class Report:
    """What a report says, in any form. ``rows`` are the last of each cell."""

    summary: str
    answers: Sequence["Answer"]
    findings: list[str]
    tables: list[Traced]
    published: Sequence[Table]
    sections: Sequence[Section]
    methods: Sequence[str]
    caveats: list[str]
    machines: list[str]
    rows: list[Row]


def build(
    rows: Sequence[Row],
    bad: Sequence[tuple[Path, str]] = (),
    answers: Sequence["Answer"] = (),
    published: Sequence[Table] = (),
    sections: Sequence[Section] = (),
) -> Report:
    """The report on some rows; of a cell measured more than once, the last row counts.

    Args:
        rows: as ``store.files.read`` gives them.
        bad: files that could not be read, with the reason; each becomes a caveat.
        answers: to the questions that the report opens with.
        published: what papers print, in tables that stay apart from measured ones.
        sections: parts that do not come from the last row of each cell.
    """
    last = latest(rows)
    said = dict.fromkeys(f"{entry.id}: {caveat}" for entry in answers for caveat in entry.caveats)
    return Report(
        summary=_summary(last),
        answers=answers,
        findings=findings(last),
        tables=result_tables(last),
        published=published,
        sections=sections,
        methods=METHODS,
        caveats=[*caveats(rows, last, bad), *said],
        machines=environment_lines(last),
        rows=last,
    )


def _summary(rows: Sequence[Row]) -> str:
    """How many cells, and when they were measured."""
    days = sorted({row.created_at.strftime("%Y-%m-%d") for row in rows})
    failed = sum(row.status != "ok" for row in rows)
    words = f"{len(rows)} {'cell' if len(rows) == 1 else 'cells'}"
    words += f", {failed} of them without a result" if failed else ""
    when = f", measured {days[0]}" + (f" to {days[-1]}" if days[1:] else "") if days else ""
    return f"{words}{when}."


def _html(report: Report, folder: Path) -> list[Path]:
    return [_written(folder / "report.html", to_html(report))]


def _markdown(report: Report, folder: Path) -> list[Path]:
    return [_written(folder / "report.md", to_text(report))]


def _json(report: Report, folder: Path) -> list[Path]:
    from benchmark.reports.as_json import to_json

    return [_written(folder / "report.json", to_json(report))]


def _latex(report: Report, folder: Path) -> list[Path]:
    """The text with its tables, and every figure beside it as SVG and PDF."""
    from benchmark.reports.page_latex import charts, to_document

    shown = charts(report)
    paths = [path for chart in shown for path in _figure(chart, folder / "figures")]
    return [*paths, _written(folder / "report.tex", to_document(report, shown))]


def _figure(chart: Chart, folder: Path) -> list[Path]:
    """Both vector forms; the first finds out whether the folder can be written."""
    svg = _written(folder / f"{chart.name}.svg", drawn(chart.spec, "svg"))
    return [svg, _written(svg.with_suffix(".pdf"), drawn(chart.spec, "pdf"))]


def _written(path: Path, contents: str | bytes) -> Path:
    write_whole(path, contents)
    return path


WRITERS: dict[str, Callable[[Report, Path], list[Path]]] = {
    "html": _html,
    "md": _markdown,
    "latex": _latex,
    "json": _json,
}
FORMATS = tuple(WRITERS)


def write(report: Report, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write the report in each format and return the paths, in the order of the formats.

    Args:
        report: as ``build`` makes it.
        folder: is made where it is missing.
        formats: of ``FORMATS``.

    Raises:
        UserError: if the folder cannot be written; nothing half-written is left.
    """
    return [path for form in formats for path in WRITERS[form](report, folder)]
