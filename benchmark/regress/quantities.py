"""What is compared of two measurements of one cell, and which way is worse."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from benchmark.metrics.inference import Estimate, Exact, log_ratio
from benchmark.metrics.paired import sign_flips
from benchmark.spec.errors import unknown
from benchmark.store.row import Row
from benchmark.store.soundness import is_number, is_positive

Scale = Literal["ratio", "points"]
Unit = Literal["ms", "tokens/s", "B", "J", "h", "share", ""]


@dataclass(frozen=True)
class Quantity:
    """One column of a row as something that can become worse.

    of: kinds of cell that have it. values: one a process, of counts also 0. by_seed: trainings, which are compared in
    pairs of equal seeds. share: the threshold of the gate, where it is not that of ``--fail-on``.
    """

    name: str
    unit: Unit
    of: tuple[str, ...]
    values: Callable[[Row], list[float]]
    higher_is_better: bool = False
    scale: Scale = "ratio"
    words: tuple[str, str] = ("faster", "slower")
    by_seed: bool = False
    counted: bool = False
    """The same in every process, such as what a compiler plans."""
    share: float | None = None

    def margin(self, share: float) -> float:
        """A share such as 0.05 on the scale of the estimate."""
        return math.log1p(share) if self.scale == "ratio" else share

    def on_scale(self, row: Row) -> list[float]:
        """The values that have a place on the quantity's scale: of ratios those above 0."""
        return [value for value in self.values(row) if value > 0 or self.scale == "points"]


def _times(row: Row) -> list[float]:
    """All of them, or none if one is no time."""
    found = row.process_medians_ms or ([] if row.median_ms is None else [row.median_ms])
    return found if all(map(is_positive, found)) else []


def _rates(row: Row) -> list[float]:
    return [row.tokens / (ms / 1e3) for ms in _times(row)]


def _column(name: str, row: Row) -> list[float]:
    value = getattr(row, name)
    return [float(value)] if is_positive(value) else []  # of nothing there is no ratio


def _count(name: str, row: Row) -> list[float]:
    """Likewise of a count, of which 0 is one: a compiler may plan no memory at all."""
    value = getattr(row, name)
    return [] if value is None or value < 0 else [float(value)]


def _score(measure: str, row: Row) -> list[float]:
    history = row.detail.get("history")
    told = history if isinstance(history, dict) else {}
    value = told.get("test_score", row.test_accuracy)
    return [float(value or 0)] if is_number(value) and told.get("measure", "accuracy") == measure else []


def _bytes(name: str, of: tuple[str, ...], counted: bool) -> Quantity:
    read = partial(_count if counted else _column, name)
    return Quantity(name, "B", of, read, words=("smaller", "larger"), counted=counted)


QUANTITIES = {
    entry.name: entry
    for entry in (
        Quantity("ms", "ms", ("speed", "train-step"), _times),
        Quantity("tokens/s", "tokens/s", ("speed", "train-step"), _rates, higher_is_better=True),
        _bytes("allocator_peak_bytes", ("speed", "memory"), True),
        _bytes("xla_temp_bytes", ("speed", "memory"), True),
        _bytes("rss_delta_bytes", ("memory",), False),
        _bytes("rss_peak_bytes", ("memory",), False),
        _bytes("nvml_process_bytes", ("memory",), False),
        Quantity("energy_j", "J", ("speed",), partial(_column, "energy_j"), words=("less", "more")),
        Quantity("device_hours", "h", ("train",), partial(_column, "device_hours")),
        Quantity(
            "accuracy",
            "share",
            ("train",),
            partial(_score, "accuracy"),
            True,
            "points",
            ("better", "worse"),
            by_seed=True,
            share=0.01,
        ),
        Quantity("mse", "", ("train",), partial(_score, "mse"), words=("better", "worse"), by_seed=True),
    )
}

USUAL = ("ms", "allocator_peak_bytes", "xla_temp_bytes", "rss_delta_bytes", "energy_j", "accuracy", "mse")
"""Compared unless others are named. Tokens/s are times once more, and would only enlarge the family."""


def quantities(names: Iterable[str] = ()) -> list[Quantity]:
    """Quantities by name, the usual ones if none is named. Raises UserError for an unknown one."""
    chosen = list(names) or USUAL
    for name in chosen:
        if name not in QUANTITIES:
            raise unknown("metric", name, QUANTITIES)
    return [QUANTITIES[name] for name in dict.fromkeys(chosen)]


def values(quantity: Quantity, rows: Iterable[Row]) -> list[float]:
    """One value a process, of all rows."""
    return [value for row in rows for value in quantity.values(row)]


def worsening(quantity: Quantity, before: Sequence[Row], after: Sequence[Row]) -> Estimate | None:
    """How much worse it has become, positive if so: a log ratio or a difference; None where a side has no value.

    Of counts a rise from 0 is infinite, a fall to 0 infinitely negative.

    Args:
        quantity: what is compared.
        before: rows of one cell, one a replicate or seed.
        after: likewise.
    """
    if quantity.by_seed:
        return _over_seeds(quantity, before, after)
    a, b = values(quantity, before), values(quantity, after)
    if not a or not b:
        return None
    better, worse = (b, a) if quantity.higher_is_better else (a, b)
    if quantity.counted and len(set(a)) == len(set(b)) == 1:
        return Exact(_log(worse[0]) - _log(better[0]) if worse != better else 0.0)
    return log_ratio(worse, better) if min(*a, *b) > 0 else None


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _over_seeds(quantity: Quantity, before: Sequence[Row], after: Sequence[Row]) -> Estimate | None:
    a, b = ({row.seed: v for row in rows for v in quantity.values(row)} for rows in (before, after))
    seeds = sorted(a.keys() & b.keys())
    if not seeds:
        return None
    if quantity.scale == "ratio":
        known = [seed for seed in seeds if a[seed] > 0 and b[seed] > 0]
        return sign_flips([math.log(b[seed] / a[seed]) for seed in known]) if known else None
    sign = -1 if quantity.higher_is_better else 1
    return sign_flips([sign * (b[seed] - a[seed]) for seed in seeds])
