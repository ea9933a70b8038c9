"""Axes to cells, cells to ids, and jobs in processes of their own."""

import time
from pathlib import Path

import pytest
from frameworks import INSTALLED
from hypothesis import given
from hypothesis import strategies as st

from benchmark.spec import LAYERS, UserError
from benchmark.sweeps import plan
from benchmark.sweeps.cell import Cell, layer_spec
from benchmark.sweeps.grid import numbers, options, words
from benchmark.sweeps.process import run_job, worker_environment
from benchmark.sweeps.run import row_of, run_cells

AXES = {
    "layers": ["lru"],
    "frameworks": [INSTALLED[0]] if INSTALLED else [],
    "algorithms": ["auto"],
    "seq_lens": ["8"],
    "batches": ["2"],
    "d_models": ["4"],
    "d_states": ["64"],
    "directions": ["forward"],
    "dtypes": ["float32"],
    "device": "cpu",
    "threads": 1,
    "settings": [],
    "seed": 0,
}
needs_framework = pytest.mark.skipif(not INSTALLED, reason="plans cells of an installed framework")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (["7"], [7]),
        (["1024:8192:x2"], [1024, 2048, 4096, 8192]),
        (["1:1000:x10"], [1, 10, 100, 1000]),
        (["100:500:+200"], [100, 300, 500]),
        (["100:450:+200", "7,100"], [100, 300, 7]),
        (["5:5:x2"], [5]),
    ],
)
def test_numbers(text, expected):
    assert numbers("seq-len", text) == expected


@pytest.mark.parametrize(
    "text", ["", "0", "-3", "1.5", "x", "1:2", "4:2:x2", "1:8:x1", "1:8:2", "1:8:x", "1:9999999:+1", "²", "1:2:3:4"]
)
def test_bad_numbers_name_the_axis(text):
    with pytest.raises(UserError, match="seq-len") as caught:
        numbers("seq-len", [text])
    assert "\n" not in str(caught.value)


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 10**4))
def test_ranges_stay_inside(start, more, step):
    if more // step > 9_000:
        return
    found = numbers("n", [f"{start}:{start + more}:+{step}"])
    assert found[0] == start
    assert found[-1] <= start + more < found[-1] + step


def test_words():
    assert words(["a,b", "b", " c ,"]) == ["a", "b", "c"]


def test_options_go_to_the_layers_that_have_them():
    known = {"rotrnn": ["heads", "bidirectional"], "lru": ["r_min", "bidirectional"]}
    found = options(["rotrnn", "lru"], known, ["heads=4", "bidirectional=true", "lru.r_min=0.5"])
    assert found == {"rotrnn": {"heads": 4, "bidirectional": True}, "lru": {"bidirectional": True, "r_min": 0.5}}


@pytest.mark.parametrize("setting", ["heads", "blocks=2", "s5.blocks=2", "lru.heads=2"])
def test_bad_options_list_the_known_ones(setting):
    with pytest.raises(UserError, match="--set"):
        options(["rotrnn", "lru"], {"rotrnn": ["heads"], "lru": ["r_min"]}, [setting])


@needs_framework
def test_cells_are_the_product_of_the_axes():
    cells = plan.speed_cells(**(AXES | {"layers": ["lru,s5"], "seq_lens": ["8:32:x2"], "directions": ["forward,step"]}))
    assert len(cells) == 2 * (3 + 1)  # a step has no length
    assert len({cell.id for cell in cells}) == len(cells)


@needs_framework
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": ["s6"]}, "unknown layer 's6'; known: rotrnn, lru, s4d, s5"),
        ({"frameworks": ["tensorflow"]}, "unknown framework 'tensorflow'; known: torch, jax"),
        ({"algorithms": ["quick"]}, "unknown algorithm 'quick'"),
        ({"directions": ["back"]}, "unknown direction 'back'; known: forward, forward\\+backward, step"),
        ({"dtypes": ["bf16"]}, "unknown dtype 'bf16'; known: float32, float64"),
        ({"device": "tpu"}, "unknown device 'tpu'; known: cpu, cuda"),
        ({"threads": 10**6}, "threads must lie between 1 and"),
        ({"seed": -1}, "seed must not be negative"),
        ({"layers": ["rotrnn"], "d_states": ["100"]}, "divisible by heads"),
        ({"directions": ["step"], "settings": ["bidirectional=true"]}, "carried state"),
    ],
)
def test_what_cannot_be_measured_is_refused_at_once(change, message):
    with pytest.raises(UserError, match=message) as caught:
        plan.speed_cells(**(AXES | change))
    assert "\n" not in str(caught.value)


