"""Tables of the studies that are cells of their own: norms, equivalence, period."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmark.reports import numbers as n
from benchmark.reports.answers.studied import studied
from benchmark.reports.labels import variants
from benchmark.reports.tables import Table
from benchmark.store.row import Row
from benchmark.studies.names import study_of
from benchmark.studies.norms import growth_exponent, trend

Key = tuple[Any, ...]


def over_seeds(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Rows by key, in the keys' order; those of one key differ in their seeds."""
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return dict(sorted(found.items()))


def option_words(rows: Sequence[Row]) -> dict[str, str]:
    """By cell, the options in which rows of one layer differ."""
    return variants([row.model_copy(update={"seed": 0, "options": shortened(row)}) for row in rows])


def shortened(row: Row) -> dict[str, Any]:
    """Options with numbers as short as a table needs."""
    return {name: float(f"{v:.5g}") if isinstance(v, float) else v for name, v in row.options.items()}


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None if none is."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def norms_table(rows: Sequence[Row], title: str = "Norms of states and gradients") -> Table:
    """One line a layer, block, kind of inputs and framework, over seeds."""
    ours = studied(rows, "norms")
    words = option_words(ours)

    def key(row: Row) -> Key:
        study = study_of(row.task)
        state = "trained" if study.weights else "initial"
        return row.layer, words[row.cell_id], study.inputs, state, row.framework, row.detail["times"][-1]

    lines = [
        [*map(str, head[:-1]), n.count(head[-1]), *_norms_of(members, block)]
        for head, members in over_seeds(ours, key).items()
        for block in range(len(members[0].detail["blocks"]))
    ]
    names = ["layer", "variant", "inputs", "weights", "framework", "steps", "block", "seeds", "at t = 1", "at end"]
    names += ["limit", "exponent", "95 % interval", "trend", "gradient"]
    notes = [
        "at t = 1, at end, limit: mean square of a real coordinate of the state, the same scale for all layers; "
        "white and constant inputs of variance 1 drive a layer alone, a task's data reach it through its model.",
        "exponent: of the mean square over the last decade of time, 0 if it stays put, 1 for a random walk; its "
        "interval is Student's over seeds. trend: bounded within 0.1 of 0.",
        "gradient: mean square of what reaches the inputs a tenth of the steps before the end, over that one step "
        "before it.",
    ]
    numeric = frozenset({"steps", "block", "seeds", *names[8:13], "gradient"})
    optional = ("gradient", "seeds", "at t = 1", "95 % interval", "limit", "trend", "exponent")
    return Table(title, names, lines, numeric, notes, optional)


def _norms_of(rows: Sequence[Row], index: int) -> list[str]:
    blocks = [row.detail["blocks"][index] for row in rows]
    exponents = [value for row, block in zip(rows, blocks, strict=True) if (value := _exponent(row, block)) is not None]
    tail = [n.MISSING, n.MISSING, n.MISSING]
    if exponents:
        found = trend(exponents)
        interval = found.exponent.interval()
        bounds = f"{interval.low:.2f} to {interval.high:.2f}" if len(exponents) > 1 else n.MISSING
        tail = [f"{found.exponent.value:.2f}", bounds, found.word]
    limits = [block.get("limit") for block in blocks]
    return [
        str(index),
        str(len(rows)),
        n.significant(mean(block["mean_square"][0] for block in blocks)),
        n.significant(mean(block["mean_square"][-1] for block in blocks)),
        n.significant(mean(limits) if None not in limits else None),
        *tail,
        n.significant(mean(_fallen(row, block) for row, block in zip(rows, blocks, strict=True))),
    ]


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


def errors_table(rows: Sequence[Row], title: str = "Conversions between LRU and RotRNN") -> Table:
    """The largest relative error of each conversion over all seeds."""
    ours = studied(rows, "equivalence")
    errors: dict[str, float] = {}
    for row in ours:
        for name, value in {
            **row.detail["errors"],
            "eigenvalues in pairs, numpy": row.detail["conjugate_pairs"],
        }.items():
            errors[name] = max(value, errors.get(name, 0.0))
    lines = [[*name.rsplit(", ", 1), n.error(value)] for name, value in sorted(errors.items())]
    notes = ["error: of all outputs against the oracle's for the layer before conversion, in float64."]
    return Table(title, ["conversion", "computed by", "error"], lines, frozenset({"error"}), notes)


def books_table(rows: Sequence[Row], title: str = "Parameters and what they can do") -> Table:
    """The accounts of both layers at each size."""
    found: dict[tuple[str, ...], list[str]] = {}
    for row in studied(rows, "equivalence"):
        for book in row.detail["books"]:
            counts = ("real_state_size", "parameters", "decays", "angles", "free", "redundant")
            heads = n.MISSING if book["heads"] is None else n.count(book["heads"])
            line = [book["layer"], heads, book["mixing"] or n.MISSING, n.count(row.d_model)]
            line += [n.count(book[name]) for name in counts]
            found[tuple(line)] = line
    names = ["layer", "heads", "P", "d_model", "state", "parameters", "decays", "angles", "free", "redundant"]
    notes = [
        "free: dimensions of the set of functions that the layer can compute; redundant: parameters that change "
        "nothing which others cannot. An LRU has one decay more for each plane beyond the first of a head.",
    ]
    return Table(title, names, list(found.values()), frozenset(names) - {"layer", "P"}, notes)


def period_table(rows: Sequence[Row], title: str = "A known period") -> Table:
    """One line a layer, arm and framework, over seeds."""
    ours = studied(rows, "period")
    words = option_words(ours)

    def key(row: Row) -> Key:
        angle = n.significant(row.detail["angle"])
        return row.layer, words[row.cell_id], study_of(row.task).inputs, row.framework, angle

    lines = [[*map(str, head), *_period_of(members)] for head, members in over_seeds(ours, key).items()]
    names = ["layer", "variant", "angles", "framework", "angle", "seeds", "before", "after", "nearest before"]
    names += ["nearest after", "MSE", "of a constant"]
    notes = [
        "angle: of the sinusoid, in radians a step. before, after: distance from it, in radians, of the mode that is "
        "read out most, before and after training; nearest: of the mode that is nearest. Means over seeds.",
    ]
    optional = ("of a constant", "nearest before", "seeds", "before", "nearest after")
    return Table(title, names, lines, frozenset(names[4:]), notes, optional)


def _period_of(rows: Sequence[Row]) -> list[str]:
    places = [("before", "error"), ("after", "error"), ("before", "nearest_error"), ("after", "nearest_error")]
    distances = [n.significant(mean(row.detail[when][what] for row in rows)) for when, what in places]
    scores = [n.significant(mean(row.detail[name] for row in rows)) for name in ("test_score", "chance")]
    return [str(len(rows)), *distances, *scores]
