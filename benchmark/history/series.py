"""Rows as series: one for each cell, quantity and machine, with one point a commit, in the order of the trunk."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from benchmark.history.machine import Machine, machine_of, software
from benchmark.regress.quantities import Quantity, quantities
from benchmark.store.row import Row


@dataclass(frozen=True)
class Point:
    """What was measured at one commit: the mean of its rows' processes, geometric unless of points.

    Without a commit, what was measured at one time.
    """

    commit: str | None
    when: datetime
    value: float
    rows: int
    software: dict[str, str]

    @property
    def name(self) -> str:
        """The commit, short, or the time."""
        return self.commit[:10] if self.commit else self.when.strftime("%Y-%m-%d %H:%M")


@dataclass(frozen=True)
class Series:
    """One quantity of one cell on one machine, oldest commit first."""

    row: Row
    """The newest row, which tells what the cell is."""
    quantity: Quantity
    machine: Machine
    points: tuple[Point, ...]

    @property
    def values(self) -> list[float]:
        """In the quantity's unit."""
        return [point.value for point in self.points]

    @property
    def scaled(self) -> list[float]:
        """On the scale on which steps are differences: logarithms, or points as they are."""
        return [_scaled(self.quantity, value) for value in self.values]


class History(NamedTuple):
    """All series, and how many rows are in none of them, by reason."""

    series: list[Series]
    left_out: dict[str, int]


def history_of(rows: Iterable[Row], trunk: Sequence[str] = (), metrics: Iterable[str] = ()) -> History:
    """The series that rows make.

    Args:
        rows: of any cells, machines and commits.
        metrics: names of quantities; the usual ones if none is named.
        trunk: commits, oldest first. Rows of others are left out, unless no row is of one of these:
            then points are in the order in which they were measured.

    Raises:
        UserError: for an unknown metric.
    """
    chosen = quantities(metrics)
    rank = {commit: index for index, commit in enumerate(trunk)}
    sound, left_out = _sound(rows)
    if any(_commit(row) in rank for row in sound):
        kept = [row for row in sound if _commit(row) in rank]
        left_out["of commits that are not on the trunk"] = len(sound) - len(kept)
    else:
        kept, rank = sound, {}
    found: dict[tuple[str, str, Machine], list[Row]] = {}
    for row in kept:
        for quantity in (q for q in chosen if _values(q, row)):
            found.setdefault((row.cell_id, quantity.name, machine_of(row)), []).append(row)
    by_name = {quantity.name: quantity for quantity in chosen}
    series = [_series(by_name[name], machine, members, rank) for (_, name, machine), members in found.items()]
    return History(sorted(series, key=_place), {reason: count for reason, count in left_out.items() if count})


def _values(quantity: Quantity, row: Row) -> list[float]:
    return quantity.on_scale(row) if row.metric in quantity.of else []


def _sound(rows: Iterable[Row]) -> tuple[list[Row], Counter[str]]:
    """Rows that can be points, and why the others cannot."""
    sound, left_out = [], Counter[str]()
    for row in rows:
        if row.status != "ok":
            left_out["without a result"] += 1
        elif row.environment.get("dirty"):
            left_out["of a tree with changes that are in no commit"] += 1
        else:
            sound.append(row)
    return sound, left_out


def _commit(row: Row) -> str | None:
    commit = row.environment.get("commit")
    return str(commit) if commit else None


def _series(quantity: Quantity, machine: Machine, rows: Sequence[Row], rank: dict[str, int]) -> Series:
    """Points of one cell; a row without a commit is a point of its own."""
    by_point: dict[str, list[Row]] = {}
    for row in rows:
        by_point.setdefault(_commit(row) or row.created_at.isoformat(), []).append(row)
    points = [_point(quantity, members) for members in by_point.values()]
    points.sort(key=lambda point: (rank.get(point.commit or "", 0), point.when))
    return Series(max(rows, key=lambda row: row.created_at), quantity, machine, tuple(points))


def _point(quantity: Quantity, rows: Sequence[Row]) -> Point:
    newest = max(rows, key=lambda row: row.created_at)
    first = min(row.created_at for row in rows)
    scaled = [_scaled(quantity, value) for row in rows for value in _values(quantity, row)]
    middle = sum(scaled) / len(scaled)
    value = middle if quantity.scale == "points" else math.exp(middle)
    return Point(_commit(newest), first, value, len(rows), software(newest))


def _scaled(quantity: Quantity, value: float) -> float:
    return value if quantity.scale == "points" else math.log(value)


def _place(series: Series) -> tuple[str, ...]:
    row = series.row
    return (series.machine.id, series.quantity.name, row.layer, row.framework, row.direction or "", row.cell_id)


def machines(series: Iterable[Series]) -> list[Machine]:
    """The machines of series, each once, in their order."""
    return list(dict.fromkeys(entry.machine for entry in series))
