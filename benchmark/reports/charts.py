"""Result rows as Vega-Lite charts. Colours are those of Okabe and Ito, safe for colour-blind readers."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from benchmark.reports.labels import algorithm, variants
from benchmark.reports.results import data_kind
from benchmark.spec import LAYERS
from benchmark.store.row import Row

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])


def speed_charts(rows: list[Row]) -> list[tuple[str, dict[str, Any]]]:
    """Median time over sequence length with its interval, one chart a direction that has several lengths."""
    timed = [r for r in rows if r.median_ms is not None and r.seq_len and r.subject == "layer"]
    words = variants(timed, ("batch", "d_model", "d_state"))
    table = pd.DataFrame(
        {
            "length": r.seq_len,
            "layer": r.layer,
            "framework": ", ".join(part for part in (r.framework, algorithm(r), words[r.cell_id]) if part),
            "direction": r.direction,
            "median": r.median_ms,
            "low": r.ci_low_ms,
            "high": r.ci_high_ms,
        }
        for r in timed
    )
    if table.empty:
        return []
    return [
        (f"Time of a call over sequence length, {direction}", _speed_chart(part))
        for direction, part in table.groupby("direction")
        if part["length"].nunique() > 1
    ]


def _speed_chart(table: pd.DataFrame) -> dict[str, Any]:
    lengths = sorted(int(length) for length in table["length"].unique())
    base = alt.Chart(table).encode(
        x=alt.X(
            "length:Q",
            title="sequence length",
            scale=alt.Scale(type="log", base=2),
            axis=alt.Axis(values=lengths, format="d"),
        ),
        color=_by_layer(),
    )
    vertical: dict[str, Any] = {"scale": alt.Scale(type="log"), "title": "median time of a call, ms"}
    dashes = alt.StrokeDash("framework:N", title="framework, algorithm", scale=alt.Scale(range=list(DASHES)))
    line = base.mark_line(point=True, opacity=1).encode(
        y=alt.Y("median:Q", **vertical),
        strokeDash=dashes.legend(symbolType="stroke", symbolSize=400, symbolStrokeWidth=2),
        tooltip=[
            "layer",
            "framework",
            "length",
            alt.Tooltip("median", format=".4s"),
            alt.Tooltip("low", format=".4s"),
            alt.Tooltip("high", format=".4s"),
        ],
    )
    band = base.mark_area(opacity=0.3).encode(y=alt.Y("low:Q", **vertical), y2="high:Q", detail="framework:N")
    return _finish(band + line)


def accuracy_charts(rows: Sequence[Row]) -> list[tuple[str, dict[str, Any]]]:
    """For each task and kind of data, test accuracy against training time, one mark a training."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.test_accuracy is not None:
            groups.setdefault((row.task or "", data_kind(row)), []).append(row)
    return [
        (f"Test accuracy against training time: {task}, {kind} data", _accuracy_chart(members))
        for (task, kind), members in sorted(groups.items())
    ]


def _accuracy_chart(rows: Sequence[Row]) -> dict[str, Any]:
    table = pd.DataFrame(
        {
            "layer": r.layer,
            "framework": r.framework,
            "data": data_kind(r),
            "seed": r.seed,
            "accuracy": r.test_accuracy,
            "seconds": r.train_wall_s,
        }
        for r in rows
    )
    chart = (
        alt.Chart(table)
        .mark_point(size=90, filled=True)
        .encode(
            x=alt.X("seconds:Q", title="training time, device-seconds", scale=alt.Scale(zero=False)),
            y=alt.Y("accuracy:Q", title="test accuracy", axis=alt.Axis(format=".1%"), scale=alt.Scale(zero=False)),
            color=_by_layer(),
            shape=alt.Shape("framework:N", title="framework"),
            tooltip=[
                "layer",
                "framework",
                "data",
                "seed",
                alt.Tooltip("accuracy", format=".2%"),
                alt.Tooltip("seconds", format=".3s"),
            ],
        )
    )
    return _finish(chart)


def _by_layer() -> alt.Color:
    names = list(LAYERS)
    return alt.Color(
        "layer:N",
        title="layer",
        scale=alt.Scale(domain=names, range=[COLOURS[i % len(COLOURS)] for i in range(len(names))]),
    )


def _finish(chart: Any) -> dict[str, Any]:
    sized = chart.properties(width="container", height=320).configure_view(strokeWidth=0)
    return dict(sized.to_dict())
