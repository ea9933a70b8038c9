"""Tables of the studies that are made of trainings: arms, and their spread over seeds and ranges."""

import statistics
from collections.abc import Sequence
from typing import Any

from benchmark.reports import numbers as n
from benchmark.reports.answers.robustness import RANGES
from benchmark.reports.evidence import setting
from benchmark.reports.recipes import words
from benchmark.reports.results import data_kind, history
from benchmark.reports.study_lines import Line, study_lines
from benchmark.reports.surroundings import with_surroundings
from benchmark.reports.tables import Traced
from benchmark.reports.trained import notes_on_data, score_text
from benchmark.store.row import Row

HEAD = ("task", "data", "framework", "layer", "variant")


def arms_table(rows: Sequence[Row], title: str = "Trainings by arm") -> Traced:
    """One line a layer with its options, over seeds; runs that diverged are counted."""
    found = arms(rows)
    names = [*HEAD, "attention", "state", "parameters", "seeds", "test score", "sd", "diverged"]
    notes = [
        "Test score: mean over seeds, of the weights that were best on the validation split; sd over seeds (ddof 1).",
        *dict.fromkeys(f"{note}." for row in rows for note in notes_on_data(row)),
    ]
    optional = ("data", "framework", "attention", "state", "parameters", "diverged", "seeds")
    lines = [[*line.head[:4], line.variant, *line.head[4:], *_arm(line.rows)] for line in found]
    return Traced(title, names, lines, frozenset(names[5:]), notes, optional, [line.cells for line in found])


def _arm(rows: Sequence[Row]) -> list[str]:
    ok = [row for row in rows if row.status == "ok"]
    scores = [score for row in ok if (score := score_of(row)) is not None]
    return [
        n.count(ok[0].model_param_count if ok else None),
        str(len(scores)),
        score_text(measure_of(ok), statistics.fmean(scores) if scores else None),
        spread_text(measure_of(ok), scores),
        diverged_text(rows),
    ]


def spread_table(rows: Sequence[Row], title: str = "Spread over initial values") -> Traced:
    """One line what differs in seeds and ranges alone: standard deviations over both, and what diverged."""
    of_range = {row.cell_id: row for row in rows}
    found = arms([row.model_copy(update={"options": _without_ranges(row)}) for row in rows])
    names = [*HEAD, "attention", "state", "ranges", "sd over seeds", "sd over ranges", "worst range", "diverged"]
    notes = ["sd over seeds: pooled over ranges. sd over ranges: of their means. A range without a result is left out."]
    lines = [
        [*line.head[:4], line.variant, *line.head[4:], *_over_ranges([of_range[cell] for cell in line.cells])]
        for line in found
    ]
    optional = ("data", "framework", "attention", "state")
    return Traced(title, names, lines, frozenset(names[5:]), notes, optional, [line.cells for line in found])


def _over_ranges(rows: Sequence[Row]) -> list[str]:
    ranges: dict[str, list[Row]] = {}
    for row in rows:
        ranges.setdefault(words(row.options), []).append(row)
    scores = [[s for row in members if (s := score_of(row)) is not None] for members in ranges.values()]
    measure = measure_of([row for row in rows if row.status == "ok"])
    spreads = _within(measure, scores), _between(measure, scores)
    return [str(len(ranges)), *spreads, _worst(measure, scores), diverged_text(rows)]


def _without_ranges(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.options.items() if name not in RANGES}


def arms(rows: Sequence[Row]) -> list[Line]:
    """Trainings that differ in their seeds alone: in no size, recipe, kind of data, option or machine."""
    trainings = [row for row in rows if row.metric == "train" and row.recipe is not None]
    return study_lines(with_surroundings(trainings), _arm_setting, _arm_head)


def _arm_setting(row: Row) -> dict[str, Any]:
    """What rows must agree in to be compared, and what else they may be compared in."""
    own = {name: getattr(row, name) for name in ("layer", "d_model", "d_state")}
    return setting(row) | own | {"options": words(row.options), "attention": _attention(row)}


def _arm_head(row: Row) -> tuple[str, ...]:
    state = n.count(row.real_state_size)
    return row.task or "", data_kind(row), row.framework, row.layer, _attention(row), state


def _attention(row: Row) -> str:
    """Blocks of attention."""
    return str(row.recipe.attention) if row.recipe else ""


def score_of(row: Row) -> float | None:
    """On the test set; None of a training that did not end well."""
    return history(row).get("test_score", row.test_accuracy) if row.status == "ok" else None


def measure_of(rows: Sequence[Row]) -> str | None:
    """What the scores of these trainings are."""
    return history(rows[0]).get("measure") if rows else None


def spread_text(measure: str | None, scores: Sequence[float]) -> str:
    """Standard deviation (ddof 1), of accuracies in percentage points."""
    return _amount(measure, statistics.stdev(scores)) if len(scores) > 1 else n.MISSING


def diverged_text(rows: Sequence[Row]) -> str:
    """How many of all runs left the finite numbers."""
    return f"{sum(row.status == 'diverged' for row in rows)} of {len(rows)}"


def _amount(measure: str | None, value: float) -> str:
    return n.significant(value) if measure == "mse" else f"{n.significant(100 * value)} points"


def _within(measure: str | None, scores: Sequence[Sequence[float]]) -> str:
    variances = [statistics.variance(values) for values in scores if len(values) > 1]
    return _amount(measure, statistics.fmean(variances) ** 0.5) if variances else n.MISSING


def _between(measure: str | None, scores: Sequence[Sequence[float]]) -> str:
    return spread_text(measure, [statistics.fmean(values) for values in scores if values])


def _worst(measure: str | None, scores: Sequence[Sequence[float]]) -> str:
    means = [statistics.fmean(values) for values in scores if values]
    if not means:
        return n.MISSING
    return score_text(measure, max(means) if measure == "mse" else min(means))
