"""How a training was made, as far as that decides what it may be compared with."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

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
    found = [preset] if preset else [f"own recipe: {_differing(row, recipe)}"]
    return "; ".join(found + [f"task.{name}={value}" for name, value in recipe.task_options.items()])


def _differing(row: Row, recipe: Recipe) -> str:
    """The values of a recipe that are not those of preset small; all that are not usual where there is none."""
    base = _course(row.task or "", row.layer, "small")
    usual = (base[0].model_dump() | base[1]) if base else {}
    values = recipe.model_dump(exclude={"data", "task_options", "shuffled"}) | {
        "d_model": row.d_model,
        "d_state": row.d_state,
    }
    return ", ".join(f"{name}={value}" for name, value in values.items() if value != usual.get(name))


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
