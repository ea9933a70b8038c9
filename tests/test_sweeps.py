"""Axes to cells, cells to ids, and jobs in processes of their own."""

import pytest
from frameworks import INSTALLED
from hypothesis import given
from hypothesis import strategies as st

from benchmark.spec import LAYERS, UserError
from benchmark.sweeps import combine, plan
from benchmark.sweeps.cell import Cell, layer_spec
from benchmark.sweeps.config import Sweep
from benchmark.sweeps.grid import numbers, options, words
from benchmark.sweeps.outcome import Outcome
from benchmark.sweeps.process import worker_environment
from benchmark.sweeps.run import is_larger

FRAMEWORK = INSTALLED[0] if INSTALLED else ""
SMALL = {"layer": "lru", "framework": FRAMEWORK, "seq_len": 8, "batch": 2, "d_model": 4, "d_state": 64, "threads": 1}
needs_framework = pytest.mark.skipif(not INSTALLED, reason="plans cells of an installed framework")


def cells_of(metrics=("speed",), **changes):
    return plan.sweep_cells(Sweep.model_validate(SMALL | changes), list(metrics))


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
    cells = cells_of(layer="lru,s5", seq_len="8:32:x2", direction="forward,step", replicates=2)
    assert len(cells) == 2 * (3 + 1) * 2  # a step has no length
    assert len({cell.id for cell in cells}) == len(cells)
    assert len(cells_of(("speed", "memory"))) == 2


@needs_framework
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layer": "s6"}, "unknown layer 's6'; known: rotrnn, lru, s4d, s5"),
        ({"framework": "tensorflow"}, "unknown framework 'tensorflow'; known: torch, jax"),
        ({"algorithm": "quick"}, "unknown algorithm 'quick'"),
        ({"direction": "back"}, "unknown direction 'back'; known: forward, forward\\+backward, step"),
        ({"dtype": "bf16"}, "unknown dtype 'bf16'; known: float32, float64"),
        ({"precision": "fp8"}, "unknown precision 'fp8'; known: fp32, tf32, bf16"),
        ({"cache": "warm"}, "unknown cache 'warm'; known: hot, cold"),
        ({"device": "tpu"}, "unknown device 'tpu'; known: cpu, cuda"),
        ({"threads": 10**6}, "threads must lie between 0"),
        ({"threads": -1}, "threads must lie between 0"),
        ({"seed": -1}, "seed must lie between 0"),
        ({"replicates": 0}, "replicates must be a positive integer"),
        ({"layer": "rotrnn", "d_state": 100}, "divisible by heads"),
        ({"direction": "step", "set": "bidirectional=true"}, "carried state"),
    ],
)
def test_what_cannot_be_measured_is_refused_at_once(change, message):
    with pytest.raises(UserError, match=message) as caught:
        cells_of(**change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget_s": -1}, "budget_s must be a positive number"),
        ({"budget_s": float("nan")}, "budget_s must be a positive number"),
        ({"target": 0}, "target must be a positive number"),
        ({"processes": 0}, "processes must be a positive integer"),
    ],
)
def test_efforts_are_checked(change, message):
    with pytest.raises(UserError, match=message):
        plan.plan_of(Sweep.model_validate(change))


@pytest.mark.parametrize("text", ["8 parsecs", "-1GiB", "GiB", "", "nan", "inf", "0"])
def test_memory_limits_are_sizes(text):
    with pytest.raises(UserError, match="memory_limit"):
        plan.limits_of(Sweep(memory_limit=text))


def test_limits():
    assert plan.limits_of(Sweep(memory_limit="2GiB")).memory_bytes == 2 << 30
    with pytest.raises(UserError, match="timeout_s"):
        plan.limits_of(Sweep(timeout_s=0))


def cell(**changes):
    spec = layer_spec("lru", 4, 6, {})
    fields = {"metric": "speed", "layer": "lru", "framework": "torch", "d_model": 4, "d_state": 6, "threads": 1}
    shape = {"batch": 2, "seq_len": 8, "direction": "forward", "options": spec.options}
    return Cell(**(fields | shape | changes))


