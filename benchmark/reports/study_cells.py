"""Tables of the studies that are cells of their own: norms, equivalence, period."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmark.reports import numbers as n
from benchmark.reports.answers.amounts import bare, bounds
from benchmark.reports.answers.norm_values import ended, setting_of, snapshots, weights_of
from benchmark.reports.answers.relations import period_setting
from benchmark.reports.answers.studied import studied
from benchmark.reports.study_lines import study_lines
from benchmark.reports.tables import Traced
from benchmark.store.row import Row
from benchmark.studies.names import study_of
from benchmark.studies.norms import growth_exponent, over_seeds


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None if none is."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


NORMS_SHOWN = ["block", "seeds", "at t = 1", "at end", "limit", "exponent", "95 % interval", "gradient"]
NORMS_LESS = ("gradient", "seeds", "at t = 1", "95 % interval", "limit", "exponent")
"""What a narrow terminal goes without, in this order."""


def norms_table(rows: Sequence[Row], title: str = "Norms of states and gradients") -> Traced:
    """As initialised and after trainings: one line a block of what differs in its seeds alone."""
    head = ["inputs", "weights", "framework", "steps", "state"]
    notes = [
        "at t = 1, at end, limit: mean square of a real coordinate of the state, the same scale for all layers; "
        "white and constant inputs of variance 1 drive a layer alone, a task's data reach it through its model.",
        "exponent: of the mean square over the last decade of time, 0 if it stays put, 1 for a random walk; its "
        "interval is Student's over seeds and of this line alone: what may be said of all is told by `rotbench "
        "answer Q6`.",
        "gradient: mean square of what reaches the inputs a tenth of the steps before the end, over that one step "
        "before it.",
    ]
    return _norms_table(title, ended(rows), head, _norms_head, notes)


def course_table(rows: Sequence[Row], title: str = "Norms over the course of training") -> Traced:
    """One line a block and step of training, of what differs in its seeds alone."""
    head = ["inputs", "trained on", "framework", "steps", "state", "trained"]
    notes = ["trained: steps of training. The other columns are those of the table of norms."]
    return _norms_table(title, snapshots(rows), head, _course_head, notes)


def _norms_table(
    title: str, rows: Sequence[Row], head: list[str], head_of: Callable[[Row], tuple[str, ...]], notes: list[str]
) -> Traced:
    lines = [
        (line, block)
        for line in study_lines(rows, _norms_setting, head_of)
        for block in range(len(line.rows[0].detail["blocks"]))
    ]
    return Traced(
        title,
        ["layer", "variant", *head, *NORMS_SHOWN],
        [[line.head[0], line.variant, *line.head[1:], *_norms_of(line.rows, block)] for line, block in lines],
        frozenset({"steps", "state", "trained", *NORMS_SHOWN}),
        notes,
        NORMS_LESS,
        [line.cells for line, _ in lines],
    )


def _norms_setting(row: Row) -> dict[str, Any]:
    """As question Q6 takes rows together; sequences of a task's data may end at other times."""
    return setting_of(row) | {"steps": row.detail["times"][-1], "blocks": len(row.detail["blocks"])}


def _norms_head(row: Row) -> tuple[str, ...]:
    study, steps = study_of(row.task), n.count(row.detail["times"][-1])
    weights = "initial" if study.weights is None else weights_of(row)
    return row.layer, str(study.inputs), weights, row.framework, steps, n.count(row.real_state_size)


def _course_head(row: Row) -> tuple[str, ...]:
    layer, inputs, _, *rest = _norms_head(row)
    return layer, inputs, row.detail.get("trained_on", n.MISSING), *rest, n.count(study_of(row.task).step)


def _norms_of(rows: Sequence[Row], index: int) -> list[str]:
    blocks = [row.detail["blocks"][index] for row in rows]
    limits = [block.get("limit") for block in blocks]
    return [
        str(index),
        str(len(rows)),
        n.significant(mean(block["mean_square"][0] for block in blocks)),
        n.significant(mean(block["mean_square"][-1] for block in blocks)),
        n.significant(mean(limits) if None not in limits else None),
        *_growth([_exponent(row, block) for row, block in zip(rows, blocks, strict=True)]),
        n.significant(mean(_fallen(row, block) for row, block in zip(rows, blocks, strict=True))),
    ]


def _growth(exponents: Sequence[float | None]) -> list[str]:
    """The exponent and its interval over seeds; the interval alone is no verdict, as it is one of many."""
    known = [value for value in exponents if value is not None]
    if not known:
        return [n.MISSING, n.MISSING]
    value, low, high = over_seeds(known).interval()
    return [bare(value, "slope"), bounds(low, high, "slope") if len(known) > 1 else n.MISSING]


