"""Which rows may be compared, and why others may not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from benchmark.reports.recipes import preset_of, trained_as, usual_options, words
from benchmark.reports.results import latest
from benchmark.spec.errors import UserError
from benchmark.store.row import Row
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.recipe import Value

Axis = Literal["layer", "seq_len"]
"""What is compared: layers at one length, or one layer over lengths."""

OWN = ("layer", "d_model", "d_state", "options", "replicate", "recipe")
"""Fields of a cell that ``setting`` does not take as they are."""

NEAR = 0.05
"""Sizes whose parameters or FLOPs differ by no more count as matched."""

MATCHED = {
    "real state size": "equal real states",
    "preset small": "sizes of preset small",
    "preset paper": "published sizes",
    "parameters": "equal parameters",
    "FLOPs": "equal FLOPs",
    "d_state": "equal d_state alone, states NOT matched",
}
"""In what sizes may agree, the fairest first, and the words for it.

A preset is a recipe with the sizes that go with it. Equal d_state comes last: it counts real numbers in
one layer and complex ones in another, so that states of equal d_state need not be equal.
"""


@dataclass(frozen=True)
class Group:
    """Rows that agree in everything but the compared axis. ``setting`` holds what they agree in."""

    setting: dict[str, Any]
    rows: list[Row]


class Pair(NamedTuple):
    """Two layers in one setting: the rows of each, replicates or seeds, and in what their sizes match."""

    setting: dict[str, Any]
    ours: list[Row]
    theirs: list[Row]
    matched: str

    @property
    def how(self) -> str:
        """In what the sizes match, in words."""
        return MATCHED.get(self.matched, self.matched)


class Subject(NamedTuple):
    """A layer as a sentence names it: ``lru``, or ``rotrnn[normalizer=none]``."""

    layer: str
    options: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        """As it is written."""
        listed = ",".join(f"{name}={value}" for name, value in self.options)
        return f"{self.layer}[{listed}]" if listed else self.layer


MACHINE = ("device name", "cpu", "cpus", "system", "python", "start", "versions", "code")
"""Parts of a setting that say where it was measured, and of what."""


def setting(row: Row, axis: Axis = "layer") -> dict[str, Any]:
    """What must be equal in rows that are compared: the cell's axes, machine, versions, code and recipe.

    Seeds of trainings are not in it: they are pairs. Nor are layers, their options and state sizes,
    unless lengths are compared.
    """
    skipped = {*OWN, *(("seed",) if row.metric == "train" else ()), *(("seq_len",) if axis == "seq_len" else ())}
    found = {name: getattr(row, name) for name in Cell.model_fields if name not in skipped}
    found["bidirectional"] = row.options.get("bidirectional", False)
    found |= machine(row)
    if row.recipe is not None:
        found |= trained_as(row)
    else:
        found["d_model"] = row.d_model
    if axis == "seq_len":
        found |= {"layer": row.layer, "d_state": row.d_state, "options": words(row.options)}
    return found


def machine(row: Row) -> dict[str, Any]:
    """Device, versions and code, by the names of ``MACHINE``. The code is known by its hash, else by its commit."""
    e = row.environment
    return {
        "device name": str(row.detail.get("device_name", row.device)),
        **{name: e.get(name) for name in ("cpu", "cpus", "system", "python", "start")},
        "versions": words(e.get("versions") or {}),
        "code": row.detail.get("source_hash") or e.get("commit"),
    }


def groups(rows: Iterable[Row], axis: Axis = "layer") -> list[Group]:
    """Rows by setting, the last row of every cell, in the order in which they came."""
    found: dict[str, Group] = {}
    for row in latest(rows):
        key = setting(row, axis)
        found.setdefault(words(key), Group(key, [])).rows.append(row)
    return list(found.values())


def why_not(a: Row, b: Row, axis: Axis = "layer") -> list[str]:
    """In what two rows differ that keeps them from being compared; empty if they may be."""
    ours, theirs = setting(a, axis), setting(b, axis)
    names = dict.fromkeys([*ours, *theirs])
    found = [f"{n} {ours.get(n)} against {theirs.get(n)}" for n in names if ours.get(n) != theirs.get(n)]
    if axis == "layer" and not found and matched(a, b) is None:
        found.append(f"d_state {a.d_state} against {b.d_state}, matched in neither state, parameters nor FLOPs")
    return found


def matched(a: Row, b: Row) -> str | None:
    """In what the sizes of two layers are equal, the fairest of ``MATCHED``; None if in nothing."""
    if _equal_states(a, b):
        return "real state size"
    if preset_of(a) == preset_of(b) == "small":
        return "preset small"
    if preset_of(a) == preset_of(b) == "paper":
        return "preset paper"
    if _near(a.layer_param_count, b.layer_param_count):
        return "parameters"
    if _near(a.flops, b.flops):
        return "FLOPs"
    return "d_state" if a.d_state == b.d_state else None


def _equal_states(a: Row, b: Row) -> bool:
    if a.layer == b.layer:
        return a.d_state == b.d_state
    return a.real_state_size is not None and a.real_state_size == b.real_state_size


def state_words(row: Row) -> str:
    """The size of a state in real numbers; its d_state where that is not known."""
    return f"d_state {row.d_state}" if row.real_state_size is None else f"state {row.real_state_size:,}"


def _near(a: int | None, b: int | None) -> bool:
    return bool(a and b and abs(a - b) <= NEAR * max(a, b))


def pairs(group: Group, ours: Subject, theirs: Subject) -> list[Pair]:
    """Every size of ours beside that size of theirs which matches it best.

    Equal d_state alone counts only where no two sizes match in anything fairer. Rows are never beside
    themselves, as where one variant alone was measured of a layer that both name.
    """
    ours_by_size, theirs_by_size = sizes(group, ours), sizes(group, theirs)
    if ours.layer == theirs.layer:
        theirs_by_size = [rows for rows in theirs_by_size if rows not in ours_by_size]
    found = [pair for rows in ours_by_size if (pair := _best(group, rows, theirs_by_size)) is not None]
    return [pair for pair in found if pair.matched != "d_state"] or found


def _best(group: Group, rows: list[Row], others: Iterable[list[Row]]) -> Pair | None:
    found = [Pair(group.setting, rows, other, how) for other in others if (how := matched(rows[0], other[0]))]
    return min(found, key=lambda pair: list(MATCHED).index(pair.matched), default=None)


def size_words(pair: Pair) -> tuple[str, ...]:
    """The sizes of both states in real numbers; where these are not equal, in what else the layers match."""
    ours, theirs = (rows[0].real_state_size for rows in (pair.ours, pair.theirs))
    if ours is None or theirs is None:
        return (f"d_state {pair.ours[0].d_state} and {pair.theirs[0].d_state}",)
    if pair.matched == "real state size":
        return (f"state {ours:,}",)
    return (f"states {ours:,} and {theirs:,} ({pair.how})",)


def sizes(group: Group, subject: Subject) -> list[list[Row]]:
    """The rows of a subject by d_state. Where its options are not named, those are meant that are the layer's own.

    Raises:
        UserError: if several variants were measured, none of them with the layer's own options.
    """
    rows = [row for row in group.rows if fits(row, subject)]
    variants = {words(row.options) for row in rows}
    if len(variants) > 1:
        own = {name.lower(): value for name, value in usual_options(rows[0]).items()} | dict(subject.options)
        kept = [row for row in rows if _has(row, own)]
        if not kept:
            raise UserError(f"{subject} was measured with several options: name them, as in {_example(rows)}")
        rows = kept
    by_size: dict[int, list[Row]] = {}
    for row in rows:
        by_size.setdefault(row.d_state, []).append(row)
    return list(by_size.values())


def fits(row: Row, subject: Subject) -> bool:
    """Whether a row is of the layer, and has the options that are named."""
    return row.layer == subject.layer and _has(row, dict(subject.options))


def _has(row: Row, options: Mapping[str, Any]) -> bool:
    """Whether a row has these options, whose names are in lower case; one that it does not know counts as had."""
    own = {name.lower(): value for name, value in row.options.items()}
    return all(own.get(name, value) == value for name, value in options.items())


def _example(rows: Sequence[Row]) -> str:
    own = usual_options(rows[0])
    unusual = [(name, value) for name, value in rows[0].options.items() if own.get(name) != value]
    return str(Subject(rows[0].layer, tuple(unusual)))
