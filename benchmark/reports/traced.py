"""Tables whose lines know the cells that they were made of."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from benchmark.reports import studies
from benchmark.reports.environments import environments
from benchmark.reports.hours import by_targets, hours_of, hours_tables
from benchmark.reports.labels import variants
from benchmark.reports.results import by_size, cost_table, failure_table, memory_table, speed_table
from benchmark.reports.roofline import Ceilings, ceilings, roofline_table
from benchmark.reports.tables import Table, Traced
from benchmark.reports.trained import training_table
from benchmark.spec.errors import UserError
from benchmark.store.row import Row
from benchmark.studies.names import study_of


def traced(table: Table, rows: Sequence[Row]) -> Traced:
    """A table that has one line a row, in this order."""
    return Traced(**vars(table), cells=[[row.cell_id] for row in rows])


def result_tables(rows: Sequence[Row]) -> list[Traced]:
    """Every table of a report, of those that have something to show.

    Args:
        rows: the last of each cell.
    """
    ok = [row for row in rows if row.status == "ok"]
    speed = by_size(row for row in ok if row.metric == "speed")
    layers = [row for row in speed if row.subject == "layer"]
    beside = [row for row in speed if row.subject != "layer"]
    held = by_size(row for row in ok if row.metric == "memory")
    tops = ceilings(rows)
    found = [
        *_where(layers, lambda part: _speed(part, "Speed over sequence length", tops)),
        *_where(list(tops.values()), lambda part: traced(roofline_table(part), part)),
        *_where(beside, lambda part: _speed(part, "Floors, bare scans and public implementations", tops)),
        *_where(held, lambda part: traced(memory_table(part), part)),
        *_where([row for row in (*layers, *held) if row.flops is not None], costs),
        *_trained([row for row in ok if row.metric in {"train", "train-step"}]),
        *_studies([row for row in ok if row.metric == "study"]),
        *_where([row for row in rows if row.status != "ok"], lambda part: traced(failure_table(part), part)),
    ]
    return _with_environments(found, environments(rows))


def _where(rows: Sequence[Row], make: Callable[[Sequence[Row]], Traced]) -> list[Traced]:
    return [make(rows)] if rows else []


def _speed(rows: Sequence[Row], title: str, tops: Ceilings) -> Traced:
    return traced(speed_table(rows, title, tops), rows)


def _trained(rows: Sequence[Row]) -> list[Traced]:
    """Scores, device-hours and times to target of trainings, and projections from single steps."""
    training = [row for row in rows if row.metric == "train"]
    ordered = sorted(training, key=lambda r: (r.task or "", r.framework, r.layer, r.seed))  # the table's own order
    found = _where(ordered, lambda part: traced(training_table(part, "Accuracy and device-hours"), part))
    known = [row for row in rows if hours_of([row])]
    if known:
        parts = [known, *by_targets(training)]
        found += [traced(table, part) for table, part in zip(hours_tables(known, None), parts, strict=True)]
    return found


def _studies(rows: Sequence[Row]) -> list[Traced]:
    """The tables of each study in each environment."""
    names = environments(rows)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        with suppress(UserError):  # a study of a later version, which has no table here
            groups.setdefault((study_of(row.task).name, names[row.cell_id]), []).append(row)
    return [table for (study, _), part in groups.items() for table in studies.tables(part, study)]


def costs(rows: Sequence[Row]) -> Traced:
    """What calls cost on paper. A line is the same in both frameworks, so several cells may stand behind it."""
    words = variants(rows)
    cells: dict[tuple[str | int, ...], list[str]] = {}
    for row in by_size(row for row in rows if row.flops is not None):
        *line, _ = cost_table([row]).rows[0]
        cells.setdefault((*line, words[row.cell_id], row.batch), []).append(row.cell_id)
    return Traced(**vars(cost_table(rows)), cells=list(cells.values()))


def _with_environments(tables: Sequence[Traced], names: Mapping[str, str]) -> list[Traced]:
    """The tables with a column that names the environment, where there is more than one."""
    if len(set(names.values())) < 2:
        return list(tables)
    found = []
    for table in tables:
        words = [", ".join(dict.fromkeys(names[cell] for cell in cells)) for cells in table.cells]
        lines = [[word, *line] for word, line in zip(words, table.rows, strict=True)]
        note = "env: the machine, versions and commit, see Environments; figures of different ones are not comparable."
        found.append(replace(table, columns=["env", *table.columns], rows=lines, notes=[note, *table.notes]))
    return found
