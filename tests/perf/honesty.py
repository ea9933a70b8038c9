"""Two questions to the harness itself, answered by measuring: python tests/perf/honesty.py

a/a: one cell measured twice in one sweep, as two replicates, many times: how often does the 95 % interval of the
ratio cover 1? A binomial 95 % band around that is printed beside; --least turns the answer into an exit code.

start: one cell, processes forked and spawned by turns: is the ratio of their times 1?
"""

import argparse
import math
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))


def cells(framework, layer, replicates):
    from benchmark.sweeps.config import Sweep
    from benchmark.sweeps.plan import sweep_cells

    sizes = {"seq_len": "256", "batch": "4", "d_model": "64", "d_state": "64"}
    return sweep_cells(Sweep(layer=layer, framework=framework, replicates=replicates, **sizes), ["speed"])


def same_cell_twice(framework, layer, pairs):
    """How many of so many pairs have an interval that covers 1."""
    from benchmark.metrics.statistics import ratio_interval
    from benchmark.sweeps.run import Effort, Watcher, run_cells

    effort = Effort(plan={"budget_s": 0.1, "precision": 0.01})
    with tempfile.TemporaryDirectory() as folder:
        watcher = Watcher(on_process=lambda _, done, of: print(f"\r{done}/{of} processes", end="", file=sys.stderr))
        rows = run_cells(cells(framework, layer, 2 * pairs), Path(folder), effort, watcher)
    assert all(row.status == "ok" for row in rows), {row.reason for row in rows}
    found = [
        ratio_interval(a.process_medians_ms, b.process_medians_ms) for a, b in zip(rows[::2], rows[1::2], strict=True)
    ]
    covered = sum(interval.low <= 1 <= interval.high for interval in found)
    widths = sorted(interval.relative_half_width for interval in found)
    band = 1.96 * math.sqrt(0.95 * 0.05 / pairs)
    print(
        f"\na/a {framework} {layer}: {covered} of {pairs} intervals cover 1 "
        f"(95 % asks for {pairs * (0.95 - band):.0f} to {min(pairs, pairs * (0.95 + band)):.0f}); "
        f"median half-width {widths[len(widths) // 2]:.1%}"
    )
    return covered


def fork_against_spawn(framework, layer, rounds):
    """The ratio of times of forked and spawned processes, by turns in random order."""
    import numpy as np

    from benchmark.metrics.statistics import ratio_interval
    from benchmark.sweeps.process import Pool
    from benchmark.sweeps.run import JOBS, Effort

    (cell,) = cells(framework, layer, 1)
    effort = Effort(plan={"budget_s": 0.3, "precision": 0.01})
    medians, cpu = {"fork": [], "spawn": []}, {"fork": [], "spawn": []}
    with Pool("fork") as forks, Pool("spawn") as spawns:
        pools = {"fork": forks, "spawn": spawns}
        for index in range(rounds + 1):
            for start in random.sample(("fork", "spawn"), 2):
                payload = {"cell": cell.cell_values(), "plan": effort.plan}
                outcome = pools[start].run(JOBS["speed"], payload, effort.variables_of(cell), framework=framework)
                assert outcome.status == "ok", outcome
                if index:  # the first round warms the supervisors and the gate
                    medians[start].append(float(np.median(outcome.result["samples_ms"])))
                    cpu[start].append(outcome.cpu_s)
    ratio = ratio_interval(medians["fork"], medians["spawn"])
    print(
        f"start {framework} {layer}: forked / spawned = {ratio.median:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] over "
        f"{rounds} pairs; CPU seconds a process {np.median(cpu['fork']):.2f} and {np.median(cpu['spawn']):.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", choices=["a/a", "start"])
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--layer", default="lru")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--least", type=int, default=0, help="exit 1 if fewer intervals cover 1")
    given = parser.parse_args()
    if given.question == "start":
        fork_against_spawn(given.framework, given.layer, given.pairs)
    elif same_cell_twice(given.framework, given.layer, given.pairs) < given.least:
        sys.exit(1)


if __name__ == "__main__":
    main()
