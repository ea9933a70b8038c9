"""Tables, numbers as text, and the page."""

import csv
import io
import json
import re

import pytest
from many_rows import sweep, training
from test_store import row

from benchmark.reports import explorer, listing, report, roofline
from benchmark.reports import numbers as n
from benchmark.reports.hours import hours_as_json, hours_of, hours_tables
from benchmark.reports.labels import algorithm
from benchmark.reports.progress import line
from benchmark.reports.results import (
    cost_table,
    failure_table,
    latest,
    memory_table,
    speed_table,
)
from benchmark.reports.scaling_charts import still_charts
from benchmark.reports.tables import Table, narrowed, natural_width, to_markdown, to_terminal
from benchmark.reports.trained import training_table
from benchmark.reports.training_charts import training_charts
from benchmark.spec import UserError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.5, "1,234"),
        (12.345, "12.3"),
        (0.00012345, "0.000123"),
        (1.2e-7, "1.20e-07"),
        (0.0, "0"),
        (None, n.MISSING),
    ],
)
def test_significant(value, text):
    assert n.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999, "999 B"),
        (1_000, "1.00 kB"),
        (12_345, "12.3 kB"),
        (2.5e9, "2.50 GB"),
        (16_400, "16.4 kB"),
        (None, n.MISSING),
    ],
)
def test_scaled(value, text):
    assert n.scaled(value, "B") == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "500 ms"), (59.0, "59.0 s"), (75, "1 min 15 s"), (7260, "2 h 1 min")]
)
def test_duration(value, text):
    assert n.duration(value) == text


def test_a_null_is_never_zero():
    for form in (n.significant, n.scaled, n.count, n.percent, n.error, n.duration):
        assert form(None) == n.MISSING
    assert n.interval(None, 1.0) == n.MISSING


WIDE = Table(
    "T",
    ["name", "same", "value", "extra"],
    [["a" * 20, "x", "1,234.5", "e" * 20], ["b" * 20, "x", "2", "f" * 20]],
    frozenset({"value"}),
    ["A note."],
    ("extra",),
)


def test_without_a_terminal_nothing_is_cut_or_folded():
    text = to_terminal(WIDE)
    assert all(cell in text for r in WIDE.rows for cell in r)
    assert len(text.splitlines()) == 8
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [80, 60, 45, 30])
def test_a_narrow_terminal_loses_no_number(width):
    text = to_terminal(WIDE, width)
    assert text.splitlines()[0] == "T"
    assert max(map(len, text.splitlines())) <= width
    assert "1,234.5" in text


def test_what_is_left_out_is_said():
    narrow = narrowed(WIDE, 45)
    assert narrow.columns == ["name", "value"]
    assert natural_width(narrow) <= 45
    assert narrow.notes[:2] == [
        "Left out for want of room: extra; a wider terminal shows them.",
        "In all rows: same x.",
    ]
    assert narrowed(WIDE, 200) == WIDE


def test_real_tables_fit_80_columns():
    for table in (speed_table(sweep()), training_table([training()])):
        assert natural_width(narrowed(table, 80)) <= 80


def test_markdown_escapes_bars():
    text = to_markdown(Table("T", ["a"], [["x|y"]]))
    assert "| x\\|y |" in text


def test_lines_of_progress():
    assert line(sweep()[0], 1, 4) == "[1/4] torch lru chunked forward length 1,024: 1.02 ms [0.931 to 1.14]"
    assert "test score 97.5 % in 36.0 s" in line(training(), 1, 1)
    ceiling = row(metric="roofline", detail={"flops_per_s": 1e11, "bytes_per_s": 1e10})
    assert line(ceiling, 1, 1) == "[1/1] torch cpu float32 fp32: 100 GFLOP/s, 10.0 GB/s"
    assert line(row(status="failed", reason="no"), 2, 2).endswith("failed: no")


def test_the_last_row_of_a_cell_counts():
    rows = [row(median_ms=1.0), row(cell_id="other"), row(median_ms=3.0)]
    assert [r.median_ms for r in latest(rows)] == [3.0, 2.0]


def test_failures_are_listed_and_no_others():
    table = failure_table([row(), row(status="failed", reason="no")])
    assert [r[-1] for r in table.rows] == ["no"]


def test_charts_need_something_to_show():
    assert still_charts(sweep()[:1]) == []
    assert training_charts(sweep()) == []
    charts = still_charts(sweep())
    assert [chart.name for chart in charts] == ["time-forward", "tokens-forward", "flops-forward", "rate-forward"]
    marks = charts[0].spec["data"]["values"]
    assert marks[0] == {
        **{"layer": "lru", "series": "torch, chunked", "length": 1024, "cell": "lru1024"},
        **{"value": 1.024, "low": 0.93091, "high": 1.1378},
    }


