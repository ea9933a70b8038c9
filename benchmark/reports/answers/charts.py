"""Charts of answers, as Vega-Lite."""

import math
from collections.abc import Sequence
from typing import Any

from benchmark.reports.answers.contrasts import Decision
from benchmark.reports.answers.places import shared
from benchmark.reports.answers.record import Chart
from benchmark.reports.answers.words import word
from benchmark.reports.charts import by_layer, finished
from benchmark.spec import LAYERS

MOST_DRAWN = 40
"""Comparisons in one chart; the table has all."""

LOG: dict[str, Any] = {"type": "log"}
RATIO = "time of the first over the second"


def interval_chart(decisions: Sequence[Decision]) -> Chart | None:
    """Ratios of times with their 95 % intervals, one line a comparison; None where no interval is finite."""
    ratios = [decision for decision in decisions if decision.contrast.unit == "ratio"]
    _, own = shared([decision.contrast.place for decision in ratios])
    lines = [_interval_line(decision, " ".join(words)) for decision, words in zip(ratios, own, strict=True)]
    drawn = [line for line in lines if line is not None][:MOST_DRAWN]
    if not drawn:
        return None
    y = {"field": "comparison", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 260}}
    bar = {
        "x": {"field": "low", "type": "quantitative", "scale": LOG, "title": RATIO},
        "x2": {"field": "high"},
    }
    point = {
        "x": {"field": "ratio", "type": "quantitative", "scale": LOG, "title": RATIO},
        "shape": {"field": "verdict", "type": "nominal", "title": "verdict"},
        "tooltip": [{"field": name} for name in ("comparison", "verdict", "ratio", "low", "high")],
    }
    equal = {
        "data": {"values": [{"equal": 1}]},
        "mark": {"type": "rule", "strokeDash": [4, 4], "color": "currentColor"},
        "encoding": {"x": {"field": "equal", "type": "quantitative", "scale": LOG, "title": RATIO}},
    }
    intervals = {"mark": {"type": "rule", "strokeWidth": 2, "color": "#0072B2"}, "encoding": {"y": y, **bar}}
    points = {"mark": {"type": "point", "filled": True, "size": 70, "color": "#0072B2"}, "encoding": {"y": y, **point}}
    height = 40 + 20 * len(drawn)
    return finished({"data": {"values": drawn}, "height": height, "layer": [equal, intervals, points]})


def _interval_line(decision: Decision, where: str) -> dict[str, Any] | None:
    c, (value, low, high) = decision.contrast, decision.comparison.difference
    if not all(math.isfinite(end) and abs(end) < 20 for end in (value, low, high)):
        return None
    return {
        "comparison": f"{c.ours} to {c.theirs}{', ' if where else ''}{where}",
        "ratio": math.exp(value),
        "low": math.exp(low),
        "high": math.exp(high),
        "verdict": word(decision),
    }


def bar_chart(title: str, bars: Sequence[dict[str, Any]]) -> Chart:
    """One bar a layer in each group.

    Args:
        title: of the axis, with its unit.
        bars: layer, group and value of each.
    """
    encoding = {
        "x": {"field": "value", "type": "quantitative", "title": title},
        "y": {"field": "group", "type": "nominal", "title": None, "sort": None},
        "yOffset": {"field": "layer", "sort": list(LAYERS)},
        "color": by_layer(),
        "tooltip": [{"field": "layer"}, {"field": "group"}, {"field": "value", "format": ".4s"}],
    }
    return finished({"data": {"values": list(bars)}, "mark": "bar", "encoding": encoding})


def line_chart(title: str, points: Sequence[dict[str, Any]], along: str = "sequence length") -> Chart:
    """Values over length or time on logarithmic axes.

    Args:
        title: of the vertical axis, with its unit.
        points: layer, place, length and value of each.
        along: title of the horizontal axis.
    """
    encoding = {
        "x": {"field": "length", "type": "quantitative", "title": along, "scale": {"type": "log", "base": 2}},
        "y": {"field": "value", "type": "quantitative", "title": title, "scale": LOG},
        "color": by_layer(),
        "strokeDash": {
            "field": "place",
            "type": "nominal",
            "title": "where",
            "legend": {"symbolType": "stroke", "symbolSize": 400, "columns": 1},
        },
        "tooltip": [
            {"field": "layer"},
            {"field": "place"},
            {"field": "length"},
            {"field": "value", "format": ".4s"},
        ],
    }
    return finished({"data": {"values": list(points)}, "mark": {"type": "line", "point": True}, "encoding": encoding})
