"""Timing with a clock that does as it is told, and intervals of medians."""

import numpy as np
import pytest

from benchmark.metrics.statistics import Interval, median_interval, outliers, process_interval, ratio_interval
from benchmark.metrics.timing import Plan, measure


class Clock:
    """Moves only when a call is waited for, by that call's cost."""

    def __init__(self, costs):
        self.costs, self.now, self.waits, self.runs = iter(costs), 0.0, 0, 0

    def run(self):
        self.runs += 1
        return self.runs

    def wait(self, output):
        assert output == self.runs  # each call is waited for before the next
        self.waits += 1
        self.now += next(self.costs)

    def __call__(self):
        return self.now


def timed(costs, **plan):
    clock = Clock(costs)
    return clock, measure(clock.run, clock.wait, Plan(**plan), clock)


class Events:
    """A device that works for half of the time that passes."""

    def __init__(self, clock):
        self.clock, self.began = clock, None

    def start(self):
        self.began = self.clock.now

    def stop(self):
        assert self.clock.runs > self.clock.waits  # marked before the wait

    def seconds(self):
        return (self.clock.now - self.began) / 2


def test_the_devices_own_clock_stands_beside():
    clock = Clock([1.0] * 100)
    timing = measure(clock.run, clock.wait, Plan(warmup_s=0.0), clock, events=Events(clock))
    assert timing.device_s == (0.5,) * len(timing.samples_s)


def test_what_comes_before_a_sample_is_not_timed():
    clock = Clock([1.0] * 100)

    def flush():
        clock.now += 100

    timing = measure(clock.run, clock.wait, Plan(warmup_s=0.0), clock, before=flush)
    assert set(timing.samples_s) == {1.0}


def test_throughput_waits_once_for_many():
    runs, waits = [], []

    def clock():
        return len(runs) * 0.001

    plan = Plan(inner=0, least_sample_s=0.01, warmup_s=0.0)
    timing = measure(lambda: runs.append(1), waits.append, plan, clock)
    assert timing.inner == 10
    assert timing.samples_s == pytest.approx([0.001] * len(timing.samples_s))
    assert len(runs) == 2 + 10 * len(timing.samples_s)
    assert len(waits) == 2 + len(timing.samples_s)


def test_first_run_warm_up_and_samples_are_apart():
    _, timing = timed([9.0, 5.0, 4.0] + [1.0] * 100, warmup_s=8.0, budget_s=100)
    assert timing.first_run_s == 9.0
    assert timing.warmup_s == (5.0, 4.0)
    assert set(timing.samples_s) == {1.0}


def test_every_call_is_waited_for():
    clock, timing = timed([1.0] * 50)
    assert clock.runs == clock.waits == 1 + len(timing.warmup_s) + len(timing.samples_s)


def test_stops_when_precise():
    _, timing = timed([1.0] * 1000, budget_s=1e9)
    assert timing.stop_reason == "precise"
    assert len(timing.samples_s) == 5


def test_stops_at_the_budget_but_not_before_enough_samples():
    noisy = np.random.default_rng(0).uniform(1, 3, 1000)
    _, timing = timed(noisy, budget_s=20)
    assert timing.stop_reason == "budget"
    assert 20 <= sum(timing.samples_s) < 60
    _, timing = timed(noisy, budget_s=0.001)
    assert len(timing.samples_s) == 5


def test_stops_at_the_most_samples():
    _, timing = timed(np.random.default_rng(0).uniform(1, 3, 1000), budget_s=1e9, max_samples=50)
    assert (timing.stop_reason, len(timing.samples_s)) == ("max_samples", 50)


def test_outliers_are_kept():
    _, timing = timed([1.0] * 4 + [100.0] + [1.0] * 100, warmup_s=0.0, budget_s=1e9)
    assert 100.0 in timing.samples_s
    assert timing.interval.median == 1.0


def test_a_missing_wait_shows():
    """With a synchroniser that does not wait, no time passes: the clock is read after waiting."""
    clock = Clock([1.0] * 100)
    timing = measure(lambda: None, lambda _: None, Plan(max_samples=10, warmup_s=0.0), clock)
    assert timing.interval.median == 0


def test_intervals_cover_as_they_promise():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        found = median_interval(rng.lognormal(0, 0.3, 40).tolist())
        covered += found.low <= 1 <= found.high
    assert 0.90 <= covered / 300 <= 0.99


def test_an_interval_is_repeatable_and_holds_its_median():
    samples = np.random.default_rng(2).normal(5, 1, 30).tolist()
    one = median_interval(samples)
    assert one == median_interval(samples)
    assert one.low <= one.median <= one.high
    assert median_interval([3.0]) == Interval(3.0, 3.0, 3.0)
    assert Interval(0.0, 0.0, 0.0).relative_half_width == np.inf
    assert Interval(2.0, 1.0, 3.0).relative_half_width == pytest.approx(0.5)


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_intervals_over_processes_cover_as_they_promise(processes):
    rng = np.random.default_rng(processes)
    covered = ratios = 0
    for _ in range(2000):
        a, b = (rng.lognormal(0, 0.05, processes) for _ in range(2))
        found = process_interval(a)
        covered += found.low <= 1 <= found.high
        ratio = ratio_interval(a, b)
        ratios += ratio.low <= 1 <= ratio.high
    assert 0.93 <= covered / 2000 <= 0.97
    assert 0.93 <= ratios / 2000 <= 0.97


def test_too_few_processes_say_nothing():
    assert process_interval([2.0]).high == np.inf
    assert ratio_interval([2.0], [1.0]) == Interval(2.0, 0.0, np.inf)
    assert ratio_interval([2.0, 2.0], [1.0]).median == pytest.approx(2)


def test_outliers_are_counted_by_tukeys_outer_fences():
    assert outliers([1.0] * 9 + [5.0]) == 1
    assert outliers(np.linspace(1, 2, 20).tolist()) == 0
