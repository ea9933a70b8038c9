"""Published figures: what the tables hold, what their reader refuses, and how they are printed."""

import csv
from decimal import Decimal

import pytest

from benchmark.reports.published import PRINTED, ablation_table, published_table, speed_table
from benchmark.reports.tables import column, to_markdown, to_terminal
from benchmark.spec import LAYERS, UserError
from benchmark.store import published
from benchmark.store.published import Score, ablation_scores, published_scores, published_speeds

LRA = ("lra-listops", "lra-text", "lra-retrieval", "lra-image", "lra-pathfinder", "lra-pathx")
SCORES = published_scores()


def of(task, model, split="test", source=""):
    (found,) = (s for s in SCORES if (s.task, s.model, s.split) == (task, model, split) and source in s.source)
    return found


@pytest.mark.parametrize(
    ("task", "model", "more", "score"),
    [
        ("lra-listops", "S4-LegS", {}, "59.60"),
        ("lra-text", "S5", {"source": "Smith"}, "89.31"),
        ("lra-text", "S5", {"source": "Orvieto"}, "86.2"),
        ("lra-text", "S5 (first version)", {}, "86.51"),
        ("lra-pathx", "S4D-Inv", {}, "92.80"),
        ("lra-image", "Liquid-S4", {"split": "validation"}, "89.50"),
        ("lra-average", "S4D-Lin", {}, "78.39"),
        ("cifar", "LRU", {}, "89.0"),
        ("speech-commands", "S4D-Lin", {"split": "8khz"}, "91.58"),
        ("speech-commands", "RotRNN", {}, "95.2"),
    ],
)
def test_figures_are_those_of_the_papers_to_the_digit(task, model, more, score):
    assert str(of(task, model, **more).score_percent) == score


def test_spreads_say_what_they_are():
    found = of("lra-pathx", "LRU")
    assert (found.spread_percent, found.spread_kind, found.seeds) == (Decimal("0.4"), "se", 3)
    assert of("lra-text", "S4D-LegS").spread_kind == "sd"


def printed_lines():
    """(model, source, split) of every line of LRA's table."""
    return dict.fromkeys((s.model, s.source, s.split) for s in SCORES if s.task == "lra-average")


@pytest.mark.parametrize(("model", "source", "split"), printed_lines())
def test_averages_follow_from_their_line(model, source, split):
    """A failure counts as 50. LRU's Image is colour CIFAR. Papers round, some from unrounded scores."""
    line = {s.task: s for s in SCORES if (s.model, s.source, s.split) == (model, source, split)}
    values = [float(line[task].score_percent or 50) if line[task].status != "missing" else 89.0 for task in LRA]
    assert sum(values) / 6 == pytest.approx(float(line["lra-average"].score_percent), abs=0.06)


def test_rotrnn_has_a_line_without_a_figure_on_every_lra_task():
    for task in LRA:
        found = of(task, "RotRNN")
        assert found.status == "missing" and found.score_percent is None
        assert found.caveats[0].startswith("not found")


def test_figures_that_must_not_be_compared_say_so():
    assert of("lra-image", "LRU").status == "missing"
    assert all("colour" in s.caveats[0] for s in SCORES if s.task == "cifar")
    assert all(s.split == "validation" for s in SCORES if s.model == "Liquid-S4" and s.task.startswith("lra"))
    text = [s for s in SCORES if s.task == "lra-text" and s.status == "ok"]
    assert all(any("selected on the test set" in caveat for caveat in s.caveats) for s in text)
    again = [s for s in SCORES if "table 3" in s.source and s.layer != "lru"]
    assert len(again) == 12
    assert all("reproduced by the authors of LRU" in s.caveats for s in again)
    assert of("lra-pathx", "S4D-Lin").status == "chance"


def test_every_layer_and_only_known_ones_are_there():
    assert {s.layer for s in SCORES} == {None, *LAYERS}


def test_no_figure_stands_twice():
    keys = [(s.task, s.model, s.split, s.source) for s in SCORES]
    assert len(keys) == len(set(keys))


def test_the_ablation_ends_at_the_lru():
    last = {s.task: s.score_percent for s in ablation_scores() if s.model.startswith("normalisation")}
    assert len(last) == 6
    assert all(of(task, "LRU").score_percent == score for task, score in last.items())


def test_speeds_are_those_of_table_4():
    found = {(s.model, s.task): (str(s.steps_per_s), s.batch) for s in published_speeds()}
    assert len(found) == 24
    assert found["S4D", "lra-pathfinder"] == ("24.5", 64)
    assert found["tanh RNN", "lra-pathx"] == ("0.14", 32)


GOOD = {
    "model": "LRU",
    "layer": "lru",
    "task": "lra-text",
    "split": "test",
    "status": "ok",
    "score_percent": "89.4",
    "spread_percent": "0.1",
    "spread_kind": "se",
    "seeds": "3",
    "param_count": "",
    "source": "table 3",
    "quoted_from": "",
    "caveats": "one; two",
}


