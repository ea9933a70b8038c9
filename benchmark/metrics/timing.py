"""Timing a call: first run, warm-up, then samples until the median is known well enough."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from benchmark.metrics.statistics import Interval, median_interval

StopReason = Literal["precise", "budget", "max_samples"]


class DeviceEvents(Protocol):
    """A device's own clock around one sample, where it has one."""

    def start(self) -> None:
        """Mark the beginning, in the device's order of work."""

    def stop(self) -> None:
        """Mark the end, likewise."""

    def seconds(self) -> float:
        """Between the two marks; the work has been waited for."""


@dataclass(frozen=True)
class Plan:
    """When to stop. Times in seconds; ``precision`` is the half-width of the median's interval over the median.

    ``inner`` calls make one sample: 1 measures latency, and 0 finds the number of calls that fills
    ``least_sample_s`` and so measures throughput, waiting once for all of them.
    """

    budget_s: float = 2.0
    warmup_s: float = 0.1
    min_samples: int = 5
    max_samples: int = 1000
    precision: float = 0.01
    inner: int = 1
    least_sample_s: float = 0.01


@dataclass(frozen=True)
class Timing:
    """What was measured, in seconds a call. ``device_s`` by the device's own clock, empty where it has none."""

    first_run_s: float
    warmup_s: tuple[float, ...]
    samples_s: tuple[float, ...]
    device_s: tuple[float, ...]
    inner: int
    interval: Interval
    stop_reason: StopReason


def measure(
    run: Callable[[], Any],
    wait: Callable[[Any], None],
    plan: Plan | None = None,
    clock: Callable[[], float] = time.perf_counter,
    events: DeviceEvents | None = None,
    before: Callable[[], None] = lambda: None,
) -> Timing:
    """Time a call.

    Args:
        run: the call; it may return before its result is there.
        wait: blocks until the whole result of a call is there.
        plan: when to stop.
        clock: seconds, monotonic.
        events: the device's clock, if it has one.
        before: called before every sample, outside the time taken, such as to empty a cache.
    """
    plan = plan or Plan()
    sampler = _Sampler(run, wait, clock, events, before)
    first = sampler.sample(1)
    warmup = [sampler.sample(1)]
    while sum(warmup) < plan.warmup_s:
        warmup.append(sampler.sample(1))
    inner = plan.inner or max(1, round(plan.least_sample_s / max(min(warmup), 1e-9)))
    sampler.device_s.clear()
    samples: list[float] = []
    next_look = plan.min_samples
    while True:
        samples.append(sampler.sample(inner))
        spent = sum(samples) * inner
        if len(samples) < next_look and len(samples) < plan.max_samples and spent < plan.budget_s:
            continue
        interval = median_interval(samples)
        if stop := _stop_reason(plan, len(samples), spent, interval):
            return Timing(first, tuple(warmup), tuple(samples), tuple(sampler.device_s), inner, interval, stop)
        next_look = max(len(samples) + 1, round(len(samples) * 1.3))


@dataclass
class _Sampler:
    """Takes one sample after the other, seconds a call."""

    run: Callable[[], Any]
    wait: Callable[[Any], None]
    clock: Callable[[], float]
    events: DeviceEvents | None
    before: Callable[[], None]

    def __post_init__(self) -> None:
        self.device_s: list[float] = []

    def sample(self, inner: int) -> float:
        self.before()
        start = self.clock()
        if self.events:
            self.events.start()
        for _ in range(inner):
            output = self.run()
        if self.events:
            self.events.stop()
        self.wait(output)
        elapsed = self.clock() - start
        if self.events:
            self.device_s.append(self.events.seconds() / inner)
        return elapsed / inner


def _stop_reason(plan: Plan, count: int, spent_s: float, interval: Interval) -> StopReason | None:
    """Why to stop now, or None. Too few samples are never enough, whatever the budget."""
    if count < plan.min_samples:
        return None
    if interval.relative_half_width <= plan.precision:
        return "precise"
    if spent_s >= plan.budget_s:
        return "budget"
    return "max_samples" if count >= plan.max_samples else None
