"""`rotbench gate`: what it says, writes and returns, and on real code."""

import json
import math
import re
import xml.etree.ElementTree as ET

import gate_on_real_code
import pytest
from frameworks import INSTALLED
from regress_rows import NOISE, decided, measured, repository, run, stored, times

from benchmark.reports.gate import gate_json, to_junit, to_summary

# What is said


def test_junit_has_a_case_a_comparison():
    found = decided((NOISE, times(1.5)), (NOISE, (0.5, 1.5, 4.0)), (NOISE, NOISE))
    suite = ET.fromstring(to_junit(found))
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }
    assert suite.find("testcase/failure").get("message").startswith("regression: x1.500 (")
    names = [case.get("name") for case in suite]
    assert len(set(names)) == 3 and names[0].startswith("speed torch lru forward length 1 ms [")


def test_the_summary_names_what_fails_and_counts_the_rest():
    text = to_summary(decided((NOISE, times(1.5)), (NOISE, NOISE)), ["baseline: a"])
    assert text.startswith("## rotbench gate: FAILED, 1 of 2 comparisons are regressions\n\nbaseline: a\n")
    assert "Comparisons: 2, 1 regression, 1 ok." in text
    assert len(re.findall(r"^\| regression", text, flags=re.MULTILINE)) == 1
    assert "| ok |" not in text


def test_json_has_everything():
    found = json.loads(json.dumps(gate_json(decided((NOISE, times(1.5)), ([1.0], [1.0]))), allow_nan=False))
    assert found["failed"]
    assert [entry["verdict"] for entry in found["comparisons"]] == ["regression", "can't tell"]
    assert found["comparisons"][0]["ratio"] == pytest.approx(1.5)
    assert found["comparisons"][1]["ci_high"] is None


