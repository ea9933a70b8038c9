"""The cells of two sources put beside each other, and why some cannot be."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmark.regress.conditions import Conditions, axes, differences, is_allowed, named, surroundings
from benchmark.store.row import Row

SIZES = ("metric", "layer", "framework", "task", "direction", "seq_len", "batch", "d_model", "d_state", "subject")
"""Cells that differ in one of these are different cells; in anything else, one cell under different flags."""


class Pair(NamedTuple):
    """One cell before and after: its rows, replicates or seeds, and the allowed differences in words."""

    before: list[Row]
    after: list[Row]
    allowed: tuple[str, ...] = ()

    @property
    def row(self) -> Row:
        """The row that stands for the cell."""
        return self.after[0]


class Refused(NamedTuple):
    """A cell that is on both sides and is not compared, and why."""

    row: Row
    why: list[str]
    keys: list[str]


class Broken(NamedTuple):
    """A cell that had a result before and ended without one after."""

    before: Row
    after: Row


@dataclass
class Pairing:
    """All cells of two sources: those that are compared and those that are not."""

    pairs: list[Pair] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    only_before: list[Row] = field(default_factory=list)
    only_after: list[Row] = field(default_factory=list)

    @property
    def rows_after(self) -> list[Row]:
        """One row of every cell of the newer source."""
        compared = [pair.row for pair in self.pairs]
        return [*compared, *(r.row for r in self.refused), *(b.after for b in self.broken), *self.only_after]

    @property
    def only_failures(self) -> bool:
        """Whether the newer source has cells, and no result of any."""
        return bool(rows := self.rows_after) and all(row.status != "ok" for row in rows)


Cells = dict[str, list[Row]]


def pair(before: Iterable[Row], after: Iterable[Row], allowed: Sequence[str] = ()) -> Pairing:
    """Put two sources beside each other; of each cell the last row counts.

    Args:
        before: rows of the older source, oldest first.
        after: rows of the newer one.
        allowed: names of axes and conditions that may differ, see ``conditions.check_allowed``.
    """
    found = Pairing()
    ours, theirs = _cells(before), _cells(after)
    taken: set[str] = set()
    for key, rows in theirs.items():
        match = key if key in ours else _under_other_flags(rows[0], ours, taken)
        if match is None:
            found.only_after.append(_face(rows))
            continue
        taken.add(match)
        _sort_in(found, ours[match], rows, allowed)
    found.only_before = [_face(rows) for key, rows in ours.items() if key not in taken]
    return found


def _cells(rows: Iterable[Row]) -> Cells:
    """Rows by cell: the last of each replicate and seed."""
    found: Cells = {}
    for row in {row.cell_id: row for row in rows}.values():
        found.setdefault(_key(axes(row)), []).append(row)
    return found


def _face(rows: Sequence[Row]) -> Row:
    """The row that stands for a cell: one with a result, if there is one."""
    return next((row for row in rows if row.status == "ok"), rows[0])


def _key(conditions: Conditions) -> str:
    return json.dumps(conditions, sort_keys=True, default=str)


def _under_other_flags(row: Row, cells: Cells, taken: set[str]) -> str | None:
    """The cell of equal sizes that differs in the fewest flags; none if another row has been given it."""
    own = axes(row)
    near = [
        (len(found), key)
        for key, rows in cells.items()
        if key not in taken and not (found := differences(axes(rows[0]), own)).keys() & set(SIZES)
    ]
    return min(near)[1] if near else None


def _sort_in(found: Pairing, before: list[Row], after: list[Row], allowed: Sequence[str]) -> None:
    """Compare, refuse, or call broken."""
    good = [[row for row in rows if row.status == "ok"] for rows in (before, after)]
    if not good[0]:
        found.only_after.append(_face(after))
        return
    differing = differences(axes(before[0]), axes(after[0])) | differences(
        surroundings(good[0][0]), surroundings((good[1] or after)[0])
    )
    if not good[1]:
        differing.pop("device_name", None)  # a cell that failed tells of no device
    kept_out = {name: values for name, values in differing.items() if not is_allowed(name, allowed)}
    if kept_out:
        found.refused.append(Refused(_face(after), named(kept_out), list(kept_out)))
    elif not good[1]:
        found.broken.append(Broken(before[0], after[0]))
    else:
        found.pairs.append(Pair(good[0], good[1], tuple(named(differing))))