def read_line(folder, monkeypatch, **changes):
    values = {k: v for k, v in (GOOD | changes).items() if v is not None}
    with (folder / "x.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, values)
        writer.writeheader()
        writer.writerow(values)
    monkeypatch.setattr(published, "folder", lambda: folder)
    return published.read("x.csv", Score)


def test_a_sound_line_is_read(tmp_path, monkeypatch):
    (found,) = read_line(tmp_path, monkeypatch)
    assert found.caveats == ("one", "two")
    assert (found.seeds, found.param_count) == (3, None)
    with pytest.raises(ValueError, match="frozen"):
        found.score_percent = Decimal(1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "lra-lists"}, "x.csv line 2: task: .*'lra-listops'.*, got 'lra-lists'"),
        ({"score_percent": "100.1"}, "score_percent: .*less than or equal to 100, got '100.1'"),
        ({"score_percent": "-1"}, "score_percent: .*greater than or equal to 0"),
        ({"score_percent": "n/a"}, "score_percent: .*valid decimal, got 'n/a'"),
        ({"score_percent": "nan"}, "score_percent: "),
        ({"score_percent": ""}, "given exactly where status is ok"),
        ({"status": "chance"}, "given exactly where status is ok"),
        ({"spread_kind": "none"}, "given exactly where spread_kind is not none"),
        ({"spread_kind": "sem"}, "spread_kind: .*, got 'sem'"),
        ({"status": "missing", "score_percent": "", "caveats": ""}, "needs a caveat"),
        ({"layer": "s6"}, "layer: .*, got 's6'"),
        ({"seeds": "0"}, "seeds: .*greater than 0"),
        ({"source": ""}, "source: "),
        ({"split": None}, "split: Field required"),
        ({"colour": "red"}, "colour: .*got 'red'"),
    ],
)
def test_a_line_that_is_not_sound_is_named(tmp_path, monkeypatch, changes, message):
    with pytest.raises(UserError, match=message) as caught:
        read_line(tmp_path, monkeypatch, **changes)
    assert "\n" not in str(caught.value)


def test_missing_tables_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(published, "folder", lambda: tmp_path)
    with pytest.raises(UserError, match=r"lra\.csv is not there; install rotbench again"):
        published_scores()


def test_tables_lie_in_the_package_once_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(published.benchmark, "__file__", str(tmp_path / "benchmark" / "__init__.py"))
    assert published.folder() == tmp_path / "results" / "published"
    (tmp_path / "benchmark" / "published").mkdir(parents=True)
    assert published.folder() == tmp_path / "benchmark" / "published"


def test_a_table_ranks_scores_and_numbers_its_caveats():
    table = published_table("lra-pathx")
    models, scores = column(table, "model"), column(table, "accuracy %")
    assert models[0] == "S5" and scores[0] == "98.58"
    assert models[-1] == "RotRNN" and scores[-1] == "\N{EN DASH}"
    assert scores[-4:-1] == ["at chance"] * 3
    assert table.notes[0] == PRINTED
    numbered = [note for note in table.notes if note.startswith("[")]
    assert [note.split("]")[0] for note in numbered] == [f"[{i}" for i in range(1, len(numbered) + 1)]
    for line in table.rows:
        marks = line[-1].strip("[]")
        expected = {
            c for s in SCORES if s.task == "lra-pathx" and s.model == line[0] and s.source == line[6] for c in s.caveats
        }
        assert {numbered[int(i) - 1].split("] ")[1].rstrip(".").lower() for i in marks.split(", ") if i} == {
            c.lower() for c in expected
        }


def test_half_the_rate_stands_last():
    scored_on = column(published_table("speech-commands"), "scored on")
    assert scored_on == sorted(scored_on, key="8 kHz, zero-shot".__eq__)


@pytest.mark.parametrize("task", dict.fromkeys(score.task for score in SCORES))
def test_every_table_fits_a_terminal(task):
    text = to_terminal(published_table(task), 80)
    assert max(len(line) for line in text.splitlines() if line.startswith(("│", "┃"))) <= 80
    assert to_markdown(published_table(task)).startswith("### Published accuracy on")


def test_an_unknown_task_is_answered_with_the_known_ones():
    with pytest.raises(UserError, match="unknown published task 'digits'; known: lra-listops, lra-text"):
        published_table("digits")


def test_ablation_and_speed_are_crossed_by_task():
    ablation, speed = ablation_table(), speed_table()
    assert ablation.columns == speed.columns == ["model", "cifar", *(t for t in LRA if t != "lra-image")]
    assert ablation.rows[2][:3] == ["exponential parametrisation", "\N{EN DASH}", "\N{EN DASH}"]
    assert ablation.rows[0][5] == "at chance [3]"
    assert speed.rows[1][0] == "LRU" and speed.rows[1][3] == "14.7"
