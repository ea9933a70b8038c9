"""The layers, and the clock around them, by pytest-benchmark: `make perf`, or -m perf -k torch of this file alone.

One framework a process: what was imported first is measured, and the other's tests are skipped; -k chooses. Here all
layers share a process, so this is a quick look; `rotbench speed` measures each in fresh ones. Each test says in its
extra information which cell it measured, so `rotbench results import` makes rows of the JSON.
"""

import sys

import pytest
from frameworks import INSTALLED

from benchmark import backends
from benchmark.metrics.timing import Plan, measure
from benchmark.spec import LAYERS
from benchmark.sweeps import gate
from benchmark.sweeps.config import Sweep
from benchmark.sweeps.plan import sweep_cells

pytestmark = pytest.mark.perf

SIZES = {"seq_len": "1024", "batch": "4", "d_model": "64", "d_state": "64"}
OTHER = {"torch": "jax", "jax": "torch"}


def prepared(framework, layer, direction):
    """A cell's call, ready to be timed, its wait, and the cell."""
    if f"layers_{OTHER[framework]}" in sys.modules:
        pytest.skip(f"{OTHER[framework]} shares this process; -k {framework} measures {framework}")
    (cell,) = sweep_cells(Sweep(layer=layer, framework=framework, direction=direction, **SIZES), ["speed"])
    device, spec = backends.device(framework), cell.spec
    algorithm = "auto" if direction == "step" else device.resolve_call(spec, "auto", "cpu", "default")
    arrays = gate.inputs(spec, direction, cell.batch, cell.seq_len or 1, cell.seed)
    call = device.prepare(
        spec,
        spec.init(cell.seed),
        arrays,
        direction=direction,
        algorithm=algorithm,
        device="cpu",
        dtype=cell.dtype,
        compiled="default",
        subject="layer",
    )
    device.synchronise(call.run())
    return call.run, device.synchronise, cell


@pytest.mark.parametrize("direction", ["forward", "forward+backward", "step"])
@pytest.mark.parametrize("layer", list(LAYERS))
@pytest.mark.parametrize("framework", INSTALLED)
def test_layer(benchmark, framework, layer, direction):
    run, wait, cell = prepared(framework, layer, direction)
    benchmark.group = f"{framework} {direction}"
    benchmark.extra_info["rotbench"] = cell.cell_values()
    benchmark.pedantic(lambda: wait(run()), rounds=20, iterations=1, warmup_rounds=3)


def test_clock_around_a_call_that_does_nothing(benchmark):
    """What the harness adds to a thousand samples; a sample's share of it is its error."""
    plan = Plan(warmup_s=0.0, budget_s=60.0, precision=-1.0, max_samples=1000)
    timing = benchmark.pedantic(measure, (lambda: None, lambda _: None, plan), rounds=5)
    assert len(timing.samples_s) == 1000
