"""The report: one page that works offline, and the same in Markdown."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from benchmark.reports import numbers as n
from benchmark.reports.results import cost_table, failure_table, latest, speed_table, training_table
from benchmark.reports.tables import Table, to_markdown
from benchmark.store.row import Row


@dataclass(frozen=True)
class Report:
    """What a report says, in any form."""

    findings: list[str]
    tables: list[Table]
    caveats: list[str]
    machines: list[str]
    rows: list[Row]


def build(rows: Sequence[Row], bad: Sequence[tuple[Path, str]] = ()) -> Report:
    """The report on some rows; of a cell measured more than once, the last row counts."""
    last = latest(rows)
    speed = [r for r in last if r.metric == "speed" and r.status == "ok"]
    training = [r for r in last if r.metric == "train" and r.status == "ok"]
    failed = [r for r in last if r.status != "ok"]
    tables = [
        *([speed_table(speed, "Speed over sequence length")] if speed else []),
        *([cost_table(speed)] if speed else []),
        *([training_table(training, "Accuracy and device-hours")] if training else []),
        *([failure_table(failed)] if failed else []),
    ]
    findings = [*_speed_findings(speed), *_training_findings(training)] or ["Nothing has been measured yet."]
    return Report(findings, tables, _caveats(rows, last, bad), _machines(last), last)


def _speed_findings(rows: list[Row]) -> list[str]:
    """For each framework and direction, the layers at the greatest length by their time, with intervals."""
    found = []
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for r in rows:
        if r.seq_len and r.median_ms:
            groups.setdefault((r.framework, r.direction, r.dtype, r.device, r.batch, r.d_model, r.threads), []).append(
                r
            )
    for (framework, direction, dtype, device, batch, d_model, threads), members in groups.items():
        longest = max(r.seq_len or 0 for r in members)
        ranked = sorted((r for r in members if r.seq_len == longest), key=lambda r: r.median_ms or 0)
        times = ", ".join(
            f"{r.layer} ({r.algorithm}) {n.significant(r.median_ms)} ms [{n.interval(r.ci_low_ms, r.ci_high_ms)}]"
            for r in ranked
        )
        found.append(
            f"{framework}, {direction}, length {n.count(longest)}, batch {batch}, d_model {d_model}, {dtype}, {device}"
            f" with {threads} threads: {times}."
        )
    return found


def _training_findings(rows: list[Row]) -> list[str]:
    return [
        f"{r.layer} in {r.framework} reaches {n.percent(r.test_accuracy)} on {r.task} (seed {r.seed})"
        f" after {n.significant(r.device_hours)} device-hours ({n.duration(r.train_wall_s)})."
        for r in sorted(rows, key=lambda r: (r.task or "", r.framework, -(r.test_accuracy or 0)))
    ]


def _caveats(rows: Sequence[Row], last: Sequence[Row], bad: Sequence[tuple[Path, str]]) -> list[str]:
    said = [
        "A time is the median over synchronised calls in one process, with the bootstrap 95 % interval of that median. "
        "Spread between processes is not in it, so overlapping or nearby intervals decide nothing.",
        "Speed is compared at the sizes given, which are not matched in parameters or state; both are in the tables.",
    ]
    if any(r.metric == "train" for r in last):
        said.append("One seed a training decides no difference between layers.")
    if any(r.device == "cpu" for r in last):
        said.append("Times and device-hours on cpu are those of the processor named below, not of a GPU.")
    if len(rows) > len(last):
        said.append(f"{len(rows) - len(last)} older rows of cells that were measured again are left out.")
    dirty = {r.cell_id for r in last if r.environment.get("dirty")}
    if dirty:
        said.append(f"{len(dirty)} cells were measured on a tree that differed from its commit.")
    return [*said, *(f"{path} could not be read and is left out: {reason}" for path, reason in bad)]


def _machines(rows: Sequence[Row]) -> list[str]:
    """The distinct environments, in words."""
    lines: dict[str, int] = {}
    for r in rows:
        e = r.environment
        versions = ", ".join(f"{name} {version}" for name, version in e.get("versions", {}).items())
        commit = (e.get("commit") or "no commit")[:12] + (" (modified)" if e.get("dirty") else "")
        parts = [
            f"{e.get('cpu', 'unknown processor')}, {e.get('cpus', '?')} CPUs",
            f"{n.scaled(e.get('memory_bytes'), 'B')} memory",
            f"{e.get('system', '')}, Python {e.get('python', '?')}",
            versions,
            commit,
            f"device {r.notes.get('device_name', r.device)}",
        ]
        line = "; ".join(parts)
        lines[line] = lines.get(line, 0) + 1
    return [f"{line} ({count} cells)" for line, count in lines.items()]


def to_text(report: Report) -> str:
    """Markdown."""
    parts = [
        "# rotbench report",
        "## What was found",
        "\n".join(f"- {line}" for line in report.findings),
        "## Tables",
        *(to_markdown(table) for table in report.tables),
        "## How it was measured, and what to keep in mind",
        "\n".join(f"- {line}" for line in report.caveats),
        "## Machines",
        "\n".join(f"- {line}" for line in report.machines),
    ]
    return "\n\n".join(parts) + "\n"


def to_html(report: Report) -> str:
    """One HTML file that needs no network: Vega and the charts' data are inside it."""
    import jinja2
    import vl_convert

    from benchmark.reports.charts import accuracy_chart, speed_charts

    charts = speed_charts(report.rows)
    if (accuracy := accuracy_chart(report.rows)) is not None:
        charts.append(("Test accuracy against training time", accuracy))
    template = resources.files("benchmark.reports").joinpath("templates/report.html.j2").read_text()
    page = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(template)
    library = vl_convert.javascript_bundle() if charts else ""  # type: ignore[call-arg]
    return page.render(report=report, charts=[(title, _script_json(spec)) for title, spec in charts], library=library)


def _script_json(value: Any) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def write(report: Report, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write the report in each format and return the paths, in the order of the formats."""
    makers = {"html": ("report.html", to_html), "md": ("report.md", to_text)}
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for form in formats:
        name, make = makers[form]
        path = folder / name
        staged = path.with_suffix(path.suffix + ".part")
        staged.write_text(make(report), encoding="utf-8")
        staged.replace(path)
        paths.append(path)
    return paths
