"""The gate on simulated machines: how often it cries wolf, and what it finds. `python tests/gate_simulation.py` prints
the table that stands in docs/regressions.md.

Both sources are sweeps of 200 cells in 3 processes each, in random order, one sweep after the other. A process is off
by log-normal noise, and by a drift of the machine: a sine of half the noise's size, of half a sweep's period to two.
"""

import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import stdtr, stdtrit

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmark.regress import decision

CELLS, PROCESSES, RUNS, SEED = 200, 3, 500, 7
THRESHOLD = math.log(1.05)


@dataclass(frozen=True)
class Scenario:
    noise: float
    slower_by: float = 0.0
    slow_cells: int = 0

    @property
    def name(self):
        what = f"{self.slow_cells} slower by {self.slower_by:.0%}" if self.slow_cells else "unchanged"
        return f"{what}, noise {self.noise:.0%}"


SCENARIOS = (
    Scenario(0.08),
    Scenario(0.02),
    Scenario(0.02, 0.05, 1),
    Scenario(0.08, 0.15, 1),
    Scenario(0.02, 0.05, 200),
    Scenario(0.02, 0.02, 1),
)


@dataclass
class Result:
    """Shares of runs with a false alarm, and of slow cells that were found; processes of the rerun, per run."""

    scenario: Scenario
    false_alarms: float
    found: float
    rerun_processes: float
    without_rerun_false: float
    without_rerun_found: float


class Machine:
    """Draws log times. Time runs in sweeps."""

    def __init__(self, noise, rng):
        self.noise, self.rng, self.now = noise, rng, 0.0
        self.phase, self.period = rng.random(), rng.uniform(0.5, 2.0)

    def drift(self, time):
        return self.noise / 2 * np.sin(2 * np.pi * (self.phase + time / self.period))

    def sweep(self, effects):
        shape = (CELLS, PROCESSES)
        when = self.now + self.rng.permutation(CELLS * PROCESSES).reshape(shape) / (CELLS * PROCESSES)
        self.now += 1
        return effects[:, None] + self.drift(when) + self.noise * self.rng.standard_normal(shape)

    def pairs(self, effects, pairs):
        """Worsenings of cells in rounds: one process of each build, one after the other in random order."""
        shape = (pairs, len(effects))
        step = 1 / (CELLS * PROCESSES)
        when = self.now + 2 * step * np.arange(pairs * len(effects)).reshape(shape)
        self.now += 2 * step * pairs * len(effects)
        first = self.rng.integers(0, 2, shape)
        moved = self.drift(when + step * (1 - first)) - self.drift(when + step * first)
        return (effects + moved + self.noise * math.sqrt(2) * self.rng.standard_normal(shape)).T


def welch(before, after):
    """What benchmark.metrics.inference.log_ratio gives: estimates, p that nothing is slower, upper ends."""
    parts = [x.var(axis=1, ddof=1) / x.shape[1] for x in (before, after)]
    freedom = sum(parts) ** 2 / sum(v**2 / (PROCESSES - 1) for v in parts)
    values, errors = after.mean(axis=1) - before.mean(axis=1), np.sqrt(sum(parts))
    return values, stdtr(freedom, -values / errors), values + stdtrit(freedom, 0.975) * errors


def one_run(scenario, rng):
    """Who is called slower, with a rerun and without, and how many processes the rerun took."""
    effects, limits = np.zeros(CELLS), np.full(CELLS, THRESHOLD)
    effects[: scenario.slow_cells] = math.log1p(scenario.slower_by)
    machine, spent = Machine(scenario.noise, rng), 0
    values, p, highs = welch(machine.sweep(np.zeros(CELLS)), machine.sweep(effects))
    which = np.flatnonzero(decision.suspicious(values, highs, limits))

    def measure(indices, pairs):
        nonlocal spent
        spent += 2 * pairs * len(indices)
        return machine.pairs(effects[which[indices]], pairs)

    slower = np.zeros(CELLS, bool)
    slower[which] = decision.rerun(limits[which], measure).slower
    return slower, decision.regressions(p, highs, limits), spent


def simulate(scenario, runs=RUNS, seed=SEED):
    rng, slow = np.random.default_rng(seed), scenario.slow_cells
    runs = [one_run(scenario, rng) for _ in range(runs)]
    again, once = (np.array([run[i] for run in runs]) for i in (0, 1))
    shares = [(x[:, slow:].any(axis=1).mean(), x[:, :slow].mean() if slow else math.nan) for x in (again, once)]
    return Result(scenario, *shares[0], np.mean([run[2] for run in runs]), *shares[1])


def table(results):
    head = ["200 cells", "false alarm", "found", "processes of the rerun", "found without rerun", "false without rerun"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for r in results:
        shares = [r.false_alarms, r.found, r.rerun_processes, r.without_rerun_found, r.without_rerun_false]
        words = ["" if math.isnan(v) else f"{v:,.0f}" if v > 1 else f"{v:.1%}" for v in shares]
        lines.append(f"| {r.scenario.name} | {' | '.join(words)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table([simulate(scenario) for scenario in SCENARIOS]))
