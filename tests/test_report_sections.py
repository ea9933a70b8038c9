"""Parts of a report beside its cells: signal propagation and history over commits; and results that are odd."""

import itertools
import json
import shutil
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import altair as alt
import many_rows
import pytest
from answer_rows import studied
from test_store import row

import cli
from benchmark.reports import report
from benchmark.reports.answers import answers
from benchmark.reports.page import to_html
from benchmark.reports.sections import history_section, signal_again, signal_sections
from benchmark.reports.study_cells import norms_table
from benchmark.reports.tables import narrowed, natural_width
from benchmark.store import files
from benchmark.studies import signal_run, signal_table
from benchmark.studies.signal_plan import Settings
from benchmark.studies.signal_table import Point, Study

SETTINGS = Settings(
    widths=(16, 100), depth_c=(0.5, 1.0), depths=(7,), simulated_widths=(8,), samples=16, layers=("lru",), seed=3
)


def study(name="0123456789abcdef", settings=SETTINGS):
    """Exact points, and a layer's simulated ones in torch."""
    layer = [Point("lru", source, "E", 256, t, -0.5) for source in ("exact", "torch") for t in (1, 1024)]
    return Study(name, json.loads(json.dumps(settings.as_json())), [*signal_run.exact_points(settings), *layer])


def over_commits(commits=4, **changes):
    """One cell at several commits, slower from the third on."""
    return [
        row(
            median_ms=1.0 + (i > 1),
            process_medians_ms=[1.0 + (i > 1)],
            created_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=i),
            environment=many_rows.ROME | {"commit": f"{i:040x}"},
            **changes,
        )
        for i in range(commits)
    ]


