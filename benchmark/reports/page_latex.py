"""The report as a LaTeX document, with vector figures beside it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmark.reports.charts import Chart
from benchmark.reports.latex import PACKAGES, escaped, to_latex
from benchmark.reports.scaling_charts import still_charts
from benchmark.reports.sections import Section
from benchmark.reports.tables import Table, Traced
from benchmark.reports.training_charts import training_charts

if TYPE_CHECKING:
    from benchmark.reports.answers.record import Answer
    from benchmark.reports.report import Report

HEAD = r"""%% Every table and figure stands by itself and can be taken out.
\ifdefined\pdfminorversion\pdfminorversion=7\fi
\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{textcomp,%s}
\usepackage[margin=2cm]{geometry}
\sloppy
\begin{document}
"""


def charts(report: "Report") -> list[Chart]:
    """Everything that is drawn: answers first, then cost over length, trainings, sections."""
    own = [Chart(f"answer-{a.id}", a.question, a.chart) for a in report.answers if a.chart]
    return [*own, *still_charts(report.rows), *training_charts(report.rows), *_of_sections(report)]


def _of_sections(report: "Report") -> list[Chart]:
    return [chart for section in report.sections for chart in section.charts]


def to_document(report: "Report", shown: Sequence[Chart]) -> str:
    """A document that compiles where the figures lie in ``figures/``.

    Args:
        report: as ``report.build`` makes it.
        shown: the charts that were drawn.
    """
    parts = [HEAD % ",".join([*PACKAGES, "graphicx"]), r"\section*{rotbench report}", escaped(report.summary)]
    parts += [part for entry in report.answers for part in _answer(entry)]
    parts += [_figure(chart) for chart in shown]
    for table in report.tables:
        parts += _table(table)
    for section in report.sections:
        parts += _section(section)
    parts += [to_latex(table) for table in report.published]
    parts += [r"\section*{Methods and caveats}", _items([*report.methods, *report.caveats, *report.machines])]
    return "\n\n".join(part for part in parts if part) + "\n\n\\end{document}\n"


def _answer(entry: "Answer") -> list[str]:
    missing = [f"Not measured: {line}" for line in entry.missing]
    return [
        rf"\subsection*{{{escaped(f'{entry.id}. {entry.question}')}}}",
        rf"\emph{{{escaped(entry.verdict)}}}",
        _items([*entry.sentences, *missing, *entry.caveats]),
        *([to_latex(entry.table)] if entry.table else []),
        _comment("cells", entry.cells),
        _comment("again", entry.again),
    ]


def _table(table: Table) -> list[str]:
    cells = table.cells if isinstance(table, Traced) else []
    return [_comment("cells by line", [" ".join(ids) for ids in cells]), to_latex(table)]


def _section(section: Section) -> list[str]:
    head = rf"\section*{{{escaped(section.title)}}}"
    if section.missing:
        return [head, escaped(f"{section.missing[:1].upper()}{section.missing[1:]}.")]
    return [head, _comment("again", section.again), *(part for table in section.tables for part in _table(table))]


def _comment(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"% {title}:", *(f"%   {line}" for line in lines)]) if lines else ""


def _figure(chart: Chart) -> str:
    caption = escaped(" ".join([f"{chart.title}.", *chart.notes]))
    size = r"width=.8\linewidth,height=.8\textheight,keepaspectratio"
    lines = [r"\begin{figure}[ht]", r"\centering", rf"\includegraphics[{size}]{{figures/{chart.name}.pdf}}"]
    return "\n".join([*lines, rf"\caption{{{caption}}}", r"\end{figure}"])


def _items(lines: Sequence[str]) -> str:
    """A list; LaTeX has none without items."""
    items = (rf"\item {{}}{escaped(line)}" for line in lines)  # the braces keep ``[`` from being an option
    return "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"]) if lines else ""
