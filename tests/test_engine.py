"""The sweep's loop with processes that do as they are told: order, resume, memory, failures, the lock."""

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_sweeps import cell

from benchmark.spec import UserError
from benchmark.store import files
from benchmark.sweeps import lock
from benchmark.sweeps.outcome import Outcome
from benchmark.sweeps.run import Effort, SweepRun, Watcher, run_cells

ROOT = Path(__file__).parent.parent


@pytest.fixture
def scripted(monkeypatch):
    """Replaces processes: ``script(cell, nth)`` is the outcome; returns the list of cells in the order of processes."""
    visits = []

    def install(script=lambda cell, nth: ok()):
        def run(self, cell, pool):
            visits.append(cell)
            return script(cell, sum(seen.id == cell.id for seen in visits))

        monkeypatch.setattr(SweepRun, "run", run)
        return visits

    return install


def ok(ms=1.0):
    detail = {"inner": 1, "warmup_ms": [ms]}
    return Outcome("ok", result={"samples_ms": [ms] * 5, "algorithm_run": "chunked", "detail": detail})


def cells(*lengths, **changes):
    return [cell(seq_len=length, **changes) for length in lengths]


def test_every_cell_gets_its_processes_and_one_row(scripted, tmp_path):
    visits = scripted(lambda cell, nth: ok(nth))
    rows = run_cells(cells(8, 16), tmp_path, Effort(processes=3))
    assert len(visits) == 6
    assert [row.seq_len for row in rows] == [8, 16]
    assert all(row.process_medians_ms == [1, 2, 3] for row in rows)
    starts = [start for row in rows for start in row.environment["process_started_s"]]
    assert len(starts) == 6
    assert all(a <= b for row in rows for a, b in itertools.pairwise(row.environment["process_started_s"]))
    assert len(list((tmp_path / "cells").glob("*.parquet"))) == 2


def test_the_order_is_drawn_over_the_whole_sweep(scripted, tmp_path):
    visits = scripted()
    run_cells(cells(*range(1, 41)), tmp_path, Effort(processes=2))
    order = [seen.seq_len for seen in visits]
    assert order != sorted(order)
    assert sum(a == b for a, b in itertools.pairwise(order)) < 10  # not one cell after the other


def test_a_repeated_command_does_only_what_is_missing(scripted, tmp_path):
    visits = scripted()
    run_cells(cells(8), tmp_path, Effort(processes=2))
    rows = run_cells(cells(8, 16), tmp_path, Effort(processes=2))
    assert [seen.seq_len for seen in visits] == [8, 8, 16, 16]
    assert len(rows) == 2
    run_cells(cells(8, 16), tmp_path, Effort(processes=2, again=True))
    assert len(visits) == 8
    assert len(files.read([tmp_path]).rows) == 4  # nothing is overwritten


def test_a_failed_process_ends_its_cell_and_nothing_else(scripted, tmp_path):
    visits = scripted(lambda cell, nth: Outcome("crashed", reason="by SIGSEGV") if cell.seq_len == 8 else ok())
    rows = run_cells(cells(8, 16), tmp_path, Effort(processes=3))
    assert {row.seq_len: row.status for row in rows} == {8: "crashed", 16: "ok"}
    assert sum(seen.seq_len == 8 for seen in visits) == 1


def test_retry_measures_again_what_ended_so(scripted, tmp_path):
    script = {"status": "failed"}
    visits = scripted(lambda cell, nth: Outcome(script["status"], reason="no") if script["status"] != "ok" else ok())
    run_cells(cells(8), tmp_path, Effort(processes=1))
    script["status"] = "ok"
    assert run_cells(cells(8), tmp_path, Effort(processes=1))[0].status == "failed"
    assert run_cells(cells(8), tmp_path, Effort(processes=1, retry=("oom",)))[0].status == "failed"
    assert run_cells(cells(8), tmp_path, Effort(processes=1, retry=("failed",)))[0].status == "ok"
    assert len(visits) == 2
    with pytest.raises(UserError, match="--retry takes oom, timeout"):
        run_cells(cells(8), tmp_path, Effort(retry=("broken",)))


def out_of_memory_at_16(cell, nth):
    return Outcome("oom", reason="allocator: no") if cell.seq_len >= 16 else ok()