def test_the_report_answers_from_the_rows():
    made = report.build([*sweep(), training(), row(cell_id="x", status="failed", reason="broke")])
    text = report.to_text(made)
    assert "lru (chunked) 2.05 ms" in text
    assert "s5 (chunked) 2.05 ms" in text
    assert "reaches 97.5 % on digits" in text
    assert "broke" in text
    assert "not matched" in text


def test_the_page_is_whole_and_needs_no_network():
    made = report.build([*sweep(), training(reason="<b>odd</b>", status="failed")])
    page = report.to_html(made)
    assert page.count('<div class="scroll"') == len(made.tables) + 1  # that of the cells
    assert "<b>odd</b>" not in page
    assert "&lt;b&gt;odd&lt;/b&gt;" in page
    assert page.count("window.vegaEmbed=") == 1
    markup = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page, flags=re.DOTALL)
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", markup)


def test_a_page_without_charts_holds_no_library():
    assert len(report.to_html(report.build([row(status="failed", reason="no")]))) < 20_000


def test_reports_are_written_whole(tmp_path):
    paths = report.write(report.build(sweep()), tmp_path / "deep" / "er", ["md", "html"])
    assert [p.name for p in paths] == ["report.md", "report.html"]
    assert sorted(p.name for p in paths[0].parent.iterdir()) == ["report.html", "report.md"]


def test_rows_that_differ_in_anything_can_be_told_apart():
    """As when several commands have written into one folder."""
    base = sweep()[0]
    spec = {**base.options, "bidirectional": True}
    rows = [
        base,
        row(cell_id="b", options=spec, seq_len=1024, median_ms=2.0, flops=1, layer_param_count=5),
        row(cell_id="c", dtype="float64", seq_len=1024, median_ms=3.0, flops=2),
        row(cell_id="d", threads=1, seq_len=1024, median_ms=4.0, flops=3),
        row(cell_id="e", algorithm="auto", seq_len=1024, median_ms=5.0, flops=4),
        row(cell_id="f", seed=3, seq_len=1024, median_ms=6.0, flops=5),
    ]
    table = speed_table(rows)
    kept = [name for name in table.columns if name not in {"median ms", "95 % interval", "tokens/s", "GFLOP/s"}]
    lines = [tuple(r[table.columns.index(name)] for name in kept) for r in table.rows]
    assert len(set(lines)) == len(rows)
    assert len(cost_table(rows).rows) == len(rows)
    assert len({json.dumps([p["series"], p["facets"]]) for p in explorer.points(rows)}) == len(rows)
    text = report.to_text(report.build(rows))
    assert "bidirectional=True" in text and "dtype=float64" in text and "threads=1" in text


def test_the_chosen_algorithm_is_marked():
    assert algorithm(row(algorithm="auto", algorithm_run="fft")) == "fft (auto)"
    assert algorithm(row(algorithm="fft", algorithm_run="fft")) == "fft"
    assert algorithm(row(algorithm="auto", algorithm_run=None, status="failed")) == "auto"


def test_tables_in_plain_characters():
    text = to_terminal(Table("T", ["a"], [[n.MISSING]]), encoding="latin-1")
    assert text.encode("ascii")
    assert "-" in text


def test_memory_and_failures_have_tables():
    table = memory_table([row(metric="memory", rss_delta_bytes=1_500_000, rss_peak_bytes=2_000_000_000)])
    assert "1.50 MB" in table.rows[0]
    assert n.MISSING in table.rows[0]