class Lines(HTMLParser):
    """The body lines of every table: where they stand, their links, and the table of cells by id."""

    def __init__(self, text):
        super().__init__()
        self.open, self.lines, self.commands, self.found = [], [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        kept = dict(attrs)
        if tag in {"article", "section", "tbody"}:
            self.open.append(kept.get("aria-labelledby") or kept.get("id") or "")
        elif tag == "tr" and self.open[-1].endswith("-body"):
            self.found = {"id": kept.get("id"), "where": list(self.open), "cells": [], "last": ""}
        elif tag == "td" and self.found:
            self.found["last"] = ""
        elif tag == "a" and self.found:
            self.found["cells"] += kept.get("data-cells", "").split()

    def handle_endtag(self, tag):
        if tag in {"article", "section", "tbody"}:
            self.open.pop()
        elif tag == "tr" and self.found:
            if self.found["id"]:
                self.commands[self.found["id"].removeprefix("c-")] = self.found["last"]
            else:
                self.lines.append(self.found)
            self.found = None

    def handle_data(self, text):
        if self.found:
            self.found["last"] += text


def test_every_line_of_the_page_has_its_cells_and_their_command():
    rows = [*many_rows.speeds(240), *many_rows.trainings(), *over_commits(2, cell_id="0" * 16)]
    replies = answers(rows)
    found = Lines(to_html(report.build(rows, answers=replies, sections=[history_section(rows)])))
    assert set(found.commands) == {r.cell_id for r in rows}
    assert all(command.startswith("rotbench ") for command in found.commands.values())
    by_name = {f"answer-{reply.id}": reply for reply in replies}
    for line in found.lines:
        inside = [name for name in line["where"] if name in by_name]
        if inside:  # an answer's lines have their cells and commands below the table
            reply = by_name[inside[0]]
            assert reply.again and set(reply.cells) <= set(found.commands), reply.id
        else:
            assert line["cells"] and set(line["cells"]) <= set(found.commands), line
    assert {"history", "tables", "answer-Q3"} <= {name for line in found.lines for name in line["where"]}


def test_a_study_has_its_tables_charts_and_command():
    (section,) = signal_sections([study()])
    assert section.title == "Signal propagation"
    assert [table.title for table in section.tables][::2] == [
        "Energy of an impulse and of a driven state, exact",
        "Glorot rescaled for a horizon",
    ]
    assert len(section.charts) == 4
    for chart in section.charts:
        alt.Chart.from_dict(chart.spec, validate=True)
        assert "config" not in chart.spec  # looks as all charts of the page
    page = to_html(report.build([], sections=[section]))
    assert all(f'data-chart="{chart.name}"' in page for chart in section.charts)
    assert "Glorot rescaled for a horizon</h3>" in page
    assert f"<code>{section.again[0]}</code>" in page


def test_the_command_of_a_study_asks_for_the_same_settings(monkeypatch, tmp_path):
    asked = []

    def note(settings, frameworks, _advance):
        asked.append((settings, frameworks))
        return study().points

    monkeypatch.setattr(signal_run, "study", note)
    words = signal_again(study()).split()
    assert words[:2] == ["rotbench", "signal"]
    cli.app([*words[1:], "--out", str(tmp_path)], standalone_mode=False)
    assert asked == [(SETTINGS, ["torch"])]


def test_studies_of_other_settings_never_share_a_table():
    first, second = signal_sections([study(), study("fedcba9876543210", Settings(widths=(64,), depth_c=(2.0,)))])
    assert (first.title, second.title) == (
        "Signal propagation, study 01234567",
        "Signal propagation, study fedcba98",
    )
    assert {line[0] for line in second.tables[0].rows} == {"64"}
    assert {chart.name for chart in first.charts}.isdisjoint(chart.name for chart in second.charts)


def test_history_needs_two_commits_of_one_cell():
    rows = over_commits(4)
    section = history_section([*rows, row(cell_id="f" * 16, layer="s5")])
    series, steps = section.tables
    assert [line[series.columns.index("layer")] for line in series.rows] == ["lru"]
    assert series.cells == [[rows[0].cell_id]]
    assert len(steps.rows) == len(steps.cells)
    assert [chart.title.split(" over")[0] for chart in section.charts] == ["ms"]
    assert history_section(rows[:1]).missing.startswith("not measured: no cell has results of two commits")
    assert history_section([]).missing


def test_what_was_not_measured_is_one_line_in_every_form(tmp_path):
    made = report.build(many_rows.sweep(), sections=[*signal_sections([]), history_section([])])
    page = to_html(made)
    assert "<p>Signal propagation: not measured: run <code>rotbench signal</code>.</p>" in page
    assert 'href="#signal"' not in page and 'id="history"' not in page
    assert "## Signal propagation\n\nNot measured: run `rotbench signal`." in report.to_text(made)
    (path,) = report.write(made, tmp_path, ["json"])
    told = {part["name"]: part for part in json.loads(path.read_text())["sections"]}
    assert told["signal"]["missing"] and not told["signal"]["tables"]


def test_sections_stand_in_every_form(tmp_path):
    rows = over_commits(4)
    made = report.build(rows, sections=[*signal_sections([study()]), history_section(rows)])
    paths = report.write(made, tmp_path, ["json", "latex", "md"])
    names = {path.name for path in paths}
    told = {part["name"]: part for part in json.loads((tmp_path / "report.json").read_text())["sections"]}
    charts = [chart for part in told.values() for chart in part["charts"]]
    assert len(charts) == 5 and all(f"{chart['name']}.pdf" in names for chart in charts)
    assert told["history"]["tables"][0]["cells"] == [[rows[0].cell_id]]
    latex, text = ((tmp_path / f"report.{end}").read_text() for end in ("tex", "md"))
    assert r"\section*{Signal propagation}" in latex and r"\rule{.4em}" in latex
    assert f"%   {signal_again(study())}" in latex
    assert "## History over commits\n\nAgain by: `rotbench history show`" in text


def results(folder, rows=(), settings=None):
    files.prepare_folder(folder)
    for found in rows:
        files.write(folder, found)
    if settings:
        signal_table.write(folder, study().points, settings.as_json())
    return folder


def made(capsys, *words):
    """What `rotbench report` prints on both streams."""
    cli.app(["report", *map(str, words)], standalone_mode=False)
    return capsys.readouterr()


def test_a_folder_of_a_study_alone_makes_a_report(tmp_path, capsys):
    folder = results(tmp_path / "runs", settings=SETTINGS)
    said = made(capsys, folder, "--out", tmp_path / "out", "--format", "md")
    assert said.out.split() == [str(tmp_path / "out" / "report.md")] and said.err == ""
    text = (tmp_path / "out" / "report.md").read_text()
    assert "Glorot rescaled for a horizon" in text and "Nothing has been measured yet." in text


def test_a_damaged_study_and_a_damaged_row_are_notes(tmp_path, capsys):
    folder = results(tmp_path / "runs", many_rows.sweep(), SETTINGS)
    (folder / "signal" / "bad.parquet").write_bytes(b"PAR1")
    (folder / "cells" / "worse.parquet").write_bytes(b"nothing")
    said = made(capsys, folder, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    for name in ("bad.parquet", "worse.parquet"):
        assert said.err.count(name) >= 1
        assert f"{name} could not be read and is left out" in page
    assert "Glorot rescaled for a horizon" in page and 'id="table-1"' in page


def test_rows_of_an_older_schema_stand_beside_new_ones(tmp_path, capsys):
    folder = results(tmp_path / "runs", many_rows.sweep())
    for name in ("row_v1.parquet", "row_v2.parquet"):
        shutil.copy(Path(__file__).parent / "data" / name, folder / "cells" / name)
    said = made(capsys, folder, "--out", tmp_path / "out", "--format", "json")
    assert said.err == ""
    told = json.loads((tmp_path / "out" / "report.json").read_text())
    ids = {found["cell_id"] for found in told["rows"]}
    assert len(ids) == len(told["rows"]) > 4
    traced = {cell for table in told["tables"] for cells in table["cells"] for cell in cells}
    assert traced == ids


@pytest.mark.parametrize("status", ["failed", "oom", "timeout", "diverged", "unsupported"])
def test_cells_without_a_result_have_their_reason_and_no_number(status):
    lost = row(cell_id="lost", status=status, reason="why: it ended", median_ms=None, samples_ms=None, seq_len=2048)
    made = report.build([row(), lost])
    (table,) = (table for table in made.tables if table.title == "Cells without a result")
    assert table.cells == [["lost"]] and "why: it ended" in table.rows[0]
    others = [cells for table in made.tables for cells in table.cells if table.title != "Cells without a result"]
    assert "lost" not in itertools.chain(*others)
    assert "in a table of their own: 1 of 2 cells" in " ".join(made.caveats)


def test_no_table_is_empty_where_nothing_has_flops():
    assert [table.title for table in report.build([row(flops=None)]).tables] == ["Speed over sequence length"]


def test_norms_keep_what_tells_their_lines_apart_on_a_narrow_terminal():
    block = {"mean_square": [0.1, 0.2, 0.2], "gradient": [1.0, 0.5, 0.1]}
    detail = {"times": [1, 32, 1024], "lags": [0, 1, 100], "blocks": [block]}
    rows = [
        studied(layer, f"norms/{inputs}", detail, framework=framework, cell_id=f"{layer}{inputs}{framework}")
        for layer in ("lru", "rotrnn")
        for inputs in ("white", "constant")
        for framework in ("torch", "jax")
    ]
    table = narrowed(norms_table(rows), 80)
    apart = [table.columns.index(name) for name in ("layer", "inputs", "framework")]
    assert len({tuple(line[i] for i in apart) for line in table.rows}) == len(rows)
    assert natural_width(table) <= 80
