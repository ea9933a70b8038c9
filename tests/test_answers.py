"""What holds for all questions of a report, and the forms in which they are told."""

import json
import math
import re
from pathlib import Path

import pytest
from answer_rows import DOWN, UP, mixed, norms, one, pair_of_times, said, scaling, timed
from result_rows import trained

from benchmark.commands import answer as command
from benchmark.console import ExitError
from benchmark.reports import report
from benchmark.reports.answers import (
    QUESTIONS,
    Answer,
    Case,
    Question,
    added,
    answers,
    questions,
)
from benchmark.reports.answers.contrasts import decided
from benchmark.reports.answers.layers import score_contrasts, time_contrasts
from benchmark.reports.answers.text import brief, full
from benchmark.reports.as_json import answer_values, finite, table_values, to_json
from benchmark.reports.charts import drawn
from benchmark.reports.tables import Table
from benchmark.spec import UserError
from benchmark.store import files


def test_nothing_measured():
    found = answers([])
    assert [entry.id for entry in found] == list(QUESTIONS) == [f"Q{i}" for i in range(1, 12)]
    assert [entry.verdict for entry in found] == ["no", *["not measured"] * 10]
    assert all(any("run `rotbench " in text for text in entry.missing) for entry in found)
    assert all(entry.again for entry in found if entry.id == "Q1")


def test_odd_rows_end_in_plain_answers():
    found = answers(mixed())
    assert len(found) == len(QUESTIONS)
    for entry in found:
        assert entry.verdict in {"yes", "no", "partly", "undecided", "not measured"}
        assert not re.search(r"\bnan\b|\bNone\b|inf\b", said(entry)), entry.sentences
        json.dumps(answer_values(entry), allow_nan=False)
        assert brief(entry, 80) and full(entry, 80) and full(entry, None)


@pytest.mark.parametrize("rows", [[], mixed()], ids=["none", "mixed"])
def test_every_number_can_be_traced(rows):
    known = {entry.cell_id for entry in rows}
    for entry in answers(rows):
        if re.search(r"\d", re.sub(r"not measured here.*", "", said(entry))):
            assert entry.cells or entry.again, entry.id
        assert set(entry.cells) <= known
        for text in entry.again:
            assert text.startswith("rotbench "), text


def test_no_number_of_a_measured_answer_lacks_its_unit():
    rows = [*pair_of_times(0.5), *trained("rotrnn", UP), *trained("lru", DOWN)]
    for name, unit in {"Q1": "FLOP", "Q2": " h ", "Q3": "processes", "Q4": "%", "Q5": "points"}.items():
        assert unit in said(one(name, rows)), name


def test_a_question_alone_is_judged_as_in_a_report():
    rows = [*pair_of_times(1.02, spread=0.004), *trained("rotrnn", UP), *trained("lru", DOWN)]
    (alone,) = answers(rows, [QUESTIONS["Q3"]])
    assert alone == answers(rows)[2]


def test_levels_are_divided_between_families():
    times, scores = time_contrasts(pair_of_times(0.5)), score_contrasts([*trained("rotrnn", UP), *trained("lru", DOWN)])
    both, alone = decided([*times, *scores]), decided(scores)
    (key,) = alone
    assert alone[key].p_adjusted == pytest.approx(2 / 2**10)
    assert both[key].p_adjusted == pytest.approx(2 * alone[key].p_adjusted)
    assert len(decided([*times, *times])) == 2, "one comparison asked for twice counts once"


# Questions of others


class Point:
    name = "mine"

    def __init__(self, value):
        self.value = value

    def load(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def mine(name="U1"):
    def answer(question, case):
        return Answer(
            question.id, question.text, "yes", [f"{len(case.rows)} rows."], cells=[r.cell_id for r in case.rows]
        )

    return Question(name, "How many rows are there?", "rows", "their number", "always yes", answer)


def test_a_question_by_entry_point(monkeypatch):
    monkeypatch.setattr(added, "entry_points", lambda group: [Point(mine())] if group == "rotbench.questions" else [])
    assert list(questions()) == [*QUESTIONS, "U1"]
    found = answers(pair_of_times(0.5))[-1]
    assert (found.id, found.verdict, found.sentences) == ("U1", "yes", ["4 rows."])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (ImportError("no module"), "must name a Question, got no module"),
        ("text", "must name a Question, got 'text'"),
        (mine("Q3"), "its question's id must be new, got 'Q3'"),
    ],
)
def test_a_bad_entry_point_is_one_line(monkeypatch, value, words):
    monkeypatch.setattr(added, "entry_points", lambda group: [Point(value)])
    with pytest.raises(UserError, match=re.escape(words)):
        questions()