def test_larger_cells_are_skipped_after_memory_ran_out(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr("random.Random.shuffle", lambda self, visits: visits.sort(key=lambda c: c.seq_len))
    visits = scripted(out_of_memory_at_16)
    rows = run_cells([*cells(8, 16, 32), *cells(32, dtype="float64")], tmp_path, Effort(processes=1))
    assert [row.status for row in rows] == ["ok", "oom", "skipped_after_oom", "oom"]
    assert "seq_len 16" in rows[2].reason
    assert len(visits) == 3
    rows = run_cells(cells(32), tmp_path, Effort(processes=1, again=True, skip_after_oom=False))
    assert [row.status for row in rows] == ["oom"]


def test_a_damaged_file_is_named_and_its_cell_measured_again(scripted, tmp_path):
    visits, named = scripted(), []
    (row,) = run_cells(cells(8), tmp_path, Effort(processes=1))
    (path,) = (tmp_path / "cells").iterdir()
    path.write_bytes(path.read_bytes()[:-9] + b"x" + path.read_bytes()[-8:])
    watcher = Watcher(on_bad=lambda *told: named.append(told))
    assert run_cells(cells(8), tmp_path, Effort(processes=1), watcher)[0].cell_id == row.cell_id
    assert len(visits) == 2 and [at for at, _ in named] == [path] and "damaged" in named[0][1]


def test_what_cannot_fit_is_not_tried(scripted, tmp_path):
    visits = scripted()
    (row,) = run_cells([cell(seq_len=2**31 - 1, batch=1000)], tmp_path, Effort())
    assert row.status == "oom"
    assert "not tried" in row.reason
    assert not visits


def test_fail_fast_stops_and_keeps_what_there_is(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr("random.Random.shuffle", lambda self, visits: None)
    scripted(lambda cell, nth: Outcome("failed", reason="no") if cell.seq_len == 16 else ok())
    rows = run_cells(cells(8, 16, 32), tmp_path, Effort(processes=1, fail_fast=True))
    assert [row.status for row in rows] == ["ok", "failed"]


def test_an_interrupt_keeps_what_is_finished(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr("random.Random.shuffle", lambda self, visits: None)

    def script(cell, nth):
        if cell.seq_len == 16:
            raise KeyboardInterrupt
        return ok()

    scripted(script)
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells(8, 16, 32), tmp_path, Effort(processes=1))
    assert [row.seq_len for row in files.read([tmp_path]).rows] == [8]


def test_a_killed_sweep_goes_on_where_it_stopped(tmp_path):
    """kill -9 in the middle of a cell's process: the row before it is kept, and only the others are measured."""
    hang = "import os, time\ndef job(payload, emit):\n    if payload['cell']['seq_len'] == 16: time.sleep(60)\n"
    (tmp_path / "scripted.py").write_text(hang + f"    return {ok().result!r}\n")
    code = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'tests')!r}]\n"
        "import random; random.Random.shuffle = lambda self, visits: None\n"
        "from pathlib import Path; from test_engine import Effort, cells, run_cells; from benchmark.sweeps import run\n"
        "run.JOBS['speed'] = 'scripted:job'\n"
        "run_cells(cells(8, 16, 32), Path('out'), Effort(processes=1))"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", code]
    harness = subprocess.Popen(command, cwd=tmp_path, env=env)
    for _ in range(600):
        if len(kept := list((tmp_path / "out" / "cells").glob("*.parquet"))) == 1:
            break
        time.sleep(0.05)
    before = kept[0].read_bytes()
    harness.kill()
    harness.wait()
    (tmp_path / "scripted.py").write_text(f"def job(payload, emit): return {ok().result!r}\n")
    subprocess.run(command, cwd=tmp_path, env=env, check=True)
    assert kept[0].read_bytes() == before
    assert sorted(row.seq_len for row in files.read([tmp_path / "out"]).rows) == [8, 16, 32]
    assert not list((tmp_path / "out" / ".staging").iterdir())


def test_the_watcher_is_told(scripted, tmp_path):
    scripted()
    seen = []
    watcher = Watcher(
        on_start=lambda *counts: seen.append(counts),
        on_process=lambda cell, done, of: seen.append((done, of)),
        on_row=lambda row: seen.append(row.status),
    )
    run_cells(cells(8), tmp_path, Effort(processes=2), watcher)
    assert seen == [(1, 2), (1, 2), "ok", (2, 2)]


@pytest.fixture
def own_locks(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_one_sweep_at_a_time(own_locks):
    taken = pytest.raises(lock.DeviceBusyError, match=r"process \d+ \(.*\) measures on cpu; wait for it with --wait")
    with lock.device_lock("cpu"), lock.device_lock("cuda:1"), taken, lock.device_lock("cpu"):
        pass
    with lock.device_lock("cpu"):
        pass


def test_waiting_for_another_sweep(own_locks):
    code = (
        f"import sys, tempfile, time; sys.path.insert(0, {str(ROOT)!r}); tempfile.tempdir = {str(own_locks)!r}\n"
        "from benchmark.sweeps.lock import device_lock\n"
        "with device_lock('cpu'): print('held', flush=True); time.sleep(1.5)"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    said, start = [], time.monotonic()
    with lock.device_lock("cpu", wait=True, on_wait=said.append):
        assert time.monotonic() - start > 0.5
    assert said[0].startswith(f"waiting for process {other.pid}")
    other.communicate()


def test_a_lock_dies_with_its_holder(own_locks):
    code = (
        f"import os, sys, tempfile; sys.path.insert(0, {str(ROOT)!r}); tempfile.tempdir = {str(own_locks)!r}\n"
        "from benchmark.sweeps.lock import device_lock\n"
        "with device_lock('cpu'): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    with lock.device_lock("cpu"):
        pass