def test_device_hours_are_measured_or_projected_and_say_so():
    recipe = {"epochs": 40, "batch": 50, "depth": 8, "lr": 1e-3, "recurrence_lr": 1e-3, "weight_decay": 0.05}
    recipe |= {"dropout": 0.1, "warmup": 0.1, "norm": "batch", "activation": "half_glu1"}
    step = {"metric": "train-step", "task": "lra-listops", "layer": "s5", "recipe": recipe, "median_ms": 3600.0}
    rows = [row(cell_id="p", batch=50, **step), row(cell_id="q", batch=5, **step), training()]
    whole, part, measured = hours_of(rows)
    assert whole.kind == part.kind == "projected"
    assert whole.steps == 40 * (96_000 // 50)
    assert whole.device_hours == pytest.approx(whole.steps * 3.6 / 3600)
    assert part.device_hours == pytest.approx(10 * whole.device_hours)
    assert "taken to grow in proportion" in part.how
    assert (measured.kind, measured.device_hours) == ("measured", 0.01)
    hours, targets = hours_tables(rows, price=2.0)
    assert hours.columns[-1] == "cost"
    assert hours.rows[2][-1] == "0.0200"
    assert "never added up" in hours.notes[-1]
    assert targets.rows[0][7:12] == [*["1.00 s (1)"], *["2.00 s (2)"] * 3, n.MISSING]
    assert [h["kind"] for h in hours_as_json(rows, None)] == ["projected", "projected", "measured"]


def test_published_recipes_are_whole():
    from benchmark.sweeps.cell import layer_spec
    from benchmark.training.published import RECIPES, TASKS

    assert set(RECIPES) == set(TASKS)
    for task, recipes in RECIPES.items():
        for layer, found in recipes.items():
            assert layer_spec(layer, found.d_model, found.d_state, found.layer_options)
            assert found.steps_on(task) > 10_000
    assert RECIPES["lra-pathfinder"]["s5"].steps_on("lra-pathfinder") == 500_000


def test_shares_of_the_roof():
    ceiling = row(cell_id="r", metric="roofline", detail={"flops_per_s": 1e11, "bytes_per_s": 1e10})
    timed = row(flops=10**9, median_ms=20.0, detail={"traffic_bytes": 10**9})
    share = roofline.share(timed, roofline.ceilings([ceiling]))
    assert share == (1.0, 0.5, 5.0, "memory")
    assert not share.impossible
    assert roofline.share(timed, {}) is None
    fast = row(flops=10**9, median_ms=5.0, detail={"traffic_bytes": 10**7})
    assert roofline.share(fast, roofline.ceilings([ceiling])).impossible
    assert roofline.roofline_table([ceiling]).rows[0][5:8] == ["100 GFLOP/s", "10.0 GB/s", "10.0"]


def test_a_time_is_held_against_the_ceilings():
    ceiling = row(cell_id="r", metric="roofline", detail={"flops_per_s": 1e11, "bytes_per_s": 1e10})
    timed = row(flops=10**9, median_ms=20.0, detail={"traffic_bytes": 10**9})
    fast = row(cell_id="f", batch=9, flops=10**9, median_ms=5.0, detail={"traffic_bytes": 10**7})
    table = speed_table([timed, fast], ceilings=roofline.ceilings([ceiling]))
    at = [table.columns.index(name) for name in ("FLOP/B", "MFU", "roof")]
    assert [table.rows[0][i] for i in at] == ["1.00", "50.0 %", "500.0 %"]
    assert table.rows[1][at[1]] == "200.0 % impossible"
    assert any("1 rows are faster than this machine can be" in note for note in table.notes)
    assert "MFU" not in speed_table([timed]).columns
    made = report.build([timed, fast, ceiling])
    assert [table.title for table in made.tables][:2] == ["Speed over sequence length", "Ceilings"]


def test_one_row_in_full():
    rows = [row(cell_id="abc1", detail={"first_run_s": 0.5}), row(cell_id="abd2")]
    assert listing.one_row(rows, "abc").cell_id == "abc1"
    text = to_terminal(listing.detail_table(rows[0]))
    assert "detail.first_run_s" in text
    for prefix, message in (("ab", "2 cells begin with 'ab'"), ("x", "no cell begins with 'x'"), ("", "2 cells")):
        with pytest.raises(UserError, match=message):
            listing.one_row(rows, prefix)


def test_rows_in_other_forms():
    rows = [row(), row(cell_id="x", status="failed", reason="no, really", median_ms=None)]
    lines = list(csv.DictReader(io.StringIO(listing.exported(rows, "csv"))))
    assert lines[1]["reason"] == "no, really"
    assert lines[1]["median_ms"] == ""
    assert json.loads(lines[0]["options"]) == rows[0].options
    assert [r["cell_id"] for r in json.loads(listing.exported(rows, "json"))] == [rows[0].cell_id, "x"]
    assert listing.exported(rows, "md").startswith("### Results")
    with pytest.raises(UserError, match="unknown format 'xml'; known: csv, json, md"):
        listing.exported(rows, "xml")


def test_json_is_strict():
    with pytest.raises(ValueError, match="JSON"):
        listing.exported([row(median_ms=float("inf"))], "json")


@pytest.mark.parametrize("out", ["taken", "taken/below", "folder"])
def test_a_report_that_cannot_be_written(tmp_path, out):
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "folder" / "report.html").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot write"):
        report.write(report.build(sweep()), tmp_path / out, ["html"])
    assert (tmp_path / "taken").read_text() == "mine"
    assert not list(tmp_path.rglob(".report*"))


def test_odd_rows_do_not_end_a_report():
    odd = row(environment={"versions": [1], "commit": 5}, detail={"history": {}})
    assert report.to_text(report.build([odd, training(detail={})]))
