"""How a task is trained: by preset, with any value replaced."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from pydantic import ValidationError

from benchmark.spec import LAYERS
from benchmark.spec.base import LARGEST
from benchmark.spec.errors import UserError, short, unknown
from benchmark.sweeps.recipe import Recipe
from benchmark.training.published import recipe_values

PRESETS = ("small", "paper")

Values = dict[str, Any]


class Course(NamedTuple):
    """A recipe with the sizes and options of the layer, and the options of the task, that go with it."""

    recipe: Recipe
    sizes: dict[str, int]
    options: Values
    task_options: Values


COUNTS = ("epochs", "batch", "depth", "steps", "eval_steps")
RANGES = (
    ("lr", 1e-12, 1e4),
    ("recurrence_lr", 1e-12, 1e4),
    ("weight_decay", 0.0, 1e3),
    ("dropout", 0.0, 1.0),
    ("warmup", 0.0, 1.0),
    ("norm_momentum", 0.0, 1.0),
    ("clip_norm", 0.0, 1e6),
    ("ema", 0.0, 1.0),
)


def course(task: str, layer: str, preset: str = "small", overrides: Mapping[str, Any] | None = None) -> Course:
    """How a layer is trained on a task.

    Args:
        task: its name.
        layer: its name.
        preset: small, or paper for the published recipe.
        overrides: values of the recipe, d_model or d_state that replace the preset's; None replaces nothing.

    Raises:
        UserError: for a preset that does not know the task or layer, or a value out of range.
    """
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    values = _preset(task, layer, preset) | given
    if "epochs" in given and "steps" not in given:
        values.pop("steps", None)  # the preset's, which would win
    task_options = values.pop("task", {})
    sizes = {name: values.pop(name) for name in ("d_model", "d_state")}
    known = LAYERS[layer].option_names()
    options = {name: values.pop(name) for name in list(values) if name in known}
    return Course(_checked(values), sizes, options, task_options)


def _preset(task: str, layer: str, preset: str) -> Values:
    """All values of a preset in one dict; those of the task's options under ``task``."""
    match preset:
        case "small":
            tables = small()
            if task not in tables:
                raise unknown("task of preset small", task, [name for name in tables if name != "default"])
            found: Values = {}
            for table in (tables["default"], tables[task]):
                found |= {name: value for name, value in table.items() if name not in LAYERS}
            return found | tables["default"].get(layer, {}) | tables[task].get(layer, {})
        case "paper":
            return recipe_values(task, layer)
    raise unknown("preset", preset, PRESETS)


@cache
def small() -> dict[str, Values]:
    """The tables of small.toml by task, and ``default``."""
    return tomllib.loads(resources.files("benchmark.training").joinpath("small.toml").read_text())


def _checked(values: Values) -> Recipe:
    for name in COUNTS:
        if values.get(name) is not None and not 1 <= values[name] <= LARGEST:
            raise UserError(f"{name} must be a positive integer up to {LARGEST:,}, got {short(values[name])}")
    for name, low, high in RANGES:
        if name in values and not low <= values[name] < high:
            raise UserError(f"{name} must lie in [{low:g}, {high:g}), got {short(values[name])}")
    try:
        return Recipe(**values)
    except ValidationError as error:
        found = error.errors()[0]
        raise UserError(f"{found['loc'][0]} of a recipe: {found['msg'].lower()}, got {found['input']!r}") from None
