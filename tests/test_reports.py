"""Tables, numbers as text, and the page."""

import re

import pytest
from test_store import row

from benchmark.reports import numbers as n
from benchmark.reports import report
from benchmark.reports.charts import accuracy_chart, speed_charts
from benchmark.reports.progress import line
from benchmark.reports.results import failure_table, latest, speed_table, training_table
from benchmark.reports.tables import Table, narrowed, natural_width, to_markdown, to_terminal


def sweep():
    return [
        row(
            cell_id=f"{layer}{length}",
            layer=layer,
            seq_len=length,
            median_ms=length / 1000,
            ci_low_ms=length / 1100,
            ci_high_ms=length / 900,
            flops=length * 100,
            param_count=1234,
            real_state_size=8,
        )
        for layer in ("lru", "s5")
        for length in (1024, 2048)
    ]


def training(**changes):
    fields = {
        "cell_id": "t1",
        "metric": "train",
        "task": "digits",
        "seq_len": None,
        "direction": None,
        "test_accuracy": 0.975,
        "validation_accuracy": 0.98,
        "train_wall_s": 36.0,
        "device_hours": 0.01,
        "history": {"best_epoch": 7},
    }
    return row(**(fields | changes))


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
    assert max(map(len, text.splitlines())) <= width
    assert "1,234.5" in text


def test_what_is_left_out_is_said():
    narrow = narrowed(WIDE, 45)
    assert narrow.columns == ["name", "value"]
    assert natural_width(narrow) <= 45
    assert narrow.notes[:2] == [
        "Left out for want of room: extra; they are in the results and the report.",
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
    assert "test accuracy 97.5 % in 36.0 s" in line(training(), 1, 1)
    assert line(row(status="failed", reason="no"), 2, 2).endswith("failed: no")


def test_the_last_row_of_a_cell_counts():
    rows = [row(median_ms=1.0), row(cell_id="other"), row(median_ms=3.0)]
    assert [r.median_ms for r in latest(rows)] == [3.0, 2.0]


def test_failures_are_listed_and_no_others():
    table = failure_table([row(), row(status="failed", reason="no")])
    assert [r[-1] for r in table.rows] == ["no"]


def test_charts_need_something_to_show():
    assert speed_charts(sweep()[:1]) == []
    assert accuracy_chart(sweep()) is None
    ((title, chart),) = speed_charts(sweep())
    assert "forward" in title
    assert chart["layer"]


def test_the_report_answers_from_the_rows():
    made = report.build([*sweep(), training(), row(cell_id="x", status="failed", reason="broke")])
    text = report.to_text(made)
    assert "lru (chunked) 2.05 ms" in text
    assert "reaches 97.5 % on digits" in text
    assert "broke" in text
    assert "not matched" in text


def test_the_page_is_whole_and_needs_no_network():
    made = report.build([*sweep(), training(task="<b>odd</b>")])
    page = report.to_html(made)
    assert page.count('<div class="scroll"') == len(made.tables)
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
