"""Cost over sequence length as a chart: the page's, whose data a reader chooses, and those for paper."""

from collections.abc import Sequence
from typing import Any

from benchmark.reports.charts import DASHES, MARGIN, SHAPES, Chart, Spec, by_layer, finished
from benchmark.reports.explorer import METRICS, Metric, chosen, points, start
from benchmark.store.row import Row


def template(metric: Metric | None, marks: Sequence[dict[str, Any]] = ()) -> Spec:
    """Lines with intervals as bands over sequence length, both axes logarithmic.

    Args:
        metric: what stands on the vertical axis; the page puts in its own.
        marks: as ``chosen`` makes them; likewise.
    """
    title, form = (metric.title, metric.format) if metric else ("", "")
    lengths = sorted({mark["length"] for mark in marks})
    vertical = {"field": "value", "type": "quantitative", "title": title, "scale": {"type": "log"}}
    vertical["axis"] = {"format": form}
    legend = {"symbolType": "stroke", "symbolSize": 400, "columns": 1}
    named = {"field": "series", "type": "nominal", "title": "framework, algorithm"}
    dash = named | {"scale": {"range": list(DASHES)}, "legend": legend}
    shape = named | {"scale": {"range": list(SHAPES)}, "legend": None}
    band = {"y": vertical | {"field": "low"}, "y2": {"field": "high"}, "opacity": {"value": 0.2}}
    line = {"y": vertical, "strokeDash": dash, "tooltip": _tooltip(title, form)}
    spec = {
        "data": {"values": list(marks)},
        "encoding": {
            "x": {
                "field": "length",
                "type": "quantitative",
                "title": "sequence length",
                "scale": {"type": "log", "base": 2, "nice": False, "padding": MARGIN},
                "axis": {"values": lengths, "format": ",d", "labelOverlap": True},
            },
            "color": by_layer(),
            "detail": {"field": "series", "type": "nominal"},
        },
        "layer": [
            {"transform": [{"filter": "datum.low != null"}], "mark": "area", "encoding": band},
            {"mark": {"type": "line"}, "encoding": line},
            {
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                "encoding": {"y": vertical, "shape": shape, "tooltip": _tooltip(title, form)},
            },
        ],
    }
    return finished(spec)


def _tooltip(title: str, form: str) -> list[Spec]:
    number = {"type": "quantitative", "format": f".4{form}"}
    return [
        {"field": "layer", "type": "nominal"},
        {"field": "series", "type": "nominal", "title": "measured as"},
        {"field": "length", "type": "quantitative", "format": ",d"},
        {"field": "value", "title": title, **number},
        {"field": "low", "title": "95 % from", **number},
        {"field": "high", "title": "to", **number},
        {"field": "cell", "type": "nominal"},
    ]


def still_charts(rows: Sequence[Row]) -> list[Chart]:
    """The same pictures one by one, for paper: each metric and direction at the setting that has most points."""
    found = points(rows)
    first = start(found)
    directions = sorted({point["facets"]["direction"] for point in found})
    charts = []
    for metric in METRICS:
        for direction in directions:
            marks = chosen(found, metric.name, first | {"direction": direction})
            if len({mark["length"] for mark in marks}) > 1:
                name = f"{metric.name}-{direction.replace('+', '-')}"
                charts.append(Chart(name, f"{metric.title}, {direction}", template(metric, marks)))
    return charts
