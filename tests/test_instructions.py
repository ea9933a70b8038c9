"""Counting instructions, with counters that are made up, and with valgrind's and perf's own words."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from frameworks import INSTALLED

from benchmark.metrics import instructions as counting
from benchmark.metrics.instructions import PERF, VALGRIND, Counter, count, find_counter, per_call
from benchmark.reports.instructions import instructions_table
from benchmark.reports.tables import to_terminal
from benchmark.spec import UserError
from benchmark.sweeps import instructions as cells
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.supervisor import command_of

PERF_LOG = "# started on Mon\n\n123456,,instructions:u,1000,100.00,,\n"
NONE_LOG = "<not supported>,,instructions:u,0,100.00,,\n"
VALGRIND_LOG = "==1== Cachegrind\n==1== I   refs:      6,145,144,203\n"

START, CALL = 1000, 7


def fake(code):
    """A counter that writes what the code makes of the number of calls."""
    script = f"import sys; log, calls = sys.argv[1], int(sys.argv[2]); {code}"
    return Counter("fake", (sys.executable, "-c", script, "{log}"), r"count (\d+)", {})


@pytest.mark.parametrize(
    ("counter", "text", "found"),
    [(PERF, PERF_LOG, 123456), (PERF, NONE_LOG, None), (VALGRIND, VALGRIND_LOG, 6145144203), (VALGRIND, "", None)],
)
def test_what_the_tools_write(counter, text, found):
    assert counter.read(text) == found


def test_the_start_is_taken_out():
    linear = fake(f"open(log, 'w').write(f'count {{{START} + {CALL} * calls}}')")
    assert per_call(lambda n: [str(n)], linear, {}, 10) == CALL


def test_a_command_that_fails_is_told():
    failing = fake("open(log, 'w').write('count 5'); sys.exit('no such layer')")
    with pytest.raises(UserError, match="must end well: no such layer"):
        count(["1"], failing, {})


def test_a_counter_that_finds_nothing_is_told():
    with pytest.raises(UserError, match="fake has counted nothing"):
        per_call(lambda n: [str(n)], fake("pass"), {}, 1)


def writes(text):
    """A subprocess.run that leaves this in the log."""

    def run(command, **_):
        log = next(part for part in map(str, command) if part.endswith("/count"))
        Path(log.removeprefix("--log-file=")).write_text(text)
        return subprocess.CompletedProcess(command, 0, "", "")

    return run


def test_perf_comes_first_and_valgrind_where_perf_counts_nothing(monkeypatch):
    monkeypatch.setattr(counting.shutil, "which", lambda name: name)
    assert find_counter(run=writes(PERF_LOG)) is PERF
    assert find_counter(run=writes(NONE_LOG + VALGRIND_LOG)) is VALGRIND
    with pytest.raises(UserError, match="perf counts nothing here"):
        find_counter("perf", run=writes(NONE_LOG))


def test_where_neither_is_here_one_line_says_so(monkeypatch):
    monkeypatch.setattr(counting.shutil, "which", lambda _: None)
    with pytest.raises(UserError) as caught:
        find_counter()
    assert str(caught.value) == (
        "instructions cannot be counted: perf is not installed; valgrind is not installed; "
        "install valgrind, or compare times"
    )
    assert caught.value.exit_code == 2


def counted(instructions, cell="c1", **changes):
    fields = {
        "cell_id": cell,
        "cell": {"layer": "lru", "framework": "torch", "seq_len": 64},
        "instructions": instructions,
        "calls": 10,
        "counter": "valgrind",
        "cpu": "Test",
        "versions": {"torch": "2.5.0"},
    }
    return cells.Count(**(fields | changes))


def test_counts_there_and_back_and_their_change(tmp_path):
    path = tmp_path / "counts.json"
    path.write_text(cells.to_json([counted(1e9), counted(None, "c2", reason="why")]))
    before = cells.read_counts(path)
    assert list(before) == ["c1"]
    change = cells.changes([counted(1.02e9), counted(5.0, "c3")], before)["c1"]
    assert change.ratio == pytest.approx(1.02)
    assert change.error == pytest.approx(1e7 / 1e10 + 1e7 / 1.02e10)


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (counted(1e9, "other"), "no cell has a count in both"),
        (counted(1e9, versions={"torch": "2.6.0"}), "another versions say nothing"),
        (counted(1e9, counter="perf"), "another counter say nothing"),
    ],
)
def test_counts_that_cannot_be_compared(now, message):
    with pytest.raises(UserError, match=message) as caught:
        cells.changes([now], {"c1": counted(1e9)})
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"cell_id": "x"}]'])
def test_files_that_hold_no_counts(text, tmp_path):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(UserError, match="it is no list of counts"):
        cells.read_counts(tmp_path / "c.json")


def test_the_table_says_what_was_counted_and_how_sure():
    lines = [counted(1e9), counted(None, "c2", reason="it failed")]
    text = to_terminal(instructions_table(lines, {"c1": cells.Change(1.0213, 0.001)}))
    assert "1.00 G" in text and "+2.13 %" in text and "0.1 %" in text and "it failed" in text
    assert "valgrind" in text


@pytest.mark.parametrize("framework", INSTALLED)
def test_the_counted_command_makes_calls(framework):
    cell = Cell(
        metric="speed",
        layer="lru",
        framework=framework,
        d_model=4,
        d_state=4,
        options={},
        seq_len=16,
        batch=1,
        threads=1,
    ).model_copy(update={"direction": "forward", "algorithm": "sequential"})
    command = command_of("benchmark.sweeps.calls", cell.model_dump_json(), "2")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "sequential\n", done.stderr
    assert json.loads(cell.model_dump_json())["layer"] == "lru"
