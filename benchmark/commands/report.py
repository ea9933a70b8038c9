"""The command that makes a report of results."""

from pathlib import Path
from typing import Annotated

import typer

from benchmark.commands.options import RUNS, Words
from benchmark.commands.results import read_results
from benchmark.console import say, warn


def report(
    results: Annotated[list[Path], typer.Argument(help="Results folders or files.")] = [RUNS],
    form: Annotated[Words, typer.Option("--format", help="html, md, latex (with SVG and PDF figures), json.")] = [
        "html,md"
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the report.")] = Path("results/report"),
) -> None:
    """Answer the reviewers' questions from results: a page that works offline, Markdown, LaTeX, JSON; prints paths."""
    from benchmark.history.commits import trunk
    from benchmark.reports import report as reports
    from benchmark.reports.answers import answers, published_tables
    from benchmark.reports.sections import history_section, signal_sections
    from benchmark.studies.signal_table import studies
    from benchmark.sweeps.plan import each

    formats = sorted(each("format", form, reports.FORMATS), key="json,latex,md,html".index)
    found, unread = studies(results)
    for path, why in unread:
        warn(f"{path} could not be read and is left out: {why}")
    rows, bad = read_results(results, needed=not found)
    sections = [*signal_sections(found), history_section(rows, trunk(Path()))]
    made = reports.build(rows, [*bad, *unread], answers(rows), published_tables(rows), sections)
    for path in reports.write(made, out, formats):
        say(str(path))
