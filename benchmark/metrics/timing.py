"""Timing a call: first run, warm-up, then samples until the median is known well enough."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from benchmark.metrics.statistics import Interval, median_interval

StopReason = Literal["precise", "budget", "max_samples"]


@dataclass(frozen=True)
class Plan:
    """When to stop. Times in seconds; ``precision`` is the half-width of the median's interval over the median."""

    budget_s: float = 2.0
    warmup_s: float = 0.1
    min_samples: int = 5
    max_samples: int = 1000
    precision: float = 0.01


@dataclass(frozen=True)
class Timing:
    """What was measured: every sample is one synchronised call, in seconds."""

    first_run_s: float
    warmup_s: tuple[float, ...]
    samples_s: tuple[float, ...]
    interval: Interval
    stop_reason: StopReason


def measure(
    run: Callable[[], Any],
    wait: Callable[[Any], None],
    plan: Plan | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Timing:
    """Time a call.

    Args:
        run: the call; it may return before its result is there.
        wait: blocks until the whole result of a call is there.
        plan: when to stop.
        clock: seconds, monotonic.
    """
    plan = plan or Plan()

    def sample() -> float:
        start = clock()
        wait(run())
        return clock() - start

    first = sample()
    warmup = [sample()]
    while sum(warmup) < plan.warmup_s:
        warmup.append(sample())
    samples: list[float] = []
    next_look, interval = plan.min_samples, None
    while True:
        samples.append(sample())
        if len(samples) < next_look and len(samples) < plan.max_samples and sum(samples) < plan.budget_s:
            continue
        interval = median_interval(samples)
        if stop := _stop_reason(plan, samples, interval):
            return Timing(first, tuple(warmup), tuple(samples), interval, stop)
        next_look = max(len(samples) + 1, round(len(samples) * 1.3))


def _stop_reason(plan: Plan, samples: list[float], interval: Interval) -> StopReason | None:
    """Why to stop now, or None. Too few samples are never enough, whatever the budget."""
    if len(samples) < plan.min_samples:
        return None
    if interval.relative_half_width <= plan.precision:
        return "precise"
    if sum(samples) >= plan.budget_s:
        return "budget"
    return "max_samples" if len(samples) >= plan.max_samples else None
