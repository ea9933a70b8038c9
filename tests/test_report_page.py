"""The report as a whole: answers, traces, environments, charts, and all its forms."""

import json
import re
import time

import altair as alt
import many_rows
import pytest
from many_rows import sweep, training
from test_store import row

from benchmark.reports import explorer, report
from benchmark.reports import numbers as n
from benchmark.reports.page_tables import command, sort_value
from benchmark.reports.scaling_charts import still_charts
from benchmark.reports.tables import Table
from benchmark.reports.training_charts import pareto, training_charts


def test_every_line_of_a_table_leads_to_its_cells():
    rows = [*many_rows.speeds(240), *many_rows.trainings(), row(cell_id="m", metric="memory", rss_delta_bytes=1_000)]
    rows.append(row(cell_id="r", metric="roofline", detail={"flops_per_s": 1e11, "bytes_per_s": 1e10}))
    by_id = {r.cell_id: r for r in rows}
    seen = set()
    for table in report.build(rows).tables:
        assert len(table.cells) == len(table.rows), table.title
        for texts, cells in zip(table.rows, table.cells, strict=True):
            named = dict(zip(table.columns, texts, strict=True))
            for found in (by_id[cell] for cell in cells):
                seen.add(found.cell_id)
                assert named.get("layer", found.layer) in {found.layer, n.MISSING}
                assert named.get("framework", found.framework) == found.framework
                assert named.get("length", n.count(found.seq_len)) == n.count(found.seq_len)
                assert named.get("seed", str(found.seed)) == str(found.seed)
                assert named.get("reason", found.reason) == found.reason
                if "median ms" in named:
                    assert named["median ms"] == n.significant(found.median_ms)
                if "test score" in named:
                    assert named["test score"] == n.percent(found.test_accuracy)
                if named.get("kind") == "measured":
                    assert named["device-hours"] == n.significant(found.device_hours)
                if "FLOPs a call" in named:
                    assert named["FLOPs a call"] == n.scaled(found.flops, "FLOP")
    assert seen == set(by_id)


def test_a_line_of_costs_leads_to_the_cells_of_both_frameworks():
    rows = [row(cell_id=name, framework=name, flops=5, layer_param_count=7) for name in ("torch", "jax")]
    (table,) = (table for table in report.build(rows).tables if table.title.startswith("Parameters"))
    assert [sorted(cells) for cells in table.cells] == [["jax", "torch"]]


def test_environments_are_named_and_never_compared():
    rows = many_rows.speeds(480)
    made = report.build(rows)
    assert [line.split(";")[0] for line in made.machines] == [
        "E1: AMD EPYC 7742, 64 CPUs",
        "E2: Intel Xeon, 16 CPUs",
    ]
    assert all(table.columns[0] == "env" for table in made.tables)
    assert all(line.startswith(("E1, ", "E2, ")) for line in made.findings)
    assert any("come from 2 environments" in line for line in made.caveats)
    lines = {}
    for point in explorer.points(rows):
        facets = {name: point["facets"][name] for name in explorer.ONE_AT_A_TIME}
        lines.setdefault((point["layer"], point["series"], point["length"], *facets.values()), []).append(point)
    assert {len(found) for found in lines.values()} == {1}
    assert explorer.facets(explorer.points(rows))["environment"] == ["E1: AMD EPYC 7742", "E2: Intel Xeon"]


def test_what_a_sweep_lacks_is_said():
    made = report.build([r for r in sweep() if r.cell_id != "s52048"])
    assert any("No speed torch forward of s5 (chunked) at length 2,048" in line for line in made.caveats)
    assert "no result at this length: s5" in made.findings[0]


def test_one_seed_newer_rows_and_damaged_files_are_caveats(tmp_path):
    rows = [training(), row(cell_id="n", schema_version=99), row(cell_id="n", schema_version=99)]
    said = " ".join(report.build(rows, [(tmp_path / "x.parquet", "not a Parquet file")]).caveats)
    for words in ("One seed a training decides no", "additions are not shown: 1 row.", "Left out: 1 older row of"):
        assert words in said
    assert "x.parquet could not be read and is left out: not a Parquet file" in said


def test_a_report_on_nothing_says_so():
    made = report.build([])
    assert made.findings == ["Nothing has been measured yet."]
    assert "There is nothing to tabulate" in report.to_html(made)
    assert report.to_text(made).startswith("# rotbench report")


def test_results_without_times_or_trainings_are_no_findings():
    assert report.build([row(status="failed", reason="no")]).findings == ["No cell has a result."]
    memory = row(metric="memory", rss_delta_bytes=1_000)
    assert report.build([memory]).findings == ["No time and no training among these results."]


def test_lines_of_a_study_lead_to_all_its_cells():
    study = {"metric": "study", "task": "equivalence", "seq_len": None, "direction": None}
    found = {"errors": {"lru as rotrnn and back, torch": 1e-16}, "conjugate_pairs": 0.0, "books": []}
    rows = [row(cell_id=name, seed=i, detail=found, **study) for i, name in enumerate("ab")]
    (table,) = report.build(rows).tables
    assert table.title == "Conversions between LRU and RotRNN"
    assert table.cells == [["a", "b"], ["a", "b"]]


def test_kinds_of_data_have_charts_of_their_own():
    charts = training_charts(many_rows.trainings())
    titles = [chart.title for chart in charts]
    assert len(titles) == len(set(titles)) == 4
    for chart in charts:
        cells = {mark["cell"] for mark in chart.spec["data"]["values"] if "cell" in mark}
        kinds = {r.recipe.data for r in many_rows.trainings() if r.cell_id in cells}
        assert kinds == {"stand-in" if "STAND-IN" in chart.title else "real"}


