"""How a training was made, as far as that decides what it may be compared with."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cache
from typing import Any

from benchmark.spec import LAYERS
from benchmark.spec.errors import UserError
from benchmark.store.row import Row
from benchmark.sweeps.recipe import Recipe
from benchmark.training.recipes import PRESETS, course


def trained_as(row: Row) -> dict[str, Any]:
    """Data and recipe. A preset gives each layer a recipe and sizes of its own; of others all must be equal."""
    recipe = row.recipe
    if recipe is None:
        return {}
    data = {"data": recipe.data, "task options": words(recipe.task_options), "shuffled": recipe.shuffled}
    if (preset := preset_of(row)) is not None:
        return data | {"recipe": f"preset {preset}"}
    values = recipe.model_dump(exclude={"data", "task_options", "shuffled"}, exclude_defaults=True)
    return data | {"recipe": words(values), "d_model": row.d_model}


def made_by(row: Row) -> str:
    """The preset, or what differs from the small one, and the unusual options of the task, in words."""
    recipe = row.recipe
    if recipe is None:
        return ""
    preset = preset_of(row)
    own = ", ".join(f"{name}={value}" for name, value in differing(row).items())
    return (preset or f"own recipe: {own}") + task_words(row)


def task_words(row: Row) -> str:
    """The unusual options of a training's task, each after a semicolon."""
    options = row.recipe.task_options if row.recipe else {}
    return "".join(f"; task.{name}={value}" for name, value in options.items())


def own_recipe(row: Row) -> str:
    """What is told of a recipe that no preset has, where sizes of states are told beside it."""
    told = {name: value for name, value in differing(row).items() if name != "d_state" and value is not None}
    return ", ".join(f"{name}={value}" for name, value in told.items())


def differing(row: Row) -> dict[str, Any]:
    """The values of recipe and sizes that are not those of preset small; all where it does not know the task."""
    if row.recipe is None:
        return {}
    base = _course(row.task or "", row.layer, "small")
    usual = (base[0].model_dump() | base[1]) if base else {}
    values = row.recipe.model_dump(exclude={"data", "task_options", "shuffled"})
    values |= {"d_model": row.d_model, "d_state": row.d_state}
    return {name: value for name, value in values.items() if value != usual.get(name)}


def preset_of(row: Row) -> str | None:
    """The preset whose recipe and sizes a training has, if it is one."""
    if row.recipe is None or row.task is None:
        return None
    told = {"data": "real", "task_options": {}, "shuffled": False}
    for preset in PRESETS:
        if (found := _course(row.task, row.layer, preset)) is not None:
            recipe, sizes = found
            if (
                row.recipe.model_copy(update=told) == recipe
                and {"d_model": row.d_model, "d_state": row.d_state} == sizes
            ):
                return preset
    return None


def usual_options(row: Row) -> dict[str, Any]:
    """The layer's own options; of a training those of its preset, of one with its own recipe those of small."""
    own = {field.name: field.default for field in fields(LAYERS[row.layer])} if row.layer in LAYERS else {}
    if row.recipe is None:
        return own
    with suppress(UserError):
        own |= course(row.task or "", row.layer, preset_of(row) or "small").options
    return own


@cache
def _course(task: str, layer: str, preset: str) -> tuple[Recipe, dict[str, int]] | None:
    try:
        found = course(task, layer, preset)
    except UserError:
        return None
    return found.recipe, found.sizes


def words(values: Any) -> str:
    """Equal text for equal values."""
    return json.dumps(values, sort_keys=True, default=str) if isinstance(values, Mapping) else str(values)
