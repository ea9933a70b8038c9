"""The report: one page that works offline, and the same in Markdown."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from benchmark.reports import numbers as n
from benchmark.reports.labels import algorithm, variants
from benchmark.reports.progress import warnings_of
from benchmark.reports.results import (
    cost_table,
    data_kind,
    failure_table,
    history,
    latest,
    memory_table,
    speed_table,
    training_table,
)
from benchmark.reports.roofline import ceilings, roofline_table
from benchmark.reports.tables import Table, to_markdown
from benchmark.reports.trained import notes_on_data, score_text
from benchmark.store.files import write_whole
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
    speed = [r for r in last if r.metric == "speed" and r.status == "ok" and r.subject == "layer"]
    beside = [r for r in last if r.metric == "speed" and r.status == "ok" and r.subject != "layer"]
    training = [r for r in last if r.metric == "train" and r.status == "ok"]
    held = [r for r in last if r.metric == "memory" and r.status == "ok"]
    tops = ceilings(last)
    failed = [r for r in last if r.status != "ok"]
    tables = [
        *([speed_table(speed, "Speed over sequence length", tops)] if speed else []),
        *([roofline_table(list(tops.values()))] if tops else []),
        *([speed_table(beside, "Floors, bare scans and public implementations", tops)] if beside else []),
        *([memory_table(held)] if held else []),
        *([cost_table([*speed, *held])] if speed or held else []),
        *([training_table(training, "Accuracy and device-hours")] if training else []),
        *([failure_table(last)] if failed else []),
    ]
    findings = [*_speed_findings(speed), *_training_findings(training)] or ["Nothing has been measured yet."]
    return Report(findings, tables, _caveats(rows, last, bad), _machines(last), last)


def _speed_findings(rows: list[Row]) -> list[str]:
    """For each framework, direction and variant, the layers at the greatest length by their time."""
    timed = [r for r in rows if r.seq_len and r.median_ms]
    words = variants(timed, ("batch", "d_model"))
    groups: dict[tuple[str, ...], list[Row]] = {}
    for r in timed:
        common = ", ".join(word for word in words[r.cell_id].split(", ") if word.split("=")[0] not in r.options)
        groups.setdefault((r.framework, r.direction or "", common), []).append(r)
    found = []
    for key, members in groups.items():
        longest = max(r.seq_len or 0 for r in members)
        ranked = sorted((r for r in members if r.seq_len == longest), key=lambda r: r.median_ms or 0)
        own = variants(ranked)
        times = "; ".join(
            f"{_who(r, own[r.cell_id])} {n.significant(r.median_ms)} ms [{n.interval(r.ci_low_ms, r.ci_high_ms)}]"
            for r in ranked
        )
        found.append(f"{', '.join(part for part in key if part)}, length {n.count(longest)}: {times}.")
    return found


def _who(row: Row, variant: str) -> str:
    """A layer with what tells it from the others of a list."""
    return f"{row.layer} ({', '.join(part for part in (algorithm(row), variant) if part)})"


def _training_findings(rows: list[Row]) -> list[str]:
    """The mean over seeds of trainings that are alike in all else."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for r in sorted(rows, key=lambda r: (r.task or "", data_kind(r), r.framework, r.layer)):
        recipe = r.recipe.model_dump_json() if r.recipe else ""
        key = (r.task or "", r.framework, r.layer, str(r.d_model), str(r.d_state), str(r.options), recipe, r.device)
        groups.setdefault(key, []).append(r)
    return [_training_finding(members) for members in groups.values()]


