"""Series over commits as Vega-Lite charts, with their levels and steps."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import altair as alt
import pandas as pd

from benchmark.history.series import Series
from benchmark.history.steps import levels_of
from benchmark.reports.charts import COLOURS, from_altair
from benchmark.reports.labels import variants

LEAST_POINTS_SHOWN = 3


def history_charts(series: Sequence[Series]) -> list[tuple[str, dict[str, Any]]]:
    """Points and levels over commits, a chart for each metric of each machine; none of fewer than three commits.

    Args:
        series: as ``history_of`` gives them: those of one machine and metric lie together.
    """
    long = [entry for entry in series if len(entry.points) >= LEAST_POINTS_SHOWN]
    return [
        (f"{name} over commits on {machine.words}", _chart(list(members)))
        for (machine, name), members in groupby(long, key=lambda entry: (entry.machine, entry.quantity.name))
    ]


def _chart(members: Sequence[Series]) -> dict[str, Any]:
    table, quantity = _frame(members), members[0].quantity
    ends = [float(table["value"].min()) / 1.05, float(table["value"].max()) * 1.05]
    scale = alt.Scale(type="linear" if quantity.scale == "points" else "log", domain=ends, zero=False, nice=False)
    title = quantity.name if quantity.unit in {"", "share", quantity.name} else f"{quantity.name}, {quantity.unit}"
    base = alt.Chart(table).encode(
        x=alt.X("place:O", title="commit", sort=None, axis=alt.Axis(labelExpr=_labels(table), labelOverlap=True)),
        color=alt.Color("cell:N", title="cell", scale=alt.Scale(range=list(COLOURS))),
        tooltip=["cell", "commit", alt.Tooltip("value", format=".4s"), alt.Tooltip("level", format=".4s")],
    )
    points = base.mark_point(size=30, filled=True, opacity=0.6).encode(y=alt.Y("value:Q", title=title, scale=scale))
    levels = base.mark_line(interpolate="step-after", strokeWidth=2).encode(y=alt.Y("level:Q", scale=scale))
    return from_altair(levels + points)


def _frame(members: Sequence[Series]) -> pd.DataFrame:
    """A line a point. Cells need not have been measured at the same commits: all commits stand on one axis."""
    words = variants([entry.row for entry in members], ("direction", "seq_len", "batch", "d_model", "d_state"))
    order = _commits(members)
    lines = []
    for entry in members:
        row = entry.row
        cell = ", ".join(part for part in (row.layer, row.framework, row.task, words[row.cell_id]) if part)
        for level in levels_of(entry):
            height = level.height if entry.quantity.scale == "points" else math.exp(level.height)
            for point in entry.points[level.start : level.end]:
                lines.append([order[point.name], point.name, cell, point.value, height])
    return pd.DataFrame(lines, columns=["place", "commit", "cell", "value", "level"])


def _commits(members: Sequence[Series]) -> dict[str, int]:
    """The place of each commit: as the longest series have them, those that only others have by date."""
    points = {point.name: point for entry in sorted(members, key=lambda e: len(e.points)) for point in entry.points}
    longest = [point.name for point in max(members, key=lambda e: len(e.points)).points]
    extra = sorted(points.keys() - set(longest), key=lambda name: points[name].when)
    for name in extra:
        later = (i for i, other in enumerate(longest) if points[other].when > points[name].when)
        longest.insert(next(later, len(longest)), name)
    return {name: place for place, name in enumerate(longest)}


def _labels(table: pd.DataFrame) -> str:
    """A Vega expression from a place to its commit."""
    names = table.drop_duplicates("place").sort_values("place")["commit"].tolist()
    return f"{names!r}[datum.value]"