def test_a_case_is_all_that_an_answer_needs():
    question = QUESTIONS["Q8"]
    assert question.answer(question, Case([])).verdict == "not measured"


# Text, JSON, LaTeX, the command


@pytest.mark.parametrize("width", [80, 200])
def test_answers_fit_the_terminal(width):
    for entry in answers([*pair_of_times(0.5), *trained("rotrnn", UP), *trained("lru", DOWN)]):
        for line in f"{brief(entry, width)}\n{full(entry, width)}".splitlines():
            assert len(line) <= width or " " not in line.strip(), line


def test_a_brief_answer_leaves_out_its_trace():
    found = one("Q3", pair_of_times(0.5))
    assert "again: rotbench" not in brief(found) and "again: rotbench" in full(found)
    assert "cells: " in full(found)


def runs(folder, rows):
    files.prepare_folder(folder)
    for entry in rows:
        files.write(folder, entry)
    return str(folder)


def test_the_command(tmp_path, capsys):
    folder = runs(tmp_path / "runs", pair_of_times(0.5))
    command.answer([folder])
    out = capsys.readouterr().out
    assert all(
        re.search(rf"^{name} \[[a-z ]+\] {re.escape(question.text)}$", out, re.MULTILINE)
        for name, question in QUESTIONS.items()
    )
    command.answer(["q3", folder])
    out = capsys.readouterr().out
    assert "Differences between layers" in out and "Q4" not in out.split("\n")[0]
    command.answer(["Q3", folder], json=True)
    (found,) = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "yes"
    assert found["how"]["rule"] == QUESTIONS["Q3"].rule
    assert found["table"]["rows"][0]["verdict"] == "faster"


def test_the_command_ends_with_3_where_nothing_can_be_judged(tmp_path, capsys):
    folder = runs(tmp_path / "runs", [timed("rotrnn", 64, [1.0])])
    with pytest.raises(ExitError) as ended:
        command.answer(["Q2", folder])
    assert ended.value.code == 3
    (tmp_path / "none").mkdir()
    with pytest.raises(ExitError) as ended:
        command.answer(["Q2", "Q3", str(tmp_path / "none")])
    assert ended.value.code == 3
    assert f"no results in {tmp_path / 'none'}" in capsys.readouterr().err


def test_flops_are_judged_without_any_result(tmp_path, capsys, monkeypatch):
    """In a folder that is empty or has a signal study alone, and where no folder of results is yet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none" / "signal").mkdir(parents=True)
    (tmp_path / "none" / "signal" / "study.parquet").write_bytes(b"not of cells")
    for words in (["Q1", "none"], ["none"], ["Q1"], []):
        command.answer(words)
        out, err = capsys.readouterr()
        assert "Q1 [no] Does RotRNN take fewer FLOPs" in out
        assert err.endswith("only formulas can be judged\n")
    with pytest.raises(UserError, match="no results at elsewhere"):
        command.answer(["Q1", "elsewhere"])


def test_words_are_questions_or_paths(tmp_path):
    assert command.split(["q3", "Q1", "some/Q3", "Q3"], QUESTIONS) == (["Q3", "Q1"], [Path("some/Q3")])
    with pytest.raises(UserError, match="unknown question 'Q99'; known: Q1, "):
        command.split(["Q99"], QUESTIONS)


def test_a_report_as_json():
    rows = [entry for entry in mixed() if entry.cell_id != "step"]
    text = to_json(report.build(rows, answers=answers(rows)))
    found = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert found["format"] == 1
    assert [entry["id"] for entry in found["answers"]] == list(QUESTIONS)
    assert len(found["rows"]) == len(rows)
    assert "samples_ms" not in text
    assert finite({"a": [math.inf, 1.0], "b": (math.nan, "x")}) == {"a": [None, 1.0], "b": [None, "x"]}
    assert table_values(Table("t", ["a", "b"], [["1", "2"]]))["rows"] == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize("name", ["Q1", "Q3", "Q6", "Q7"])
def test_charts_are_drawn(name):
    found = one(name, [*scaling(1.0), *pair_of_times(0.5), *(norms("lru", 0.5, seed) for seed in range(2))])
    json.dumps(found.chart, allow_nan=False)
    assert len(drawn(found.chart, "svg")) > 1000


def test_the_document_has_every_question():
    text = " ".join((Path(__file__).parent.parent / "docs" / "answers.md").read_text().split())
    for name, question in QUESTIONS.items():
        for words in (name, question.text, question.needs, question.statistic, question.rule):
            assert " ".join(words.split()) in text, (name, words)
