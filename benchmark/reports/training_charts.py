"""What trainings reached, for how much: a chart for each task, kind of data and environment, which are never mixed."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmark.reports.charts import INK, MARGIN, SHAPES, Chart, Spec, by_layer, finished
from benchmark.reports.environments import device, environments
from benchmark.reports.findings import alike
from benchmark.reports.hours import TARGETS, time_to
from benchmark.reports.norm_charts import course_charts
from benchmark.reports.results import data_kind
from benchmark.store.row import Row

LOG = {"type": "log", "nice": False, "padding": MARGIN}
INSIDE = {"zero": False, "nice": False, "padding": MARGIN}
"""Scales on which a mark at an end of the data is not cut by the axis."""


class Setting(NamedTuple):
    """What the trainings of one chart share."""

    task: str
    data: str
    environment: str
    device: str

    def words(self, several: bool) -> str:
        """For a title."""
        place = f" ({self.environment})" if several else ""
        return f"{self.task}, {self.data} data, on {self.device}{place}"


def training_charts(rows: Sequence[Row]) -> list[Chart]:
    """Accuracy against device-hours with its Pareto front, and time to target, of each setting; then state norms."""
    names = environments(rows)
    several = len(set(names.values())) > 1
    groups: dict[Setting, list[Row]] = {}
    for row in rows:
        if row.metric == "train" and row.status == "ok" and row.test_accuracy is not None and row.device_hours:
            setting = Setting(row.task or "", data_kind(row), names[row.cell_id], device(row))
            groups.setdefault(setting, []).append(row)
    charts = []
    for number, (setting, members) in enumerate(sorted(groups.items()), 1):
        runs = alike(members, names)
        charts.append(_accuracy_chart(runs, f"accuracy-{number}", setting.words(several)))
        charts += _target_chart(runs, f"target-{number}", setting.words(several))
    return [*charts, *course_charts(rows)]


def pareto(found: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the (cost, gain) pairs that none beats in both, the cheapest first.

    >>> pareto([(1.0, 0.8), (2.0, 0.9), (3.0, 0.85)])
    [0, 1]
    """
    kept: list[int] = []
    for i in sorted(range(len(found)), key=lambda i: (found[i][0], -found[i][1])):
        if not kept or found[i][1] > found[kept[-1]][1]:
            kept.append(i)
    return kept


def _labels(runs: Sequence[Sequence[Row]]) -> list[str]:
    """The framework of each group; numbered where a layer was trained in several ways in it."""
    seen: dict[tuple[str, str], int] = {}
    found = []
    for rows in runs:
        key = (rows[0].layer, rows[0].framework)
        seen[key] = seen.get(key, 0) + 1
        found.append(rows[0].framework + (f", variant {seen[key]}" if seen[key] > 1 else ""))
    return found


def _mean(rows: Sequence[Row], value: Callable[[Row], float | None]) -> float:
    return sum(value(row) or 0.0 for row in rows) / len(rows)


def _accuracy_chart(runs: Sequence[Sequence[Row]], name: str, words: str) -> Chart:
    marks = []
    means = [(_mean(rows, lambda r: r.device_hours), _mean(rows, lambda r: r.test_accuracy)) for rows in runs]
    front = pareto(means)
    for label, rows, (hours, accuracy) in zip(_labels(runs), runs, means, strict=True):
        shared = {"layer": rows[0].layer, "series": label}
        seeds = f"mean of {len(rows)} seeds" if len(rows) > 1 else f"seed {rows[0].seed}, the only one"
        marks.append(shared | {"kind": "mean", "hours": hours, "accuracy": accuracy, "seeds": seeds})
        for row in rows if len(rows) > 1 else ():
            run = {"hours": row.device_hours, "accuracy": row.test_accuracy, "seeds": f"seed {row.seed}"}
            marks.append(shared | {"kind": "run", **run, "cell": row.cell_id})
    line = [{"hours": means[i][0], "accuracy": means[i][1]} for i in front]
    notes = [
        "Large marks: means over seeds; small ones: single trainings. Dashed: the Pareto front of the means, "
        "those that none beats in both accuracy and device-hours; being on it is not a significant difference."
    ]
    if min(map(len, runs)) == 1:
        notes.append("A mark of one seed shows no spread and decides nothing.")
    return Chart(name, f"Test accuracy against device-hours: {words}", _accuracy_spec(marks, line), notes)


