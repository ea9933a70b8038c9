"""The report in Markdown."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmark.reports.environments import environments
from benchmark.reports.listing import SHORT_ID
from benchmark.reports.page_tables import cell_lines
from benchmark.reports.tables import Table, Traced, to_markdown

if TYPE_CHECKING:
    from benchmark.reports.answers.record import Answer
    from benchmark.reports.report import Report
    from benchmark.reports.sections import Section


def to_text(report: "Report") -> str:
    """The whole report, each table with the cells behind its lines, and below how to measure these again."""
    answers = ["## Answers", *(_answer(entry) for entry in report.answers)] if report.answers else []
    parts = [
        "# rotbench report",
        report.summary,
        *answers,
        "## At a glance",
        _list(report.findings),
        "## Tables",
        *(to_markdown(with_cells(table)) for table in report.tables),
        *(part for section in report.sections for part in _section(section)),
        *(["## Printed by papers", *map(to_markdown, report.published)] if report.published else []),
        "## How it was measured",
        _list(report.methods),
        "## What to keep in mind",
        _list(report.caveats),
        "## Environments",
        _list(report.machines),
        "## Cells",
        to_markdown(_cells(report)),
    ]
    return "\n\n".join(parts) + "\n"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def with_cells(table: Traced) -> Table:
    """The table with a last column of short ids."""
    lines = [
        [*line, " ".join(cell[:SHORT_ID] for cell in cells)]
        for line, cells in zip(table.rows, table.cells, strict=True)
    ]
    return replace(table, columns=[*table.columns, "cell"], rows=lines)


def _answer(entry: "Answer") -> str:
    """One question with all that is known of it."""
    parts = [f"### {entry.id}. {entry.question}", f"Verdict: {entry.verdict}.", "\n".join(entry.sentences)]
    if entry.missing:
        parts.append(f"Not measured:\n\n{_list(entry.missing)}")
    if entry.table:
        parts.append(to_markdown(entry.table).replace("### ", "#### ", 1))
    parts += [_list(entry.caveats)] if entry.caveats else []
    if entry.again:
        cells = ", ".join(cell[:SHORT_ID] for cell in entry.cells)
        parts.append(f"Measured in cells {cells}; again by:\n\n" + _list([f"`{command}`" for command in entry.again]))
    return "\n\n".join(part for part in parts if part)


def _section(section: "Section") -> list[str]:
    """Its tables and how to make them anew, or the line that says what is missing."""
    head = f"## {section.title}"
    if section.missing:
        return [head, f"{section.missing[:1].upper()}{section.missing[1:]}."]
    tables = [with_cells(table) if isinstance(table, Traced) else table for table in section.tables]
    return [head, f"Again by: {', '.join(f'`{command}`' for command in section.again)}", *map(to_markdown, tables)]


def _cells(report: "Report") -> Table:
    names = environments(report.rows)
    lines = [[*cell[:-1], f"`{cell.command}`"] for cell in cell_lines(report.rows, names)]
    columns = ["cell", "what", "measured (UTC)", "status", "env", "command"]
    return Table("Cells and the commands that measure them again", columns, lines)