def cell(**changes):
    spec = layer_spec("lru", 4, 6, {})
    fields = {"metric": "speed", "layer": "lru", "framework": "torch", "d_model": 4, "d_state": 6, "threads": 1}
    shape = {"batch": 2, "seq_len": 8, "direction": "forward", "options": spec.options}
    return Cell(**(fields | shape | changes))


def test_ids_hang_on_the_contents_alone():
    assert cell().id == cell().id
    assert cell().id == Cell.model_validate_json(cell().model_dump_json()).id
    assert cell().id != cell(seq_len=9).id
    assert cell().id == "884ddd7b0e274b49"


def test_a_cell_gives_its_spec_back():
    assert cell().spec == LAYERS["lru"](d_model=4, d_state=6)


@needs_framework
@pytest.mark.parametrize("framework", INSTALLED)
def test_cells_become_rows(framework, tmp_path):
    seen = []
    rows = run_cells(
        [cell(framework=framework), cell(framework=framework, direction="step", seq_len=None)],
        tmp_path,
        plan={"budget_s": 0.05, "warmup_s": 0.0},
        on_row=seen.append,
    )
    assert rows == seen
    for row in rows:
        assert (row.status, row.reason) == ("ok", None)
        assert 0 < row.ci_low_ms <= row.median_ms <= row.ci_high_ms
        assert row.gate_error < 1e-5
        assert row.flops > 0
        assert row.peak_rss_bytes > 1e7
        assert (row.compile_s is None) == (framework == "torch")
    assert len(list((tmp_path / "cells").glob("*.parquet"))) == 2


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Run a function's source as a job."""

    def run(body, **options):
        (tmp_path / "jobs_for_tests.py").write_text(f"import os, sys, time\ndef job(payload, emit):\n    {body}\n")
        return run_job("jobs_for_tests:job", {}, {"PYTHONPATH": str(tmp_path)}, **options)

    return run


def test_a_job_answers_and_tells_of_its_progress(job):
    events = []
    outcome = job("emit(event='progress', done=1); return {'x': 1}", on_event=events.append)
    assert (outcome.status, outcome.result) == ("ok", {"x": 1})
    assert events == [{"event": "progress", "done": 1}]


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ("raise KeyError('lost')", "failed", "KeyError: 'lost'"),
        ("from benchmark.spec import UserError; raise UserError('no')", "failed", "no"),
        ("from benchmark.spec import Unsupported; raise Unsupported('never')", "unsupported", "never"),
        ("os.abort()", "crashed", "killed by SIGABRT"),
        ("os.kill(os.getpid(), 9)", "crashed", "killed by SIGKILL"),
        ("os._exit(0)", "failed", "exit code 0 and no result"),
        ("os._exit(3)", "failed", "exit code 3 and no result"),
        ("print('noise', flush=True); sys.exit(5)", "failed", "exit code 5 and no result"),
    ],
)
def test_every_end_of_a_job_is_told_apart(job, body, status, reason):
    outcome = job(body)
    assert outcome.status == status
    assert reason in outcome.reason


def test_a_hanging_job_is_killed_with_its_children(job):
    start = time.monotonic()
    outcome = job(
        "import subprocess; p = subprocess.Popen(['sleep', '60']); "
        "print(p.pid, file=sys.stderr, flush=True); time.sleep(60)",
        timeout_s=3,
    )
    assert outcome.status == "timeout"
    assert "no result within 3 s" in outcome.reason
    assert time.monotonic() - start < 20
    child = int(outcome.stderr_tail.split()[-1])
    for _ in range(50):
        if not _alive(child):
            return
        time.sleep(0.1)
    pytest.fail("the child of a killed job still runs")


def _alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_failed_cell_is_a_row():
    from benchmark.sweeps.process import Outcome

    row = row_of(cell(), Outcome("failed", reason="no", stderr_tail="last words"), {})
    assert (row.status, row.reason, row.notes) == ("failed", "no", {"stderr_tail": "last words"})
    assert row.median_ms is None


def test_the_worker_environment():
    found = worker_environment(threads=1, device="cpu", dtype="float64")
    assert found["OMP_NUM_THREADS"] == "1"
    assert found["JAX_ENABLE_X64"] == "1"
    assert "OMP_NUM_THREADS" not in worker_environment(threads=0, device="cpu")
    assert "CUDA_VISIBLE_DEVICES" not in worker_environment(threads=1, device="cuda:1")