def test_ids_hang_on_the_contents_alone():
    assert cell().id == cell().id
    assert cell().id == Cell.model_validate_json(cell().model_dump_json()).id
    assert cell().id != cell(seq_len=9).id
    assert cell().id == "3f68036148512b82"


def test_a_cell_gives_its_spec_back():
    assert cell().spec == LAYERS["lru"](d_model=4, d_state=6)


def test_ids_do_not_hang_on_defaults_and_options_that_came_later():
    assert cell().id == cell(cache="hot", precision="fp32", replicate=0).id
    assert "gamma" not in cell().canonical_json
    spec = layer_spec("lru", 4, 6, {"gamma": "none"})
    assert cell(options=spec.options).id != cell().id


def test_a_row_gives_its_cell_back():
    row = combine.row_of(cell(direction="step", seq_len=None), [Outcome("failed", reason="no")], {})
    assert row.cell == cell(direction="step", seq_len=None)
    assert row.cell.id == row.cell_id


def test_a_failed_cell_is_a_row():
    outcomes = [Outcome("ok", result={}), Outcome("crashed", reason="by SIGSEGV", output_tail="last words")]
    row = combine.row_of(cell(), outcomes, {})
    assert (row.status, row.reason, row.detail) == ("crashed", "by SIGSEGV", {"output_tail": "last words"})
    assert row.median_ms is None


def result(samples, **more):
    detail = {"inner": 1, "warmup_ms": [9.0], "interval_ms": [1, 2], "device_name": "cpu"}
    return {"samples_ms": samples, "rss_peak_bytes": int(max(samples)), "detail": detail | more}


def test_statistics_rest_on_the_processes():
    medians = [1.0, 1.1, 1.21]
    row = combine.row_of(cell(), [Outcome("ok", result=result([m, m, m])) for m in medians], {})
    assert row.process_medians_ms == medians
    assert row.median_ms == pytest.approx(1.1)
    assert row.ci_low_ms == pytest.approx(1.1 * 1.1 ** -(4.302653 / 3**0.5), rel=1e-5)  # Student, 2 degrees
    assert row.samples_ms == [m for m in medians for _ in range(3)]
    assert row.detail["device_name"] == "cpu"
    assert row.detail["process_samples"] == [3, 3, 3]


def test_one_process_has_an_interval_of_its_own():
    row = combine.row_of(cell(), [Outcome("ok", result=result([1.0, 2.0, 3.0]))], {})
    assert (row.median_ms, row.ci_low_ms, row.ci_high_ms) == (2.0, 1.0, 3.0)


def test_energy_is_that_of_a_call_or_unknown():
    long = [Outcome("ok", result=result([100.0] * 3, energy_sampled_j=8.0))]
    assert combine.row_of(cell(), long, {}).energy_j == 2.0  # three samples and one warm-up
    short = [Outcome("ok", result=result([1.0] * 3, energy_sampled_j=8.0))]
    assert combine.row_of(cell(), short, {}).energy_j is None


def test_larger_cells():
    base = cell(seq_len=100, batch=2)
    assert is_larger(cell(seq_len=200, batch=2), base)
    assert is_larger(cell(seq_len=200, batch=4), base)
    assert not is_larger(cell(seq_len=200, batch=1), base)
    assert not is_larger(base, base)
    assert not is_larger(cell(seq_len=200, batch=2, dtype="float64"), base)


def test_the_worker_environment():
    found = worker_environment(threads=1, device="cpu", dtype="float64")
    assert found["OMP_NUM_THREADS"] == "1"
    assert found["JAX_ENABLE_X64"] == "1"
    assert "OMP_NUM_THREADS" not in worker_environment(threads=0, device="cpu")
    assert "CUDA_VISIBLE_DEVICES" not in worker_environment(threads=1, device="cuda:1")
