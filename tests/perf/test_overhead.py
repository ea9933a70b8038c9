"""What the harness itself costs: make perf. Benchmarks, not timed tests: nothing here fails for being slow."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmark import backends
from benchmark.store import files, index
from benchmark.store.row import Row
from benchmark.sweeps.config import Sweep
from benchmark.sweeps.plan import sweep_cells
from benchmark.sweeps.process import Limits, Pool, worker_environment
from benchmark.sweeps.run import JOBS, Effort

ROOT = Path(__file__).parents[2]
FILES = 5_000
INSTALLED = backends.installed()

pytestmark = pytest.mark.perf


def cell(**values):
    (made,) = sweep_cells(Sweep(**({"layer": "lru", "framework": INSTALLED[0], "seq_len": "64"} | values)), ["speed"])
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows enough for a large sweep."""
    made = tmp_path_factory.mktemp("many")
    files.prepare_folder(made)
    one = cell()
    for replicate in range(FILES):
        moved = one.model_copy(update={"replicate": replicate})
        samples = [1.0] * 50
        files.write(made, Row(**moved.cell_values(), cell_id=moved.id, status="ok", samples_ms=samples, median_ms=1.0))
    return made


def test_planning_10_000_cells(benchmark):
    sweep = Sweep(replicates=1250, framework=INSTALLED[0], direction=["forward", "forward+backward"])
    cells = benchmark.pedantic(sweep_cells, (sweep, ["speed"]), rounds=3)
    assert len(cells) == 10_000
    assert len({cell.id for cell in cells}) == 10_000


def test_reading_5_000_files(benchmark, folder):
    def without_index():
        (folder / index.NAME).unlink(missing_ok=True)
        return files.read([folder])

    assert len(benchmark.pedantic(without_index, rounds=3).rows) == FILES


def test_reading_5_000_files_through_the_index(benchmark, folder):
    files.read([folder])
    assert len(benchmark.pedantic(files.read, ([folder],), rounds=3).rows) == FILES


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("framework", INSTALLED)
def test_cpu_time_of_a_process_with_nothing_to_measure(benchmark, framework, start):
    """A small cell with the least sampling, its supervisor warm: start, gate, compilation and five samples.

    ``cpu_s`` in the extra information is the process's own, for each round.
    """
    one, found = cell(framework=framework), []
    effort = Effort(plan={"budget_s": 0.001, "warmup_s": 0.001})
    payload = {"cell": one.cell_values(), "plan": effort.plan}
    with Pool(start) as pool:

        def run():
            variables = effort.variables_of(one)
            outcome = pool.run(JOBS["speed"], payload, variables, framework=framework, limits=Limits(timeout_s=60))
            assert outcome.status == "ok", outcome
            found.append(outcome.cpu_s)

        run()  # warms the supervisor and the gate's cache
        benchmark.pedantic(run, rounds=5)
    benchmark.extra_info["cpu_s"] = found[1:]


@pytest.mark.parametrize("framework", INSTALLED)
def test_cpu_time_of_a_process_that_only_starts(benchmark, framework):
    found = []
    variables = worker_environment(threads=0, device="cpu")
    with Pool() as pool:

        def run():
            job = "benchmark.sweeps.jobs:probe"
            outcome = pool.run(job, {"framework": framework}, variables, framework=framework)
            assert outcome.status == "ok", outcome
            found.append(outcome.cpu_s)

        run()
        benchmark.pedantic(run, rounds=5)
    benchmark.extra_info["cpu_s"] = found[1:]


@pytest.mark.parametrize("words", [["--help"], ["speed", "--help"], ["list"]], ids=" ".join)
def test_answering(benchmark, words):
    benchmark.pedantic(subprocess.run, ([sys.executable, "cli.py", *words],), {"cwd": ROOT, "capture_output": True})