def _training_finding(rows: Sequence[Row]) -> str:
    """What trainings reached that differ in nothing but their seeds."""
    first, seeds = rows[0], sorted(row.seed for row in rows)
    scores = [history(row).get("test_score", row.test_accuracy) or 0.0 for row in rows]
    spread = f", from {score_text(history(first).get('measure'), min(scores))}" if len(rows) > 1 else ""
    spread += f" to {score_text(history(first).get('measure'), max(scores))}" if len(rows) > 1 else ""
    mean = score_text(history(first).get("measure"), sum(scores) / len(scores))
    hours = sum(row.device_hours or 0 for row in rows) / len(rows)
    word = f"seeds {', '.join(map(str, seeds))}" if len(seeds) > 1 else f"seed {seeds[0]}"
    return (
        f"{first.layer} in {first.framework} reaches {mean} on {first.task}, {data_kind(first)} data ({word}{spread}), "
        f"after {n.significant(hours)} device-hours ({n.duration(hours * 3600)}) a run."
    )


def _caveats(rows: Sequence[Row], last: Sequence[Row], bad: Sequence[tuple[Path, str]]) -> list[str]:
    said = [
        "A time is the geometric mean of the medians of several fresh processes, with Student's 95 % interval; of a "
        "single process it is that process's median with its bootstrap interval: spread between processes is missing.",
        "Speed is compared at the sizes given, which are not matched in parameters or state; both are in the tables.",
    ]
    if any(r.metric == "train" for r in last):
        said.append("One seed a training decides no difference between layers.")
    said += [f"{note}." for note in dict.fromkeys(note for r in last for note in notes_on_data(r))]
    if any(r.device == "cpu" for r in last):
        said.append("Times and device-hours on cpu are those of the processor named below, not of a GPU.")
    if len(rows) > len(last):
        said.append(f"{len(rows) - len(last)} older rows of cells that were measured again are left out.")
    said += _warnings(last)
    dirty = {r.cell_id for r in last if r.environment.get("dirty")}
    if dirty:
        said.append(f"{len(dirty)} cells were measured on a tree that differed from its commit.")
    return [*said, *(f"{path} could not be read and is left out: {reason}" for path, reason in bad)]


def _warnings(rows: Sequence[Row]) -> list[str]:
    """What disturbed measurements, and how many."""
    counts: dict[str, int] = {}
    for r in rows:
        for text in {word.split(" (")[0] for word in warnings_of(r)}:
            counts[text] = counts.get(text, 0) + 1
    return [f"In {count} of {len(rows)} cells {text}." for text, count in counts.items()]


def _machines(rows: Sequence[Row]) -> list[str]:
    """The distinct environments, in words."""
    lines: dict[str, int] = {}
    for r in rows:
        e = r.environment
        listed = e.get("versions")
        versions = ", ".join(f"{k} {v}" for k, v in listed.items()) if isinstance(listed, dict) else "versions unknown"
        commit = str(e.get("commit") or "no commit")[:12] + (" (modified)" if e.get("dirty") else "")
        parts = [
            f"{e.get('cpu', 'unknown processor')}, {e.get('cpus', '?')} CPUs",
            f"{n.scaled(e.get('memory_bytes'), 'B')} memory",
            f"{e.get('system', '')}, Python {e.get('python', '?')}",
            versions,
            commit,
            f"device {r.detail.get('device_name', r.device)}",
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

    from benchmark.reports.charts import accuracy_charts, speed_charts

    charts = [*speed_charts(report.rows), *accuracy_charts(report.rows)]
    template = resources.files("benchmark.reports").joinpath("templates/report.html.j2").read_text()
    page = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(template)
    library = vl_convert.javascript_bundle() if charts else ""  # type: ignore[call-arg]
    return page.render(report=report, charts=[(title, _script_json(spec)) for title, spec in charts], library=library)


def _script_json(value: Any) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


FORMATS = ("html", "md")


def write(report: Report, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write the report in each format and return the paths, in the order of the formats.

    Raises:
        UserError: if the folder cannot be written; nothing half-written is left.
    """
    makers = {"html": ("report.html", to_html), "md": ("report.md", to_text)}
    paths = []
    for form in formats:
        name, make = makers[form]
        write_whole(folder / name, make(report))
        paths.append(folder / name)
    return paths
