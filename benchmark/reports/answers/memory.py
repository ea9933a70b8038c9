"""How memory grows with the length, and where it ends."""

import math
from collections.abc import Mapping, Sequence

from benchmark.metrics.scaling import Measured, growth, largest_length
from benchmark.reports import numbers as n
from benchmark.reports.answers.apart import Placed, places_apart
from benchmark.reports.answers.lengths import by_length, place_of, size_of
from benchmark.reports.environments import environments
from benchmark.reports.evidence import Group, groups
from benchmark.reports.surroundings import with_surroundings
from benchmark.store.row import Row


def memory_growth(rows: Sequence[Row]) -> list[str]:
    """How memory grows, with intervals and without a verdict."""
    held = [row for row in sized(rows) if row.metric == "memory" and row.status == "ok"]
    series = _series(held, environments(rows))
    measured = [(where, group, by_length(group.rows, "memory")) for where, group in series]
    return [_growing(where, group.rows[0].layer, listed) for where, group, listed in measured if len(listed) >= 3]


def _growing(where: str, layer: str, measured: Measured) -> str:
    value, low, high = growth(measured).interval()
    ends = f" [{low:.2f} to {high:.2f}]" if math.isfinite(low) else ", without an interval from so few"
    return f"{where}: the memory of {layer} grows with exponent {value:.2f}{ends}; {size_of(measured)}."


def sized(rows: Sequence[Row]) -> list[Row]:
    """Rows of a layer at a length, however they ended."""
    return [row for row in rows if row.metric in {"speed", "memory"} and row.seq_len and row.subject == "layer"]


def _series(rows: Sequence[Row], names: Mapping[str, str]) -> list[tuple[str, Group]]:
    """What differs in length alone, each with words that no other one has; ``names`` are those of environments."""
    found = groups(rows, "seq_len")
    placed = [Placed((group.rows[0].layer,), place_of(group), group.setting, _known(group.rows)) for group in found]
    return [(", ".join(where), group) for where, group in zip(places_apart(placed, names), found, strict=True)]


def _known(rows: Sequence[Row]) -> Sequence[Row]:
    """Those that tell where they were measured: that have a result, where any has."""
    return [row for row in rows if row.status == "ok"] or rows


def memory_ends(rows: Sequence[Row]) -> list[str]:
    """The largest length that fits, where memory ended."""
    series = _series(with_surroundings(sized(rows)), environments(rows))
    return [text for where, group in series if (text := _end(where, group.rows)) is not None]


def _end(where: str, rows: Sequence[Row]) -> str | None:
    found = largest_length((row.seq_len or 0, row.status) for row in rows)
    if found.exhausted is None:
        return None
    fits = f"fits up to length {n.count(found.fits)}" if found.fits else "fits at no length measured"
    return f"{where}: {rows[0].layer} {fits}; memory does not suffice at {n.count(found.exhausted)}."
