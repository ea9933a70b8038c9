"""The report as a LaTeX document, with vector figures beside it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmark.reports.charts import Chart
from benchmark.reports.latex import PACKAGES, escaped, to_latex
from benchmark.reports.scaling_charts import still_charts
from benchmark.reports.training_charts import training_charts

if TYPE_CHECKING:
    from benchmark.reports.report import Report

HEAD = r"""%% Every table and figure stands by itself and can be taken out.
\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{%s}
\usepackage[margin=2cm]{geometry}
\begin{document}
"""


def charts(report: "Report") -> list[Chart]:
    """Everything that is drawn: answers first, then cost over length, then trainings."""
    own = [Chart(f"answer-{a.id}", a.question, a.chart) for a in report.answers if a.chart]
    return [*own, *still_charts(report.rows), *training_charts(report.rows)]


def to_document(report: "Report", shown: Sequence[Chart]) -> str:
    """A document that compiles where the figures lie in ``figures/``.

    Args:
        report: as ``report.build`` makes it.
        shown: the charts that were drawn.
    """
    parts = [HEAD % ",".join([*PACKAGES, "graphicx"]), r"\section*{rotbench report}", escaped(report.summary)]
    for entry in report.answers:
        parts.append(rf"\subsection*{{{escaped(f'{entry.id}. {entry.question}')}}}")
        parts.append(rf"\emph{{{escaped(entry.verdict)}}}. {escaped(' '.join(entry.sentences))}")
        parts += [to_latex(entry.table)] if entry.table else []
        parts += [_comment("again", entry.again)]
    parts += [_figure(chart) for chart in shown]
    for table in report.tables:
        parts += [_comment("cells by line", [" ".join(ids) for ids in table.cells]), to_latex(table)]
    parts += [to_latex(table) for table in report.published]
    parts += [r"\section*{Methods and caveats}", _items([*report.methods, *report.caveats, *report.machines])]
    return "\n\n".join(part for part in parts if part) + "\n\n\\end{document}\n"


def _comment(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"% {title}:", *(f"%   {line}" for line in lines)]) if lines else ""


def _figure(chart: Chart) -> str:
    caption = escaped(" ".join([f"{chart.title}.", *chart.notes]))
    lines = [r"\begin{figure}[ht]", r"\centering", rf"\includegraphics[width=.8\linewidth]{{figures/{chart.name}.pdf}}"]
    return "\n".join([*lines, rf"\caption{{{caption}}}", r"\end{figure}"])


def _items(lines: Sequence[str]) -> str:
    return "\n".join([r"\begin{itemize}", *(rf"\item {escaped(line)}" for line in lines), r"\end{itemize}"])
