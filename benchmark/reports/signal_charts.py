"""A signal study as Vega-Lite charts."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from benchmark.reports.charts import COLOURS, DASHES, drawn, from_altair
from benchmark.spec import LAYERS
from benchmark.studies.signal import critical_log_q, critical_log_s, log_q, log_s
from benchmark.studies.signal_scale import glorot_rescaling
from benchmark.studies.signal_table import EXACT, GAUSSIAN, Point
from benchmark.studies.signal_threshold import best_points

Chart = tuple[str, dict[str, Any]]

BY_WIDTH = alt.SchemeParams(name="viridis", extent=[0.3, 0.85])
"""Without the ends, of which one is lost on a dark page and the other on a light one."""

LIMIT, GREY, SHOWN_POINTS, RESCALED_C = "limit", "#808080", 60, 5.0


def figures(points: Sequence[Point]) -> list[Chart]:
    """Title and Vega-Lite specification of every chart that the points allow."""
    exact = [p for p in points if p.subject == GAUSSIAN and p.source == EXACT]
    layers = [p for p in points if p.subject != GAUSSIAN]
    found = []
    if exact:
        found += [
            ("Energy of an impulse over depth", growth_chart(points, "Q")),
            ("Energy of a driven state over depth", growth_chart(points, "S")),
            ("An impulse under Glorot's scale and rescaled", rescaling_chart(max(p.n for p in exact))),
        ]
    if layers:
        found.append(("State energy of the layers as initialised", layer_chart(layers)))
    return found


def growth_chart(points: Sequence[Point], quantity: str) -> dict[str, Any]:
    """Q, or S over sqrt(n), over c: exact lines by width, their limit, and simulated means that can be trusted."""
    mine = [p for p in points if p.subject == GAUSSIAN and p.quantity == quantity and p.c and p.wiring == "recurrent"]
    most_c = min(max(p.c or 0 for p in mine), 10.0)
    widths = sorted({p.n for p in mine})
    curves = pd.DataFrame([row for width in widths for row in _exact_curve(width, quantity, most_c)])
    limit = pd.DataFrame(_limit_curve(quantity, most_c))
    title = "E||W^k x||^2 / ||x||^2" if quantity == "Q" else "E||h_t||^2 / n^(3/2)"
    y = alt.Y("value:Q", title=title, scale=alt.Scale(type="log"))
    x = alt.X("c:Q", title="depth / sqrt(n); dashed: the limit of large n")
    names = [f"{width:,}" for width in widths]
    colour = alt.Color("n:N", title="n", scale=alt.Scale(domain=names, scheme=BY_WIDTH), sort=names)
    tips = ["n", alt.Tooltip("c", format=".2f"), alt.Tooltip("value", format=".3s")]
    chart: Any = alt.Chart(curves).mark_line().encode(x=x, y=y, color=colour, tooltip=tips)
    chart += alt.Chart(limit).mark_line(strokeDash=list(DASHES[1]), color=GREY).encode(x=x, y=y, tooltip=tips)
    return from_altair(chart + _simulated_marks([p for p in mine if (p.c or 0) <= most_c], x, title, colour))


def _exact_curve(width: int, quantity: str, most_c: float) -> list[dict[str, Any]]:
    depth = max(1, round(most_c * math.sqrt(width)))
    logs = log_q(width, depth) if quantity == "Q" else log_s(width, depth) - math.log(width) / 2
    at = np.unique(np.linspace(0 if quantity == "Q" else 1, depth, SHOWN_POINTS).round().astype(int))
    return [{"n": f"{width:,}", "c": t / math.sqrt(width), "value": math.exp(logs[t])} for t in at]


def _limit_curve(quantity: str, most_c: float) -> list[dict[str, Any]]:
    log = critical_log_q if quantity == "Q" else critical_log_s
    return [{"n": LIMIT, "c": c, "value": math.exp(log(c))} for c in np.linspace(0.05, most_c, SHOWN_POINTS)]


def _simulated_marks(points: Sequence[Point], x: Any, title: str, colour: Any) -> Any:
    """Complex means with two standard errors either side; a log scale has no place for an interval that reaches 0."""
    sources = sorted({p.source for p in points if p.source != EXACT})
    mine = [p for p in points if p.ensemble == "complex" and p.source in sources[:1]]
    best = [p for width in {p.n for p in mine} for p in best_points(q for q in mine if q.n == width)]
    table = pd.DataFrame(
        [_simulated_row(p) for p in best if not p.undersampled and 2 * (p.relative_se or 0) < 1],
        columns=["n", "c", "value", "low", "high"],
    )
    base = alt.Chart(table).encode(x=x, color=colour)
    log: dict[str, Any] = {"title": title, "scale": alt.Scale(type="log")}
    bars = base.mark_rule().encode(y=alt.Y("low:Q", **log), y2="high:Q")
    return base.mark_point(filled=True, size=40, opacity=1).encode(y=alt.Y("value:Q", **log)) + bars


def _simulated_row(p: Point) -> dict[str, Any]:
    scale = math.log(p.n) / 2 if p.quantity == "S" else 0.0
    value, error = math.exp(p.log_value - scale), 2 * (p.relative_se or 0)
    low, high = value * (1 - error), value * (1 + error)
    return {"n": f"{p.n:,}", "c": p.depth / math.sqrt(p.n), "value": value, "low": low, "high": high}


def rescaling_chart(width: int) -> dict[str, Any]:
    """Energies up to 5 sqrt(n) under gain 1 and under the best gain for that horizon."""
    horizon = max(1, round(RESCALED_C * math.sqrt(width)))
    logs, gain = log_q(width, horizon), glorot_rescaling(width, horizon).gain
    steps = np.unique(np.linspace(0, horizon, SHOWN_POINTS).round().astype(int))
    table = pd.DataFrame(
        {"gain": name, "depth": int(k), "value": math.exp(logs[k] + 2 * k * math.log(factor))}
        for name, factor in (("1, Glorot", 1.0), (f"{gain:.5f}", gain))
        for k in steps
    )
    chart = (
        alt.Chart(table)
        .mark_line()
        .encode(
            x=alt.X("depth:Q", title=f"depth, n = {width:,}"),
            y=alt.Y("value:Q", title="energy of an impulse", scale=alt.Scale(type="log")),
            color=alt.Color("gain:N", title="gain", scale=alt.Scale(range=_colours(2))),
            strokeDash=alt.StrokeDash("gain:N", title="gain"),
            tooltip=["gain", "depth", alt.Tooltip("value", format=".3s")],
        )
    )
    return from_altair(chart)


def layer_chart(points: Sequence[Point]) -> dict[str, Any]:
    """Energies per real coordinate over time: exact lines, simulated points."""
    rows = [
        {"layer": p.subject, "source": p.source, "t": p.depth, "value": math.exp(p.log_value)} for p in _by_time(points)
    ]
    names = list(LAYERS)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("t:Q", title="step", scale=alt.Scale(type="log", base=2)),
        y=alt.Y("value:Q", title="E||z_t||^2 per real coordinate", scale=alt.Scale(type="log")),
        color=alt.Color("layer:N", title="layer", scale=alt.Scale(domain=names, range=_colours(len(names)))),
        tooltip=["layer", "source", "t", alt.Tooltip("value", format=".3s")],
    )
    exact = base.mark_line().transform_filter(alt.datum.source == EXACT)
    simulated = base.mark_point().encode(shape=alt.Shape("source:N", title="simulated in"))
    return from_altair(exact + simulated.transform_filter(alt.datum.source != EXACT))


def _by_time(points: Iterable[Point]) -> list[Point]:
    return sorted(points, key=lambda p: (p.subject, p.source, p.depth))


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def rendered(chart: dict[str, Any], form: str) -> bytes:
    """A chart as a file of that format: svg, pdf, or json for its Vega-Lite specification."""
    if form == "json":
        return json.dumps(chart, allow_nan=False).encode()
    return drawn(chart, "svg" if form == "svg" else "pdf")
