"""What is compared of two layers, as estimates: times, bytes and counts as log ratios, scores as differences."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from benchmark.metrics.inference import Estimate, Exact, log_ratio
from benchmark.metrics.paired import sign_flips
from benchmark.reports import numbers as n
from benchmark.reports.evidence import Pair
from benchmark.reports.results import history
from benchmark.reports.trained import score_text
from benchmark.store.row import Row

Quantity = Literal["time", "memory", "flops", "parameters", "score"]
Scale = Literal["ratio", "points", "error"]
"""Of an estimate: the logarithm of a ratio, a difference of accuracies as shares, or of squared errors."""

COUNTS: dict[Quantity, str] = {"flops": "flops", "parameters": "layer_param_count"}

MEMORY = (("allocator_peak_bytes", "allocator peak"), ("xla_temp_bytes", "XLA temp"), ("rss_delta_bytes", "RSS delta"))
"""Kinds of memory, the first that both layers have is compared. Only the last is not the same in every run."""


class Measured(NamedTuple):
    """An estimate of ours against theirs, the figures in words, and how many values stand behind it."""

    estimate: Estimate
    figures: str
    size: str
    scale: Scale = "ratio"


def measured(pair: Pair, quantity: Quantity) -> Measured | str:
    """The difference of a pair; or why there is none.

    Of a time, a memory or a count log(ours / theirs); of a score the mean over seeds of ours - theirs,
    turned so that more is better.
    """
    match quantity:
        case "time":
            return _ratio(pair, _times(pair.ours), _times(pair.theirs), "ms")
        case "memory":
            return _memory(pair)
        case "score":
            return _scores(pair)
    return _count(pair, COUNTS[quantity], "FLOP" if quantity == "flops" else "")


def values(rows: Sequence[Row], quantity: Quantity) -> list[float]:
    """One value a process of one layer at one length, for scaling: milliseconds, or bytes of the kind known of all."""
    if quantity == "time":
        return _times(rows)
    name = next((name for name, _ in MEMORY if all(getattr(row, name) for row in rows)), None)
    return [getattr(row, name) for row in rows] if name else []


def _times(rows: Sequence[Row]) -> list[float]:
    """Medians of all processes, of all replicates."""
    found = [ms for row in rows for ms in row.process_medians_ms or [row.median_ms or 0.0]]
    return [ms for ms in found if ms > 0]


def _ratio(pair: Pair, ours: Sequence[float], theirs: Sequence[float], unit: str) -> Measured | str:
    if not ours or not theirs:
        return "nothing was measured of it"
    names, means = (pair.ours[0].layer, pair.theirs[0].layer), (_mean(ours), _mean(theirs))
    texts = [f"{n.significant(v)} ms" if unit == "ms" else n.scaled(v, unit) for v in means]
    figures = f"{names[0]} {texts[0]}, {names[1]} {texts[1]}"
    return Measured(log_ratio(ours, theirs), figures, f"{len(ours)} + {len(theirs)} processes")


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _memory(pair: Pair) -> Measured | str:
    both = [*pair.ours, *pair.theirs]
    for name, words in MEMORY:
        if all(getattr(row, name) for row in both):
            if name != "rss_delta_bytes":
                return _count(pair, name, "B", words)
            ours, theirs = ([float(getattr(row, name)) for row in rows] for rows in (pair.ours, pair.theirs))
            found = _ratio(pair, ours, theirs, "B")
            return found if isinstance(found, str) else found._replace(figures=f"{found.figures} ({words})")
    return "no kind of memory is known of both layers"


def _count(pair: Pair, name: str, unit: str, words: str = "") -> Measured | str:
    ours, theirs = (getattr(rows[0], name) for rows in (pair.ours, pair.theirs))
    if not ours or not theirs:
        return f"{name} is not known of both layers"
    texts = [f"{rows[0].layer} {n.scaled(v, unit)}" for rows, v in ((pair.ours, ours), (pair.theirs, theirs))]
    return Measured(Exact(math.log(ours / theirs)), f"{', '.join(texts)}{f' ({words})' if words else ''}", "a count")


def _scores(pair: Pair) -> Measured | str:
    ours, theirs = scores(pair.ours), scores(pair.theirs)
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        return f"no seed was trained with both: {_listed(ours)} against {_listed(theirs)}"
    measure = history(pair.ours[0]).get("measure", "accuracy")
    sign = -1 if measure == "mse" else 1
    means = [sum(found[seed] for seed in shared) / len(shared) for found in (ours, theirs)]
    names = (pair.ours[0].layer, pair.theirs[0].layer)
    figures = ", ".join(f"{name} {score_text(measure, mean)}" for name, mean in zip(names, means, strict=True))
    differences = [sign * (ours[seed] - theirs[seed]) for seed in shared]
    scale: Scale = "error" if measure == "mse" else "points"
    return Measured(sign_flips(differences), figures, f"{n.counted(len(shared), 'pair')} of seeds", scale)


def scores(rows: Sequence[Row]) -> dict[int, float]:
    """Test scores by seed."""
    found = {row.seed: history(row).get("test_score", row.test_accuracy) for row in rows}
    return {seed: float(score) for seed, score in found.items() if score is not None}


def _listed(found: dict[int, float]) -> str:
    return f"seeds {', '.join(map(str, sorted(found)))}" if found else "no score"