def test_the_front_is_that_of_means_over_seeds():
    recipe = many_rows.RECIPE
    lucky = [training(cell_id=f"a{i}", seed=i, recipe=recipe, test_accuracy=s) for i, s in enumerate((0.99, 0.61))]
    steady = [training(cell_id=f"b{i}", seed=i, recipe=recipe, layer="s5", test_accuracy=0.9) for i in range(2)]
    chart = training_charts([*lucky, *steady])[0]
    front = chart.spec["layer"][0]["data"]["values"]
    assert front == [{"hours": pytest.approx(0.01), "accuracy": pytest.approx(0.9)}]
    assert pareto([(2.0, 0.9), (1.0, 0.9), (3.0, 0.95), (4.0, 0.5)]) == [1, 2]


def test_charts_are_sound_vega_lite():
    rows = [*many_rows.speeds(240), *many_rows.trainings()]
    for chart in [*still_charts(rows), *training_charts(rows)]:
        alt.Chart.from_dict(chart.spec, validate=True)
        json.dumps(chart.spec, allow_nan=False)


def test_what_a_logarithm_cannot_show_is_left_out():
    wide = row(cell_id="w", ci_low_ms=0.0, ci_high_ms=float("inf"), flops=0)
    (point,) = explorer.points([wide])
    assert point["values"]["time"] == [2.0, None, None]
    assert "flops" not in point["values"]
    assert report.to_html(report.build([wide, row(cell_id="v", seq_len=2048)]))


def test_tokens_have_the_interval_of_the_time():
    (point,) = explorer.points([row(batch=1, seq_len=1000, median_ms=2.0, ci_low_ms=1.0, ci_high_ms=4.0)])
    assert point["values"]["tokens"] == [500_000, 250_000, 1_000_000]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("1,234", 1234.0), ("12.3 kB", 12_300.0), ("2.50 GFLOP/s", 2.5e9), ("1.23 M", 1.23e6)),
        *(("500 ms", 0.5), ("1 min 15 s", 75.0), ("2 h 1 min", 7260.0), ("1.00 s (3)", 1.0)),
        *(("97.5 %", 97.5), ("MSE 0.120", 0.12), ("1.0e-05", 1e-5), ("1.00 to 2.00", 1.0)),
        *((n.MISSING, None), ("wider", None), ("-3.5", -3.5)),
    ],
)
def test_texts_sort_by_the_numbers_that_they_stand_for(text, value):
    assert sort_value(text) == (None if value is None else pytest.approx(value))


def test_a_cell_has_a_command():
    assert command(row()).startswith("rotbench speed --layer lru")
    assert command(row(cell_id="0123456789", layer="of a later version")) == "rotbench results show 01234567"


def test_answers_open_the_page_and_their_text_is_text():
    rows = sweep()
    made = report.build(rows, answers=many_rows.replies(rows))
    page = report.to_html(made)
    assert page.index("How many FLOPs does each layer take?") < page.index("At a glance</h2>")
    assert 'data-verdict="not measured"' in page
    assert "an ablation: run <code>rotbench study norm</code>" in page
    assert "on &lt;1&gt; of 2 tasks" in page
    assert "never reach 5\N{NO-BREAK SPACE}%" in page
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<(b|strong)\b", markup)
    assert "Q2: Hours of a CPU, not of a GPU." in made.caveats
    text = report.to_text(made)
    assert "### Q5. Does the normaliser help?\n\nVerdict: not measured." in text
    assert "Measured in cells lru1024, lru2048, s51024, s52048; again by:" in text


def test_published_figures_stand_apart():
    made = report.build(sweep(), published=[Table("Published accuracy on x", ["model"], [["m"]])])
    page = report.to_html(made)
    assert page.index('id="published"') > page.index('id="tables"')
    assert "Nothing in this section was measured here" in page
    assert "Published accuracy on x" not in [table.title for table in made.tables]
    assert "## Printed by papers\n\n### Published accuracy on x" in report.to_text(made)


def test_latex_has_vector_figures_beside_it(tmp_path):
    rows = [r.model_copy(update={"ci_low_ms": None}) for r in sweep()]
    paths = report.write(report.build(rows, answers=many_rows.replies(rows)), tmp_path, ["latex"])
    text = (tmp_path / "report.tex").read_text()
    assert text.count(r"\begin{document}") == text.count(r"\end{document}") == 1
    assert r"\toprule" in text and r"\subsection*{Q4. Is RotRNN best everywhere?}" in text
    figures = re.findall(r"\{(figures/[^}]+)\}", text)
    assert figures and all((tmp_path / name).read_bytes().startswith(b"%PDF") for name in figures)
    assert all((tmp_path / name).with_suffix(".svg").read_text().startswith("<svg") for name in figures)
    assert len(paths) == 2 * len(figures) + 1 and paths[-1].name == "report.tex"


def test_json_has_the_answers(tmp_path):
    (path,) = report.write(report.build(sweep(), answers=many_rows.replies(sweep())), tmp_path, ["json"])
    assert [answer["verdict"] for answer in json.loads(path.read_text())["answers"]][:2] == ["yes", "partly"]


@pytest.mark.full
def test_a_thousand_cells_make_a_page_of_bounded_size_in_bounded_time():
    from benchmark.reports.answers import answers

    rows = [*many_rows.speeds(952), *many_rows.trainings()]
    begin = time.process_time()
    page = report.to_html(report.build(rows, answers=answers(rows)))
    assert time.process_time() - begin < 20
    assert len(page.encode()) < 5_000_000
