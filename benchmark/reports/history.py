"""Series and their steps as tables with sparklines, as charts, and as JSON."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from benchmark.history.machine import Machine
from benchmark.history.segmentation import LEAST_POINTS
from benchmark.history.series import History, Point, Series, machines
from benchmark.history.steps import Step, all_steps, steps_of
from benchmark.regress.quantities import Quantity
from benchmark.reports import numbers as n
from benchmark.reports.labels import algorithm, layer, variants
from benchmark.reports.listing import SHORT_ID
from benchmark.reports.tables import Table

BARS, PLAIN_BARS = "▁▂▃▄▅▆▇█", "_.:-=+*#"
SPARK_WIDTH = 24
CELL = ("cell", "layer", "framework", "algorithm", "direction", "length or task", "metric")
LEAST_SPAN = 0.1
"""A sparkline spans at least this share of its median, so that noise does not look like mountains."""


def sparkline(values: Sequence[float], width: int = SPARK_WIDTH, plain: bool = False) -> str:
    """Values as bars, low to high; of more than fit, the medians of neighbours.

    Args:
        values: oldest first.
        width: characters at most.
        plain: of ASCII alone.

    >>> sparkline([1, 1, 1, 2, 2, 1]), sparkline([1, 1, 1, 2, 2, 1], plain=True)
    ('▁▁▁██▁', '___##_')
    """
    bars = PLAIN_BARS if plain else BARS
    count = min(width, len(values))
    edges = [round(i * len(values) / count) for i in range(count + 1)] if count else []
    shown = [median(values[a:b]) for a, b in pairwise(edges)]
    if not shown:
        return ""
    middle, low, high = median(shown), min(shown), max(shown)
    span = max(high - low, LEAST_SPAN * abs(middle)) or 1.0
    base = low if high - low >= span else (low + high - span * (1 + 1 / len(bars))) / 2  # the middle of a bar
    places = (int((value - base) / span * len(bars) + 1e-9) for value in shown)
    return "".join(bars[min(place, len(bars) - 1)] for place in places)


def history_tables(history: History, least_effect: float, plain: bool = False) -> list[Table]:
    """For each machine its series, and all steps in one table at the end.

    Args:
        history: with at least one series.
        least_effect: the smallest relative change that is listed as a step.
        plain: sparklines of ASCII.
    """
    found = [_series_table(m, [s for s in history.series if s.machine == m], plain) for m in machines(history.series)]
    notes = [f"{count} rows {reason} are left out." for reason, count in history.left_out.items()]
    return [*found, step_table(history.series, least_effect, notes)]


def _series_table(machine: Machine, series: Sequence[Series], plain: bool) -> Table:
    words = variants([entry.row for entry in series], ("batch", "d_model", "d_state"))
    names = [*CELL, "commits", "first", "last", "change", "history", "variant"]
    lines = [
        [
            *_cell_words(entry),
            n.count(len(entry.points)),
            amount(entry.quantity, entry.points[0].value),
            amount(entry.quantity, entry.points[-1].value),
            change_text(entry.quantity, entry.scaled[-1] - entry.scaled[0]) if len(entry.points) > 1 else n.MISSING,
            sparkline(entry.values, plain=plain) if len(entry.points) > 1 else n.MISSING,
            words[entry.row.cell_id],
        ]
        for entry in series
    ]
    numeric = frozenset({"commits", "first", "last", "change"})
    optional = ("variant", "algorithm", "first", "commits", "direction", "cell")
    return Table(f"History on {machine.words} (machine {machine.id})", names, lines, numeric, optional=optional)


def step_table(series: Sequence[Series], least_effect: float, notes: Sequence[str] = ()) -> Table:
    """The steps of all series: losses that are open, those that were recovered, gains."""
    names = ["state", "change", *CELL, "last before", "first after", "recovered at", "changed with it", "machine"]
    lines = [_step_line(step) for step in all_steps(series, least_effect)]
    optional = ("machine", "algorithm", "direction", "framework", "cell", "changed with it")
    told = [*_step_notes(series, least_effect, bool(lines)), *notes]
    return Table("Steps", names, lines, frozenset({"change"}), told, optional)


def _step_line(step: Step) -> list[str]:
    entry = step.series
    return [
        step.state,
        change_text(entry.quantity, step.change),
        *_cell_words(entry),
        step.before.name,
        step.after.name,
        step.recovered.name if step.recovered else n.MISSING,
        ", ".join(step.updates) or n.MISSING,
        entry.machine.id,
    ]


def _step_notes(series: Sequence[Series], least_effect: float, any_found: bool) -> list[str]:
    short = sum(len(entry.points) < LEAST_POINTS for entry in series)
    notes = [] if any_found else [f"No step of {n.percent(least_effect)} or more in {len(series)} series."]
    if short:
        notes.append(f"{short} of {len(series)} series have under {LEAST_POINTS} commits: no steps are sought there.")
    if any_found:
        notes.append("`rotbench history bisect BEFORE AFTER --cell CELL` measures the commits between.")
    return notes


def _cell_words(series: Series) -> list[str]:
    row = series.row
    size = row.task or n.count(row.seq_len)
    return [
        row.cell_id[:SHORT_ID],
        layer(row),
        row.framework,
        algorithm(row),
        row.direction or n.MISSING,
        size,
        series.quantity.name,
    ]


def amount(quantity: Quantity, value: float) -> str:
    """A value with its unit."""
    match quantity.unit:
        case "B":
            return n.scaled(value, "B")
        case "share":
            return n.percent(value)
    return f"{n.significant(value)} {quantity.unit}".strip()


def change_text(quantity: Quantity, change: float) -> str:
    """A difference on the quantity's scale, signed."""
    return f"{100 * change:+.1f} points" if quantity.scale == "points" else f"{100 * math.expm1(change):+.1f} %"


def history_json(history: History, least_effect: float) -> dict[str, Any]:
    """All series and steps as JSON values."""
    return {"series": [_series_json(entry, least_effect) for entry in history.series], "left_out": history.left_out}


def _series_json(series: Series, least_effect: float) -> dict[str, Any]:
    return {
        "cell_id": series.row.cell_id,
        "cell": series.row.cell_values(exclude_defaults=True),
        "metric": series.quantity.name,
        "unit": series.quantity.unit,
        "machine": {"id": series.machine.id, "words": series.machine.words},
        "points": [_point_json(point) for point in series.points],
        "steps": [_step_json(step) for step in steps_of(series, least_effect)],
    }


def _point_json(point: Point) -> dict[str, Any]:
    return {"commit": point.commit, "when": point.when.isoformat(), "value": point.value, "software": point.software}


def _step_json(step: Step) -> dict[str, Any]:
    ratio = math.exp(step.change) if step.series.quantity.scale == "ratio" else None
    return {
        "state": step.state,
        "before": step.before.name,
        "after": step.after.name,
        "ratio": ratio,
        "points": step.change if ratio is None else None,
        "recovered_at": step.recovered.name if step.recovered else None,
        "changed_with_it": step.updates,
    }
