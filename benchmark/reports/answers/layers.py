"""Contrasts between layers: times of calls, and scores of trainings over the same seeds."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

from benchmark.metrics.inference import MINIMUM_EFFECT
from benchmark.reports.answers.contrasts import Contrast, Unit
from benchmark.reports.answers.places import place
from benchmark.reports.evidence import Pair, Subject, groups, pairs, size_words
from benchmark.reports.measures import Scale, measured
from benchmark.reports.recipes import own_recipe
from benchmark.spec import LAYERS
from benchmark.spec.errors import UserError
from benchmark.store.row import Row

UNITS: dict[Scale, Unit] = {"ratio": "ratio", "points": "points", "error": "mse"}


def timed(rows: Iterable[Row]) -> list[Row]:
    """Rows with a time of a layer: of algorithm ``auto`` where a group of settings has it, else of any."""
    found = [row for row in rows if row.metric == "speed" and row.status == "ok" and row.subject == "layer"]
    found = [row for row in found if row.median_ms and math.isfinite(row.median_ms)]
    return [row for row in found if row.algorithm == "auto"] or found


def trained(rows: Iterable[Row]) -> list[Row]:
    """Rows of trainings that ended well, but for controls on shuffled labels."""
    found = (row for row in rows if row.metric == "train" and row.status == "ok")
    return [row for row in found if row.recipe is not None and not row.recipe.shuffled]


def time_contrasts(rows: Sequence[Row]) -> list[Contrast]:
    """Every two layers in every setting in which both were timed."""
    return _contrasts(timed(rows), "time")


def score_contrasts(rows: Sequence[Row]) -> list[Contrast]:
    """Every two layers in every setting in which both were trained from the same seeds."""
    return _contrasts([row for row in trained(rows) if not attention_of(row)], "score")


@dataclass(frozen=True)
class Results:
    """All rows, the last of each cell, and the contrasts between layers, which several questions look at."""

    rows: Sequence[Row]

    @cached_property
    def times(self) -> list[Contrast]:
        """Of every two layers in every setting in which both were timed."""
        return time_contrasts(self.rows)

    @cached_property
    def scores(self) -> list[Contrast]:
        """Of every two layers in every setting in which both were trained from the same seeds."""
        return score_contrasts(self.rows)


def attention_of(row: Row) -> int:
    """Blocks of attention in the model of a training."""
    return row.recipe.attention if row.recipe else 0


def contrast(
    pair: Pair, family: Literal["time", "score"], ours: str, theirs: str, more: Sequence[str] = ()
) -> Contrast | None:
    """A pair as a contrast; None where it has no values.

    Args:
        pair: the rows of both sides.
        family: what is compared.
        ours: the name of the first.
        theirs: of the second.
        more: words that belong to the place.
    """
    found = measured(pair, family)
    if isinstance(found, str) or not math.isfinite(found.estimate.value):
        return None
    return Contrast(
        family=family,
        unit=UNITS[found.scale],
        ours=ours,
        theirs=theirs,
        place=(*place(pair.setting, own_recipe(pair.theirs[0])), *more),
        estimate=found.estimate,
        margin=math.log1p(MINIMUM_EFFECT) if family == "time" else 0.0,
        figures=_unnamed(found.figures, pair),
        size=found.size,
        basis=f"{found.estimate.test}, {pair.how}",
        our_rows=tuple(pair.ours),
        their_rows=tuple(pair.theirs),
        setting=pair.setting,
    )


def _unnamed(figures: str, pair: Pair) -> str:
    """The figures alone, in the order of the sides, where these are variants of one layer."""
    if pair.ours[0].layer != pair.theirs[0].layer:
        return figures
    layer = pair.ours[0].layer
    return " against ".join(part.removeprefix(f"{layer} ") for part in figures.split(", "))


def _contrasts(rows: Sequence[Row], family: Literal["time", "score"]) -> list[Contrast]:
    found = []
    for group in groups(rows):
        names = [name for name in LAYERS if any(row.layer == name for row in group.rows)]
        for ours, theirs in combinations(names, 2):
            for pair in _pairs(group, ours, theirs):
                found.append(contrast(pair, family, ours, theirs, size_words(pair)))
    return [entry for entry in found if entry is not None]


def _pairs(group: Any, ours: str, theirs: str) -> Iterator[Pair]:
    """None where a layer was measured in variants only, none of which is its own."""
    try:
        yield from pairs(group, Subject(ours), Subject(theirs))
    except UserError:
        return
