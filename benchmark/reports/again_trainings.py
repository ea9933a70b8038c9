"""The commands that train rows again."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.reports.again_words import alike, flag, line, listed, place, recipe_flags, settings, unlike
from benchmark.reports.recipes import preset_of, usual_options
from benchmark.spec.errors import UserError
from benchmark.store.row import Row
from benchmark.training.recipes import Course, course

NOT_FLAGS = {"data", "task_options"}
"""Of a recipe, what is given by other words."""


def training_commands(rows: Sequence[Row]) -> list[str]:
    """``train``: rows of several layers and seeds in one command where recipe, sizes and options allow."""

    def key(row: Row) -> Any:
        how = row.algorithm, row.precision, place(row), _course_words(row)
        return row.task, row.framework, how, recipe_words(row), option_words(row)

    return [_train(part) for part in alike(rows, key)]


def _train(rows: Sequence[Row]) -> str:
    first = rows[0]
    words = ["train", first.task or "", *flag("layer", (row.layer for row in rows)), *listed("framework", rows)]
    words += [*recipe_words(first), *settings(task_words(first))]
    words += [*flag("seeds", sorted({row.seed for row in rows})), *listed("algorithm", rows, "auto")]
    words += [*listed("precision", rows, "fp32"), *_course_words(first)]
    return line(words, place(first), settings(option_words(first)))


def _course_words(row: Row) -> list[str]:
    """What keeps the course of a training, where it was kept."""
    return ["--snapshots"] if row.detail.get("snapshots") else []


def recipe_words(row: Row) -> list[str]:
    """The preset, the kind of data, and what of recipe and sizes is not the preset's."""
    if row.recipe is None:
        return []
    base = base_of(row)
    usual = base.recipe.model_dump() | base.sizes if base else {}
    return ["--preset", _preset(row), "--data", row.recipe.data, *recipe_flags(differing(row, usual))]


def differing(row: Row, usual: Mapping[str, Any]) -> dict[str, Any]:
    """Values of recipe and sizes that are not the usual ones; what has no value cannot be given."""
    own = row.recipe.model_dump(exclude=NOT_FLAGS) if row.recipe else {}
    own |= {"d_model": row.d_model, "d_state": row.d_state}
    return {name: value for name, value in own.items() if value is not None and value != usual.get(name)}


def task_words(row: Row) -> list[str]:
    """The options of the task that are not its own, as they are given to ``--set``."""
    return [f"task.{name}={value}" for name, value in row.recipe.task_options.items()] if row.recipe else []


def option_words(row: Row) -> list[str]:
    """The options that are neither the layer's own nor those of the preset that the command names."""
    return unlike(row, usual_options(row))


def base_of(row: Row, preset: str | None = None) -> Course | None:
    """What the preset that the command names says; None where it does not know the task."""
    try:
        return course(row.task or "", row.layer, preset or _preset(row))
    except UserError:
        return None


def _preset(row: Row) -> str:
    return preset_of(row) or "small"
