"""Tables of the studies that are made of trainings: arms, and their spread over seeds and ranges."""

import statistics
from collections.abc import Sequence

from benchmark.reports import numbers as n
from benchmark.reports.results import data_kind, history
from benchmark.reports.study_cells import option_words
from benchmark.reports.tables import Table
from benchmark.reports.trained import notes_on_data, score_text
from benchmark.store.row import Row

ARM = ("task", "data", "framework", "layer", "variant", "attention")


def arms_table(rows: Sequence[Row], title: str = "Trainings by arm") -> Table:
    """One line a layer with its options, over seeds; runs that diverged are counted."""
    lines = []
    for key, members in arms(rows).items():
        ok = [row for row in members if row.status == "ok"]
        scores = [score for row in ok if (score := score_of(row)) is not None]
        lines.append(
            [
                *key,
                n.count(members[0].real_state_size),
                n.count(ok[0].model_param_count if ok else None),
                str(len(scores)),
                score_text(measure_of(ok), statistics.fmean(scores) if scores else None),
                spread_text(measure_of(ok), scores),
                diverged_text(members),
            ]
        )
    names = [*ARM, "state", "parameters", "seeds", "test score", "sd", "diverged"]
    notes = [
        "Test score: mean over seeds, of the weights that were best on the validation split; sd over seeds (ddof 1).",
        *dict.fromkeys(f"{note}." for row in rows for note in notes_on_data(row)),
    ]
    optional = ("data", "framework", "attention", "state", "parameters", "diverged", "seeds")
    return Table(title, names, lines, frozenset(names[5:]), notes, optional)


def spread_table(rows: Sequence[Row], title: str = "Spread over initial values") -> Table:
    """One line a task, framework and layer: standard deviations over seeds and over ranges, and what diverged."""
    layers: dict[tuple[str, ...], list[list[Row]]] = {}
    for key, members in arms(rows).items():
        layers.setdefault(key[:4], []).append(members)
    lines = []
    for key, ranges in layers.items():
        scores = [[s for row in members if (s := score_of(row)) is not None] for members in ranges]
        every = [row for members in ranges for row in members]
        measure = measure_of([row for row in every if row.status == "ok"])
        line = [
            n.count(every[0].real_state_size),
            str(len(ranges)),
            _within(measure, scores),
            _between(measure, scores),
        ]
        lines.append([*key, *line, _worst(measure, scores), diverged_text(every)])
    names = [*ARM[:4], "state", "ranges", "sd over seeds", "sd over ranges", "worst range", "diverged"]
    notes = ["sd over seeds: pooled over ranges. sd over ranges: of their means. A range without a result is left out."]
    return Table(title, names, lines, frozenset(names[4:]), notes, ("data", "framework", "state"))


def arms(rows: Sequence[Row]) -> dict[tuple[str, ...], list[Row]]:
    """Trainings that differ in their seeds alone, by task, data, framework, layer, options and attention."""
    words = option_words(rows)
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.metric == "train" and row.recipe is not None:
            key = (row.task or "", data_kind(row), row.framework, row.layer, words[row.cell_id])
            found.setdefault((*key, str(row.recipe.attention)), []).append(row)
    return dict(sorted(found.items()))


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
