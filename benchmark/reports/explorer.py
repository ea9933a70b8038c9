"""Speed and memory rows as points of one chart over sequence length, whose metric and setting a reader chooses.

A point holds all metrics of its cell. What may not stand in one picture, such as two devices or two
directions, is a facet of which one value shows at a time; what may, such as frameworks, can be narrowed.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmark.reports.environments import device_name, environments
from benchmark.reports.labels import algorithm, variants
from benchmark.store.row import Row

Values = tuple[float | None, float | None, float | None]
"""A value and the ends of its 95 % interval, where there is one."""


class Metric(NamedTuple):
    """What can stand on the vertical axis, with its unit in the title and d3's format of its numbers."""

    name: str
    title: str
    format: str
    values: Callable[[Row], Values]


def _alone(name: str) -> Callable[[Row], Values]:
    return lambda row: (getattr(row, name), None, None)


def _tokens(row: Row) -> Values:
    """The fastest end of the time's interval is the highest of the rate's."""
    per_ms = [row.tokens / (ms / 1000) if ms else None for ms in (row.median_ms, row.ci_high_ms, row.ci_low_ms)]
    return per_ms[0], per_ms[1], per_ms[2]


METRICS = (
    Metric("time", "time of a call, ms", "~g", lambda row: (row.median_ms, row.ci_low_ms, row.ci_high_ms)),
    Metric("tokens", "throughput, tokens/s", "~s", _tokens),
    Metric("flops", "FLOPs of a call (analytic)", "~s", _alone("flops")),
    Metric("rate", "FLOP/s (analytic FLOPs over time)", "~s", _alone("flops_per_s")),
    Metric("energy", "energy of a call, J", "~g", _alone("energy_j")),
    Metric("allocator", "memory, allocator peak, bytes", "~s", _alone("allocator_peak_bytes")),
    Metric("rss", "memory, RSS above the start, bytes", "~s", _alone("rss_delta_bytes")),
    Metric("xla", "memory, XLA temporaries, bytes", "~s", _alone("xla_temp_bytes")),
    Metric("nvml", "memory, NVML of the process, bytes", "~s", _alone("nvml_process_bytes")),
)

ONE_AT_A_TIME = (
    *("direction", "environment", "batch", "d_model", "dtype"),
    *("precision", "compiled", "threads", "mode", "cache"),
)
ANY = ("framework", "algorithm")

WIDEST = 10.0
"""An interval whose ends differ by more is not drawn, as ``numbers.interval`` does not print it."""


def points(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One point a cell of speed or memory that has a length and a value.

    Args:
        rows: the last of each cell.
    """
    shown = [r for r in rows if r.metric in {"speed", "memory"} and r.status == "ok" and r.subject == "layer"]
    shown = [r for r in shown if r.seq_len]
    names = environments(rows)
    words = {cell: word for part in _by_layer(shown) for cell, word in variants(part, ("d_state",)).items()}
    found = [_point(row, names[row.cell_id], words[row.cell_id]) for row in shown]
    return [point for point in found if point["values"]]


def _by_layer(rows: Sequence[Row]) -> list[list[Row]]:
    """Sizes and options mean something else in each layer, so they are told apart within one."""
    return [[row for row in rows if row.layer == name] for name in dict.fromkeys(row.layer for row in rows)]


def _point(row: Row, environment: str, words: str) -> dict[str, Any]:
    values = {metric.name: found for metric in METRICS if (found := _drawable(metric.values(row)))}
    facets = {name: str(getattr(row, name)) for name in ONE_AT_A_TIME if name != "environment"}
    facets |= {"environment": f"{environment}: {device_name(row)}", "framework": row.framework}
    kept = [word for word in words.split(", ") if word and word.split("=")[0] not in ONE_AT_A_TIME]
    series = ", ".join([row.framework, algorithm(row), *kept])
    return {
        "layer": row.layer,
        "series": series,
        "length": row.seq_len,
        "cell": row.cell_id,
        "facets": facets | {"algorithm": algorithm(row)},
        "values": values,
    }


def _drawable(values: Values) -> list[float | None] | None:
    """What a logarithmic axis can show, in five digits; no interval where it is as wide as to say nothing."""
    value, low, high = values
    if not value or not math.isfinite(value) or value < 0:
        return None
    if not low or not high or not math.isfinite(high) or high > WIDEST * low:
        low = high = None
    return [None if part is None else float(f"{part:.5g}") for part in (value, low, high)]


def facets(found: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """What differs among points: each facet that has several values, and these, by number where they are numbers."""
    values = {name: {point["facets"][name] for point in found} for name in (*ONE_AT_A_TIME, *ANY)}
    return {name: sorted(some, key=_rank) for name, some in values.items() if len(some) > 1}


def _rank(value: str) -> tuple[float, str]:
    return (float(value), "") if value.isdigit() else (0.0, value)


def start(found: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The values of the facets at which most points stand together; what is seen first."""
    settings = Counter(tuple(point["facets"][name] for name in ONE_AT_A_TIME) for point in found)
    return dict(zip(ONE_AT_A_TIME, settings.most_common(1)[0][0], strict=True)) if settings else {}


def has_lengths(found: Sequence[dict[str, Any]]) -> bool:
    """Whether any picture would have a line: one metric at two lengths in one setting."""
    lengths: dict[tuple[str, ...], set[int]] = {}
    for point in found:
        for name in point["values"]:
            key = (name, *(point["facets"][facet] for facet in ONE_AT_A_TIME))
            lengths.setdefault(key, set()).add(point["length"])
    return any(len(some) > 1 for some in lengths.values())


def chosen(found: Sequence[dict[str, Any]], metric: str, setting: dict[str, str]) -> list[dict[str, Any]]:
    """The marks of one picture: points with this metric and these facets, each value flat beside its interval."""
    return [
        {name: point[name] for name in ("layer", "series", "length", "cell")}
        | dict(zip(("value", "low", "high"), point["values"][metric], strict=True))
        for point in found
        if metric in point["values"] and all(point["facets"][name] == value for name, value in setting.items())
    ]