def _exponent(row: Row, block: dict[str, Any]) -> float | None:
    """Of white inputs that of the exact norms, which have no noise."""
    values = block.get("exact", block["mean_square"])
    known = [(t, v) for t, v in zip(row.detail["times"], values, strict=True) if v is not None]
    return growth_exponent([t for t, _ in known], [v for _, v in known]) if known else None


def _fallen(row: Row, block: dict[str, Any]) -> float | None:
    """How much of the gradient is left a tenth of the steps before the end."""
    lags, values = row.detail["lags"], block["gradient"]
    far = min(range(len(lags)), key=lambda i: abs(lags[i] - lags[-1] / 10))
    near, left = values[1] if len(values) > 1 else None, values[far]
    return left / near if near and left is not None else None


def errors_table(rows: Sequence[Row], title: str = "Conversions between LRU and RotRNN") -> Traced:
    """The largest relative error of each conversion over all seeds."""
    errors: dict[str, dict[str, float]] = {}
    for row in studied(rows, "equivalence"):
        pairs = {"eigenvalues in pairs, numpy": row.detail["conjugate_pairs"]}
        for name, value in {**row.detail["errors"], **pairs}.items():
            errors.setdefault(name, {})[row.cell_id] = value
    found = sorted(errors.items())
    lines = [[*name.rsplit(", ", 1), n.error(max(by_cell.values()))] for name, by_cell in found]
    notes = ["error: of all outputs against the oracle's for the layer before conversion, in float64."]
    cells = [list(by_cell) for _, by_cell in found]
    return Traced(title, ["conversion", "computed by", "error"], lines, frozenset({"error"}), notes, cells=cells)


def books_table(rows: Sequence[Row], title: str = "Parameters and what they can do") -> Traced:
    """The accounts of both layers at each size."""
    found: dict[tuple[str, ...], list[str]] = {}
    for row in studied(rows, "equivalence"):
        for book in row.detail["books"]:
            cells = found.setdefault(_account(row, book), [])
            cells += [row.cell_id] * (row.cell_id not in cells)
    names = ["layer", "heads", "P", "d_model", "state", "parameters", "decays", "angles", "free", "redundant"]
    notes = [
        "free: dimensions of the set of functions that the layer can compute; redundant: parameters that change "
        "nothing which others cannot. An LRU has one decay more for each plane beyond the first of a head.",
    ]
    lines = [list(line) for line in found]
    return Traced(title, names, lines, frozenset(names) - {"layer", "P"}, notes, cells=list(found.values()))


def _account(row: Row, book: dict[str, Any]) -> tuple[str, ...]:
    counts = ("real_state_size", "parameters", "decays", "angles", "free", "redundant")
    heads = n.MISSING if book["heads"] is None else n.count(book["heads"])
    sizes = (heads, book["mixing"] or n.MISSING, n.count(row.d_model))
    return book["layer"], *sizes, *(n.count(book[name]) for name in counts)


def period_table(rows: Sequence[Row], title: str = "A known period") -> Traced:
    """One line a layer, arm, size, recipe and framework, over seeds."""
    lines = study_lines(studied(rows, "period"), _period_setting, _period_head)
    names = ["layer", "variant", "angles", "framework", "angle", "state", "seeds", "before", "after"]
    names += ["nearest before", "nearest after", "MSE", "of a constant"]
    notes = [
        "angle: of the sinusoid, in radians a step. before, after: distance from it, in radians, of the mode that is "
        "read out most, before and after training; nearest: of the mode that is nearest. Means over seeds.",
    ]
    return Traced(
        title,
        names,
        [[line.head[0], line.variant, *line.head[1:], *_period_of(line.rows)] for line in lines],
        frozenset(names[4:]),
        notes,
        ("of a constant", "nearest before", "seeds", "before", "nearest after"),
        [line.cells for line in lines],
    )


def _period_setting(row: Row) -> dict[str, Any]:
    return period_setting(row) | {"angle": row.detail["angle"]}


def _period_head(row: Row) -> tuple[str, ...]:
    angle = n.significant(row.detail["angle"])
    return row.layer, str(study_of(row.task).inputs), row.framework, angle, n.count(row.real_state_size)


def _period_of(rows: Sequence[Row]) -> list[str]:
    places = [("before", "error"), ("after", "error"), ("before", "nearest_error"), ("after", "nearest_error")]
    distances = [n.significant(mean(row.detail[when][what] for row in rows)) for when, what in places]
    scores = [n.significant(mean(row.detail[name] for row in rows)) for name in ("test_score", "chance")]
    return [str(len(rows)), *distances, *scores]