def _accuracy_spec(marks: list[dict[str, Any]], front: list[dict[str, Any]]) -> Spec:
    hours: Spec = {"field": "hours", "type": "quantitative", "title": "device-hours", "scale": LOG}
    hours["axis"] = {"format": "~g", "tickCount": 5, "labelOverlap": "greedy"}
    score: Spec = {"field": "accuracy", "type": "quantitative", "title": "test accuracy", "scale": INSIDE}
    score["axis"] = {"format": ".1%"}
    shape = {"field": "series", "type": "nominal", "title": "framework", "scale": {"range": list(SHAPES)}}
    tooltip = [
        *({"field": name, "type": "nominal"} for name in ("layer", "series", "seeds", "cell")),
        {"field": "accuracy", "type": "quantitative", "format": ".2%"},
        {"field": "hours", "type": "quantitative", "title": "device-hours", "format": ".3~g"},
    ]
    size = {"condition": {"test": "datum.kind == 'mean'", "value": 130}, "value": 35}
    opacity = {"condition": {"test": "datum.kind == 'mean'", "value": 1}, "value": 0.55}
    points = {"x": hours, "y": score, "color": by_layer(), "shape": shape, "size": size, "opacity": opacity}
    stair = {"type": "line", "interpolate": "step-after", "strokeDash": [4, 4], "color": INK, "opacity": 0.6}
    layers = [
        {"data": {"values": front}, "mark": stair, "encoding": {"x": hours, "y": score}},
        {"mark": {"type": "point", "filled": True}, "encoding": points | {"tooltip": tooltip}},
    ]
    return finished({"data": {"values": marks}, "layer": layers})


def _target_chart(runs: Sequence[Sequence[Row]], name: str, words: str) -> list[Chart]:
    """Seconds to each accuracy that anyone reached; no chart where nobody did."""
    marks, missed = [], 0
    for label, rows in zip(_labels(runs), runs, strict=True):
        for target in TARGETS:
            times = [time_to(row, target) for row in rows]
            missed += sum(time is None for time in times)
            shared = {"layer": rows[0].layer, "series": label, "target": f"{target:.0%}"}
            marks += [
                shared | {"seconds": time, "seeds": f"seed {row.seed}", "cell": row.cell_id}
                for row, time in zip(rows, times, strict=True)
                if time is not None
            ]
    if not marks:
        return []
    notes = ["Wall time until the validation accuracy was first reached, one mark a training."]
    if missed:
        notes.append(f"{missed} times a training never reached a target; it has no mark there.")
    return [Chart(name, f"Time to validation accuracy: {words}", _target_spec(marks), notes)]


def _target_spec(marks: list[dict[str, Any]]) -> Spec:
    seconds = {"field": "seconds", "type": "quantitative", "title": "wall time, s", "scale": LOG}
    shape = {"field": "series", "type": "nominal", "title": "framework", "scale": {"range": list(SHAPES)}}
    tooltip: list[Spec] = [
        {"field": name, "type": "nominal"} for name in ("layer", "series", "seeds", "target", "cell")
    ]
    encoding = {
        "x": {"field": "target", "type": "ordinal", "title": "validation accuracy", "axis": {"labelAngle": 0}},
        "xOffset": {"field": "layer", "type": "nominal"},
        "y": seconds | {"axis": {"format": "~s"}},
        "color": by_layer(),
        "shape": shape,
        "tooltip": [*tooltip, {"field": "seconds", "type": "quantitative", "format": ".3~s"}],
    }
    mark = {"type": "point", "filled": True, "size": 80, "opacity": 0.85}
    return finished({"data": {"values": marks}, "mark": mark, "encoding": encoding})