# The command


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A baseline of two cells in a; b is as it was, c slower."""
    monkeypatch.chdir(tmp_path)
    for name, side, factor in (("a", "before", 1), ("b", "after", 1), ("c", "after", 1.5)):
        stored(tmp_path / name, *(measured(times(factor), side, seq_len=length) for length in (8, 16)))
    return tmp_path


def test_exit_codes(here, capsys):
    assert run("gate", "b", "--baseline", "a") == 0
    assert "gate: passed, 2 compared" in capsys.readouterr().out
    assert run("gate", "c", "--baseline", "a") == 1
    assert "gate: FAILED, 2 of 2 comparisons are regressions" in capsys.readouterr().out
    assert run("gate", "c", "--baseline", "a", "--fail-on", "150%") == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["b"], 2, "gate needs --baseline"),
        (["b", "--baseline", "a", "--fail-on", "5"], 2, "--fail-on: must be less than 1, or a percentage"),
        (["b", "--baseline", "a", "--fail-on", "much"], 2, '--fail-on: must be a share such as "5%"'),
        (["b", "--baseline", "a", "--config", "no.toml"], 2, "no configuration at no.toml"),
        (["b", "--baseline", "a", "--metric", "x"], 2, "unknown metric 'x'"),
        (["b", "--baseline", "nowhere"], 3, "no results at 'nowhere'"),
        (["nowhere", "--baseline", "a"], 3, "no results at 'nowhere'"),
        (["b", "--baseline", "empty.json"], 3, "no results in empty.json: empty.json cannot be read: it is empty"),
        (["b", "--baseline", "none.json"], 3, "no results in none.json: no row is there"),
        (["b", "--baseline", "corrupt"], 3, "corrupt/cells/x.parquet cannot be read"),
        (["b", "--baseline", "a", "--metric", "energy_j"], 3, "nothing could be compared"),
        (["b", "--baseline", "machine"], 3, "nothing could be compared"),
        (["b", "--baseline", "elsewhere"], 3, "nothing could be compared"),
    ],
)
def test_what_is_missing_has_its_own_words_and_code(words, code, message, here, capsys):
    (here / "empty.json").write_text("")
    (here / "none.json").write_text("[]")
    (here / "corrupt/cells").mkdir(parents=True)
    (here / "corrupt/cells/x.parquet").write_text("no parquet")
    stored(here / "machine", measured(side="before", environment={"cpu": "6502"}))
    stored(here / "elsewhere", measured(side="before", seq_len=1000))
    assert run("gate", *words) == code
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err and len(err.strip().splitlines()) == 1


def test_another_machine_is_told_in_words(here, capsys):
    stored(here / "d", measured(side="before", environment={"cpu": "6502"}))
    assert run("gate", "b", "--baseline", "d") == 3
    out = capsys.readouterr().out
    assert "not comparable: cpu 6502 against Z80" in out and "--allow-different cpu" in out


def test_a_damaged_file_among_good_ones_is_named(here, capsys):
    (here / "a/cells/bad.parquet").write_text("no parquet")
    assert run("gate", "b", "--baseline", "a") == 0
    assert "bad.parquet could not be read and is left out" in capsys.readouterr().err


def test_cells_without_a_baseline_pass_unless_one_is_required(here, capsys):
    stored(here / "b", measured(seq_len=32))
    assert run("gate", "b", "--baseline", "a") == 0
    assert "without a baseline: speed torch lru forward length 32" in capsys.readouterr().out
    assert run("gate", "b", "--baseline", "a", "--require-baseline") == 3
    assert "--require-baseline: 1 cells or metrics" in capsys.readouterr().err
    stored(here / "c", measured(seq_len=32))
    assert run("gate", "c", "--baseline", "a", "--require-baseline") == 1  # a regression is one all the same


def test_a_baseline_that_is_not_measured_now_is_missed_too(here, capsys):
    stored(here / "one", measured(NOISE, seq_len=8))
    assert run("gate", "one", "--baseline", "a") == 0
    assert run("gate", "one", "--baseline", "a", "--require-baseline") == 3
    assert "gate: INCOMPLETE, 1 compared, 1 cells or metrics not" in capsys.readouterr().out


def test_a_metric_that_one_side_lacks_is_named(here, capsys):
    stored(here / "joules", *(measured(NOISE, "before", seq_len=n, values={"energy_j": 1.0}) for n in (8, 16)))
    assert run("gate", "b", "--baseline", "joules") == 0
    assert "no energy_j in the newer source, so not compared: speed torch lru" in capsys.readouterr().out
    assert run("gate", "b", "--baseline", "joules", "--require-baseline") == 3
    capsys.readouterr()
    assert run("compare", "joules", "b", "--json") == 0
    assert {entry["side"] for entry in json.loads(capsys.readouterr().out)["lacking"]} == {"after"}


def test_where_every_cell_failed_nothing_was_measured(here, capsys):
    gone = {"status": "failed", "reason": "no torch", "detail": {}}
    stored(here / "gone", *(measured(None, seq_len=n, values=gone) for n in (8, 16)))
    assert run("gate", "gone", "--baseline", "a") == 3
    assert capsys.readouterr().out.endswith("gate: nothing measured\n")


def test_what_is_no_number_is_no_result(here, capsys):
    rows = json.loads(json.dumps([measured().model_dump(mode="json", exclude_none=True)]))
    rows[0]["process_medians_ms"] = [math.nan, math.inf, 0.9]
    (here / "nan.json").write_text(json.dumps(rows))
    assert run("gate", "nan.json", "--baseline", "a", "--strict") == 3
    assert "process_medians_ms must be finite and above 0, got nan" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["nowhere", "--baseline", "a"], ["b", "--baseline", "cpu"]])
def test_files_are_written_where_nothing_is_compared(words, here, capsys):
    stored(here / "cpu", measured(side="before", environment={"cpu": "6502"}))
    assert run("gate", *words, "--markdown", "s.md", "--junit", "j.xml", "--json") == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["outcome"], found["failed"], found["comparisons"]) == ("nothing compared", False, [])
    assert (here / "s.md").read_text().startswith("## rotbench gate: nothing compared\n")
    suite = ET.parse(here / "j.xml").getroot()
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")


def test_rows_of_another_commit_are_told_and_not_measured_again(here, capsys):
    repository(here / "code")
    assert run("gate", "b", "--baseline", "a", "--checkout", here / "code") == 0
    assert "careful: the rows of now are of commit bbbbbbbbbbbb, while" in capsys.readouterr().out
    assert run("gate", "b", "--baseline", "a", "--checkout", here / "code", "--rerun") == 3
    assert "--rerun needs rows of the code that it measures" in capsys.readouterr().err


def test_files_for_a_build_are_written(here, capsys):
    assert run("gate", "c", "--baseline", "a", "--markdown", "s.md", "--junit", "j.xml", "--json") == 1
    assert json.loads(capsys.readouterr().out)["failed"]
    assert (here / "s.md").read_text().startswith("## rotbench gate: FAILED")
    assert ET.parse(here / "j.xml").getroot().get("failures") == "2"


def test_rerun_without_a_build_says_so_and_judges_by_the_sources(here, capsys):
    assert run("gate", "c", "--baseline", "a", "--rerun", "--checkout", here) == 1
    assert "not measured again: git in" in capsys.readouterr().out


# Real code


@pytest.mark.full
@pytest.mark.skipif("torch" not in INSTALLED, reason="measures torch")
def test_a_real_slow_down_is_caught_and_an_unchanged_tree_passes(tmp_path, monkeypatch):
    """Twice the same commit, then one whose calls sleep; `python tests/gate_on_real_code.py` does it often."""
    monkeypatch.setenv("ROTBENCH_TEST_SLEEP_MS", "20")
    checkout = gate_on_real_code.clone(tmp_path / "clone")
    before, same = (gate_on_real_code.measure(checkout, tmp_path / name) for name in ("before", "same"))
    code, text = gate_on_real_code.gated(checkout, before, same)
    assert code == 0, text
    gate_on_real_code.slow_down(checkout)
    after = gate_on_real_code.measure(checkout, tmp_path / "after")
    code, text = gate_on_real_code.gated(checkout, before, after)
    assert code == 1, text
    assert "6 + 6, again" in text
