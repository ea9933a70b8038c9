"""Two sources of results compared: tables and JSON."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from benchmark.metrics.inference import Estimate
from benchmark.metrics.statistics import Interval
from benchmark.regress.pairing import Pairing
from benchmark.regress.quantities import Quantity
from benchmark.regress.sources import Source
from benchmark.regress.verdicts import Change, Compared, Lacking, effect_of, mean_change
from benchmark.reports import numbers as n
from benchmark.reports.as_json import finite
from benchmark.reports.labels import algorithm, layer, variants
from benchmark.reports.listing import SHORT_ID
from benchmark.reports.pairing import MOST_NAMED, pairing_json
from benchmark.reports.tables import Table
from benchmark.store.row import Row

CELL = ["cell", "layer", "framework", "algorithm", "direction", "length or task", "batch", "variant"]
OPTIONAL = ("cell", "variant", "batch", "algorithm", "direction", "framework")


def comparison_tables(found: Sequence[Compared]) -> list[Table]:
    """One table a quantity, the worst cell first, with the mean over cells below."""
    by_quantity: dict[str, list[Compared]] = {}
    for entry in found:
        by_quantity.setdefault(entry.change.quantity.name, []).append(entry)
    return [_table(entries) for entries in by_quantity.values()]


def _table(found: Sequence[Compared]) -> Table:
    quantity, rows = found[0].change.quantity, [entry.change.row for entry in found]
    words = cell_words(rows)
    lines = [
        [*words[entry.change.row.cell_id], *figures(entry.change), entry.verdict, p_text(entry.p_adjusted)]
        for entry in found
    ]
    names = [*CELL, "before", "after", effect_name(quantity), "95 % interval", "verdict", "p adjusted"]
    counts = {word: sum(entry.verdict == word for entry in found) for word in dict.fromkeys(e.verdict for e in found)}
    notes = [
        f"{len(found)} cells: {', '.join(f'{count} {word}' for word, count in counts.items())}. "
        f"Mean over cells: {mean_text(quantity, mean_change([entry.change for entry in found]))}."
    ]
    notes += dict.fromkeys(f"Allowed: {words}." for entry in found for words in entry.change.pair.allowed)
    return Table(f"{quantity.name}, before and after", names, lines, frozenset(names[8:12]), notes, OPTIONAL)


def cell_words(rows: Sequence[Row]) -> dict[str, list[str]]:
    """By cell, the texts of the columns ``CELL``."""
    apart = variants(rows, ("d_model", "d_state", "metric"))
    return {
        row.cell_id: [
            row.cell_id[:SHORT_ID],
            layer(row),
            row.framework,
            algorithm(row),
            row.direction or n.MISSING,
            row.task or n.count(row.seq_len),
            n.count(row.batch),
            apart[row.cell_id],
        ]
        for row in rows
    }


def figures(change: Change) -> list[str]:
    """Before, after, their ratio or difference, and its interval, as texts."""
    before, after = change.levels
    effect = change.effect
    levels = [level_text(change.quantity, before), level_text(change.quantity, after)]
    return [*levels, effect_text(change.quantity, effect.median), interval_text(change.quantity, effect)]


def effect_name(quantity: Quantity) -> str:
    """The column's name of the effect."""
    return "ratio" if quantity.scale == "ratio" else "difference"


def level_text(quantity: Quantity, value: float) -> str:
    """A value in the quantity's unit."""
    match quantity.unit:
        case "B" | "tokens/s":
            return n.scaled(value, quantity.unit)
        case "share":
            return n.percent(value)
    return f"{n.significant(value)} {quantity.unit}".strip()


def effect_text(quantity: Quantity, value: float) -> str:
    """A ratio with three decimals while they say something, or points with two; of a count from 0 there is none."""
    if math.isinf(value):
        return "from 0"
    return f"x{_ratio(value)}" if quantity.scale == "ratio" else f"{100 * value:+.2f} points"


def _ratio(value: float) -> str:
    return f"{value:.3f}" if 0.1 <= value < 10 else n.significant(value)


def interval_text(quantity: Quantity, interval: Interval) -> str:
    """Of a ratio or a difference; said in words where there are too few values for one."""
    if math.isinf(interval.median):
        return "exact"
    if not (math.isfinite(interval.high) and math.isfinite(interval.low)):
        return "too few values"
    if quantity.scale == "ratio":
        wide = interval.high > 10 * interval.low
        return "wider than x10" if wide else f"{_ratio(interval.low)} to {_ratio(interval.high)}"
    return f"{100 * interval.low:+.2f} to {100 * interval.high:+.2f}"


def mean_text(quantity: Quantity, estimate: Estimate) -> str:
    """The mean change over cells."""
    effect = effect_of(quantity, estimate)
    kind = "geometric mean of ratios" if quantity.scale == "ratio" else "mean difference"
    return f"{kind} {effect_text(quantity, effect.median)} ({interval_text(quantity, effect)})"


def p_text(p: float) -> str:
    """A p-value."""
    return "<1e-4" if p < 1e-4 else n.significant(p, 2)


def source_line(side: str, source: Source) -> str:
    """What a source is: its name, its commits, how many rows."""
    commits = dict.fromkeys(str(row.environment.get("commit") or "unknown")[:12] for row in source.rows)
    dirty = " with uncommitted changes" if any(row.environment.get("dirty") for row in source.rows) else ""
    names = ", ".join([*commits][:MOST_NAMED]) + (", ..." if len(commits) > MOST_NAMED else "")
    return f"{side}: {source.name}, {len(source.rows)} rows of commit {names}{dirty}"


def change_json(change: Change) -> dict[str, Any]:
    """A change as JSON values; what is infinite is null: a ratio to 0, an end of an interval."""
    before, after = change.levels
    effect = change.effect
    return {
        "cell_id": change.row.cell_id,
        "cell": change.row.cell_values(),
        "quantity": change.quantity.name,
        "unit": change.quantity.unit,
        "before": before,
        "after": after,
        effect_name(change.quantity): finite(effect.median),
        "ci_low": finite(effect.low),
        "ci_high": finite(effect.high),
        "test": change.worsening.test,
        "allowed_differences": list(change.pair.allowed),
    }


def comparison_json(found: Iterable[Compared], pairing: Pairing, alone: Sequence[Lacking] = ()) -> dict[str, Any]:
    """All that ``rotbench compare`` has found."""
    listed = [
        change_json(entry.change) | {"verdict": entry.verdict, "p": entry.p, "p_adjusted": entry.p_adjusted}
        for entry in found
    ]
    return {"comparisons": listed} | pairing_json(pairing, alone)
