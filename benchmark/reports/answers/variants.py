"""Contrasts within a layer: one option against another, a model with attention against one without."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.answers.contrasts import Contrast
from benchmark.reports.answers.layers import attention_of, contrast, trained
from benchmark.reports.evidence import Pair, groups, state_words
from benchmark.reports.recipes import words
from benchmark.spec import LAYERS
from benchmark.store.row import Row


class Variant(NamedTuple):
    """One option of a layer at two values, the first against the second."""

    layer: str
    option: str
    ours: str
    theirs: str

    def name(self, value: str) -> str:
        """A side as a sentence names it."""
        return f"{self.layer} with {self.option} {value}"


@cache
def defaults(layer: str) -> dict[str, Any]:
    """The layer's own options."""
    return {field.name: field.default for field in fields(LAYERS[layer])} if layer in LAYERS else {}


def option(row: Row, name: str) -> Any:
    """The value of an option; the layer's own where a row of older code does not know it."""
    return row.options.get(name, defaults(row.layer).get(name))


def named(row: Row, always: Collection[str] = ()) -> str:
    """The layer, with those of its options that are not its own, or that are told always."""
    own = defaults(row.layer)
    options = {name: option(row, name) for name in always if name in own} | row.options
    told = {name: value for name, value in options.items() if name in always or own.get(name, value) != value}
    words_ = ", ".join(f"{name} {value}" for name, value in told.items())
    return f"{row.layer} with {words_}" if words_ else row.layer


def option_contrasts(rows: Iterable[Row], variant: Variant) -> list[Contrast]:
    """Trainings that differ in one option alone, by the same seeds."""
    own = [row for row in trained(rows) if row.layer == variant.layer and not attention_of(row)]
    found = []
    for group in groups(own):
        for members in _by_rest(group.rows, variant.option):
            ours, theirs = (
                [row for row in members if option(row, variant.option) == value]
                for value in (variant.ours, variant.theirs)
            )
            if ours and theirs:
                pair = Pair(group.setting, ours, theirs, "all but one option")
                sides = variant.name(variant.ours), variant.name(variant.theirs)
                found.append(contrast(pair, "score", *sides, (state_words(ours[0]),)))
    return [entry for entry in found if entry is not None]


def _by_rest(rows: Sequence[Row], but: str | None = None) -> list[list[Row]]:
    """Rows of one layer that agree in d_state and in all options, but for one if it is named."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        options = defaults(row.layer) | row.options
        rest = {name: value for name, value in options.items() if name not in {"d_model", "d_state", but}}
        found.setdefault(words({"layer": row.layer, "d_state": row.d_state, "options": rest}), []).append(row)
    return list(found.values())


def attention_contrasts(rows: Iterable[Row]) -> list[Contrast]:
    """Trainings with attention after the layer against those without, equal in all else, by the same seeds."""
    as_trained = {row.cell_id: row for row in trained(rows)}
    found: list[Contrast | None] = []
    for group in groups(map(without_attention, as_trained.values())):
        for members in _by_rest(group.rows):
            found += _against_none([as_trained[row.cell_id] for row in members], group.setting)
    return [entry for entry in found if entry is not None]


def without_attention(row: Row) -> Row:
    """The row as if its model had none, to find its partner by."""
    recipe = row.recipe.model_copy(update={"attention": 0}) if row.recipe else None
    return row.model_copy(update={"recipe": recipe})


def _against_none(rows: Sequence[Row], setting: dict[str, Any]) -> list[Contrast | None]:
    """One contrast a number of blocks, of rows that agree in all else."""
    theirs = [row for row in rows if not attention_of(row)]
    found = []
    for blocks in sorted({attention_of(row) for row in rows} - {0}):
        ours = [row for row in rows if attention_of(row) == blocks]
        if theirs:
            pair, layer = Pair(setting, ours, theirs, "all but attention"), rows[0].layer
            where = (*_blocks(blocks), state_words(ours[0]))
            found.append(contrast(pair, "score", f"{layer} before attention", f"{layer} alone", where))
    return found


def _blocks(count: int) -> tuple[str, ...]:
    return (n.counted(count, "attention block"),)
