"""Parts of a report with tables, charts and commands of their own: signal propagation, and history over commits."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmark.history.series import Series, history_of, machines
from benchmark.history.steps import all_steps
from benchmark.reports.charts import Chart
from benchmark.reports.history import history_tables
from benchmark.reports.tables import Table, Traced, without
from benchmark.store.row import Row

if TYPE_CHECKING:
    from benchmark.studies.signal_table import Study

LEAST_EFFECT = 0.02
"""The smallest relative change of level over commits that is listed as a step, as in `rotbench history show`."""

FLAGS = {
    "widths": "n",
    "depth_c": "depth-c",
    "depths": "depth",
    "simulated_widths": "simulate",
    "samples": "samples",
    "ensembles": "ensemble",
    "layers": "layer",
    "d_model": "d-model",
    "state": "state",
    "seq_len": "seq-len",
    "seed": "seed",
}
"""Options of `rotbench signal` by the settings that a study keeps."""


@dataclass(frozen=True)
class Section:
    """A part of a report. ``name`` is its anchor, ``again`` what makes its numbers anew.

    One without data has neither tables nor charts, and ``missing`` says in a line what would fill it.
    """

    name: str
    title: str
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    again: Sequence[str] = ()
    missing: str = ""


def signal_sections(studies: Sequence["Study"]) -> list[Section]:
    """One section a study: figures of different settings never share a table."""
    if not studies:
        return [Section("signal", "Signal propagation", missing="not measured: run `rotbench signal`")]
    return [_signal_section(study, len(studies) > 1) for study in studies]


def _signal_section(study: "Study", several: bool) -> Section:
    from benchmark.reports.signal import signal_tables
    from benchmark.reports.signal_charts import figures

    name = f"signal-{study.name[:8]}"
    return Section(
        name,
        "Signal propagation" + (f", study {study.name[:8]}" if several else ""),
        signal_tables(study.points),
        _charts(name, figures(study.points)),
        [signal_again(study)],
    )


def signal_again(study: "Study") -> str:
    """The command that computes a study anew."""
    words = ["rotbench", "signal"]
    for name, flag in FLAGS.items():
        if (value := study.settings.get(name)) not in (None, [], ()):
            words += [f"--{flag}", ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)]
    frameworks = sorted({point.source for point in study.points} & {"torch", "jax"})
    words += ["--framework", ",".join(frameworks)] if frameworks else []
    return shlex.join(words)


def history_section(rows: Iterable[Row], trunk: Sequence[str] = ()) -> Section:
    """Series of cells that were measured at two commits or more.

    Args:
        rows: all that were read, not only the last of each cell.
        trunk: commits, oldest first.
    """
    found = history_of(rows, trunk)
    series = [entry for entry in found.series if len({point.commit for point in entry.points} - {None}) > 1]
    if not series:
        lacking = "not measured: no cell has results of two commits; run the same command again at another commit"
        return Section("history", "History over commits", missing=lacking)
    from benchmark.reports.history_charts import history_charts

    return Section(
        "history",
        "History over commits",
        _traced(history_tables(found._replace(series=series), LEAST_EFFECT), series),
        _charts("history", history_charts(series)),
        ["rotbench history show"],
    )


def _traced(tables: Sequence[Table], series: Sequence[Series]) -> list[Table]:
    """Tables of series, a machine each, and the one of steps, with whole ids in place of their column of short ones."""
    ids = [[entry.row.cell_id for entry in series if entry.machine == machine] for machine in machines(series)]
    ids.append([step.series.row.cell_id for step in all_steps(series, LEAST_EFFECT)])
    return [
        Traced(**vars(without(table, "cell")), cells=[[cell] for cell in cells])
        for table, cells in zip(tables, ids, strict=True)
    ]


def _charts(name: str, found: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Chart]:
    return [Chart(f"{name}-{i}", title, dict(spec)) for i, (title, spec) in enumerate(found, 1)]
