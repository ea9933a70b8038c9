"""Charts of answers, as Vega-Lite."""

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.reports.answers.contrasts import Decision
from benchmark.reports.answers.places import shared
from benchmark.reports.answers.record import Chart
from benchmark.reports.answers.words import word
from benchmark.reports.charts import COLOURS, DASHES, INK, MARGIN, SHAPES, by_layer, finished, wrapped
from benchmark.spec import LAYERS

MOST_DRAWN = 24
"""Comparisons in one chart."""

MOST_PLACES = 4
"""Dashes in one chart of lines: with a colour a layer, more cannot be told apart."""

LOG: dict[str, Any] = {"type": "log", "nice": False, "padding": MARGIN}
OCTAVES = LOG | {"base": 2}
LINE_CHARACTERS, LINE_PX, BAR_PX = 56, 12, 20
"""Words of a comparison: length and height of a line; and the room of its interval below them."""


def _at(field: str) -> dict[str, Any]:
    """A height that is data, in pixels."""
    return {"field": field, "type": "quantitative", "scale": None, "axis": None}


WORDS = {
    "mark": {"type": "text", "align": "left", "baseline": "top", "lineBreak": "\n", "color": INK},
    "encoding": {"y": _at("words_px"), "x": {"value": 0}, "text": {"field": "comparison", "type": "nominal"}},
}


def interval_chart(decisions: Sequence[Decision]) -> Chart | None:
    """Ratios of times with their 95 % intervals, one line a comparison; None where no interval is finite.

    A comparison's words stand above its interval, so that they take no width away from it.
    """
    ratios = [decision for decision in decisions if decision.contrast.unit == "ratio"]
    common, own = shared([decision.contrast.place for decision in ratios])
    found = [_interval_line(decision, ", ".join(words)) for decision, words in zip(ratios, own, strict=True)]
    lines = [line for line in found if line is not None]
    drawn, height_px = _placed(lines[:MOST_DRAWN])
    if not drawn:
        return None
    title = _told("time of the first over the second", len(drawn), len(lines), "comparisons", common)
    ratio = {"type": "quantitative", "scale": LOG, "title": title, "axis": {"labelOverlap": "greedy", "format": "~g"}}
    layers = [_equal(ratio), WORDS, *_intervals(ratio)]
    return finished({"data": {"values": drawn}, "height": height_px, "layer": layers})


def _equal(ratio: dict[str, Any]) -> dict[str, Any]:
    """A line where both are equally fast."""
    mark = {"type": "rule", "strokeDash": [4, 4], "color": INK}
    return {"data": {"values": [{"equal": 1}]}, "mark": mark, "encoding": {"x": ratio | {"field": "equal"}}}


def _intervals(ratio: dict[str, Any]) -> list[dict[str, Any]]:
    """Bars from end to end, and points whose shape is the verdict."""
    ends = {"x": ratio | {"field": "low"}, "x2": {"field": "high"}}
    tooltip = [
        *({"field": name, "type": "nominal"} for name in ("comparison", "verdict")),
        *({"field": name, "type": "quantitative", "format": ".3~g"} for name in ("ratio", "low", "high")),
    ]
    shape = {"field": "verdict", "type": "nominal", "title": "verdict", "scale": {"range": list(SHAPES)}}
    middle = {"x": ratio | {"field": "ratio"}, "shape": shape, "tooltip": tooltip}
    shared_channels = {"y": _at("bar_px"), "color": {"value": COLOURS[0]}}
    return [
        {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": shared_channels | ends},
        {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 1}, "encoding": shared_channels | middle},
    ]


def _placed(lines: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The lines with the places of their words and, right below, of their interval; and the height of all."""
    found, top_px = [], 0
    for line in lines:
        bar_px = top_px + LINE_PX * (line["comparison"].count("\n") + 1) + BAR_PX // 3
        found.append(line | {"words_px": top_px, "bar_px": bar_px})
        top_px = bar_px + BAR_PX
    return found, top_px


def _told(title: str, drawn: int, known: int, what: str, common: Sequence[str]) -> list[str]:
    """A title with what all marks share, and how many marks there would be."""
    parts = [title]
    parts += [f"in all: {', '.join(common)}"] if common else []
    parts += [f"{drawn} of {known:,} {what} are drawn"] if drawn < known else []
    return wrapped("; ".join(parts))


def _interval_line(decision: Decision, where: str) -> dict[str, Any] | None:
    c, (value, low, high) = decision.contrast, decision.comparison.difference
    if not all(math.isfinite(end) and abs(end) < 20 for end in (value, low, high)):
        return None
    return {
        "comparison": textwrap.fill(f"{c.ours} to {c.theirs}{': ' if where else ''}{where}", LINE_CHARACTERS),
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
        "x": {"field": "value", "type": "quantitative", "title": wrapped(title), "axis": {"format": "~s"}},
        "y": {"field": "group", "type": "nominal", "title": None, "sort": None},
        "yOffset": {"field": "layer", "sort": list(LAYERS)},
        "color": by_layer(),
        "tooltip": [{"field": "layer"}, {"field": "group"}, {"field": "value", "format": ".4s"}],
    }
    return finished({"data": {"values": list(bars)}, "mark": "bar", "encoding": encoding})


def line_chart(
    title: str, points: Sequence[dict[str, Any]], along: str = "sequence length", scale: Mapping[str, Any] = OCTAVES
) -> Chart:
    """Values over length or time, one dash a place; of many places the fullest.

    Args:
        title: of the vertical axis, with its unit.
        points: layer, place, length and value of each. Words of a place are divided by commas.
        along: title of the horizontal axis.
        scale: of the horizontal axis; the other is logarithmic.
    """
    counts = Counter(point["place"] for point in points)
    places = [place for place, _ in counts.most_common(MOST_PLACES)]
    common, own = shared([tuple(place.split(", ")) for place in places]) if len(places) > 1 else ([], [places])
    names = {place: ", ".join(words) or place for place, words in zip(places, own, strict=True)}
    marks = [point | {"place": names[point["place"]]} for point in points if point["place"] in names]
    dash = _dashes(list(names.values()), _told("where", len(places), len(counts), "places", common))
    layers = [
        {"mark": "line", "encoding": {"strokeDash": dash}},
        {
            "mark": {"type": "point", "filled": True, "size": 30, "opacity": 1},
            "encoding": {"detail": {"field": "place"}},
        },
    ]
    return finished({"data": {"values": marks}, "encoding": _lines(title, along, scale), "layer": layers})


def _dashes(names: Sequence[str], title: Sequence[str]) -> dict[str, Any]:
    legend = {"symbolType": "stroke", "symbolSize": 400, "columns": 1}
    scale = {"domain": list(names), "range": list(DASHES)}
    return {"field": "place", "type": "nominal", "title": list(title), "scale": scale, "legend": legend}


def _lines(title: str, along: str, scale: Mapping[str, Any]) -> dict[str, Any]:
    length = {"field": "length", "type": "quantitative", "title": along, "scale": scale}
    value = {"field": "value", "type": "quantitative", "title": title, "scale": LOG, "axis": {"format": "~g"}}
    tooltip = [
        *({"field": name, "type": "nominal"} for name in ("layer", "place")),
        {"field": "length", "type": "quantitative", "title": along, "format": ",d"},
        {"field": "value", "type": "quantitative", "format": ".4s"},
    ]
    axis = {"format": ",d", "labelOverlap": "greedy", "tickCount": 8}
    return {"x": length | {"axis": axis}, "y": value, "color": by_layer(), "tooltip": tooltip}
