"""Published training recipes by task and layer: for trainings at the level of the papers, and projections.

The values are in published.toml, each beside its source; here they are read and checked.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from benchmark.spec.errors import UserError, short, unknown


@dataclass(frozen=True)
class TaskSize:
    """What a task looks like to a model."""

    seq_len: int
    inputs: int
    outputs: int
    tokens: bool
    examples: int
    documents: int = 1
    """Sequences in one example: two for retrieval."""


TASKS: dict[str, TaskSize] = {
    "lra-listops": TaskSize(2048, 18, 10, True, 96_000),
    "lra-text": TaskSize(4096, 135, 2, True, 25_000),
    "lra-retrieval": TaskSize(4000, 98, 2, True, 147_086, documents=2),
    "lra-image": TaskSize(1024, 1, 10, False, 45_000),
    "cifar": TaskSize(1024, 3, 10, False, 45_000),
    "lra-pathfinder": TaskSize(1024, 1, 2, False, 160_000),
    "lra-pathx": TaskSize(16384, 1, 2, False, 160_000),
    "speech-commands": TaskSize(16000, 1, 35, False, 84_843),
}


class Published(BaseModel):
    """One recipe, in the words of ``benchmark.sweeps.recipe.Recipe``.

    Either ``steps`` or ``epochs`` is given, as the source does. ``warmup`` is a share of all steps.
    ``options`` are the layer's. ``deviations`` say what of the published training is unknown, chosen,
    or done in another way.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: int = Field(gt=0)
    d_model: int = Field(gt=0)
    d_state: int = Field(gt=0)
    batch: int = Field(gt=0)
    steps: int | None = Field(None, gt=0)
    epochs: int | None = Field(None, gt=0)
    lr: float = Field(gt=0, lt=1)
    recurrence_lr: float = Field(gt=0, lt=1)
    weight_decay: float = Field(ge=0, lt=1)
    dropout: float = Field(ge=0, lt=1)
    warmup: float = Field(ge=0, lt=1)
    norm: Literal["batch", "layer"]
    prenorm: bool
    norm_momentum: float = Field(ge=0, lt=1)
    activation: Literal["gelu", "half_glu1", "half_glu2", "full_glu"]
    pooling: Literal["mean", "last"]
    groups: Literal["standard", "BandCdecay", "BfastandCdecay", "noBCdecay"]
    bidirectional: bool
    options: dict[str, bool | int | float | str]
    source: str = Field(min_length=1)
    deviations: tuple[str, ...]

    @model_validator(mode="after")
    def _has_one_length(self) -> "Published":
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("either steps or epochs must be given")
        return self

    def steps_on(self, task: str) -> int:
        """Optimiser steps of the whole training; an incomplete last batch is dropped."""
        return self.steps if self.steps is not None else (self.epochs or 0) * self._steps_an_epoch(task)

    def epochs_on(self, task: str) -> int:
        """Passes over the training set, of which the last may be incomplete."""
        return self.epochs if self.epochs is not None else math.ceil((self.steps or 0) / self._steps_an_epoch(task))

    def _steps_an_epoch(self, task: str) -> int:
        return TASKS[task].examples // self.batch

    @property
    def layer_options(self) -> dict[str, Any]:
        """Options of the layer's spec."""
        return self.options | {"bidirectional": self.bidirectional}


Tables = Mapping[str, Mapping[str, Any]]


def read(text: str) -> dict[str, dict[str, Published]]:
    """Recipes by task and layer from the text of published.toml.

    Raises:
        UserError: naming task, layer and field, for a value that is missing, unknown or out of range.
    """
    tables = tomllib.loads(text)
    for task in tables["recipes"]:
        if task not in TASKS:
            raise unknown("published task", task, TASKS)
    return {
        task: {layer: _checked(task, layer, _merged(tables, task, layer)) for layer in tables["recipes"][task]}
        for task in TASKS
        if task in tables["recipes"]
    }


def _merged(tables: Tables, task: str, layer: str) -> dict[str, Any]:
    """A recipe with what it takes from the recipe that it is like, else from its layer."""
    if layer not in tables["layer"]:
        raise unknown(f"layer of a recipe on {task}", layer, tables["layer"])
    if layer not in tables["recipes"].get(task, {}):
        raise UserError(f"like must name a task on which {layer} has a recipe, got {task!r}")
    own = dict(tables["recipes"][task][layer])
    base = _merged(tables, own.pop("like"), layer) if "like" in own else tables["layer"][layer]
    options = {**base.get("options", {}), **own.get("options", {})}
    deviations = [*base.get("deviations", []), *own.get("deviations", [])]
    return {**base, **own, "options": options, "deviations": tuple(deviations)}


def _checked(task: str, layer: str, values: dict[str, Any]) -> Published:
    try:
        return Published(**values)
    except ValidationError as error:
        found = error.errors()[0]
        field = ".".join(map(str, found["loc"])) or "recipe"
        raise UserError(
            f"published recipe of {layer} on {task}: {field}: {found['msg']}, got {short(found['input'])}"
        ) from None


_TEXT = resources.files("benchmark.training").joinpath("published.toml").read_text(encoding="utf-8")
RECIPES: dict[str, dict[str, Published]] = read(_TEXT)
TASK_OPTIONS: dict[str, dict[str, Any]] = tomllib.loads(_TEXT)["task"]
"""Options of a task that the published trainings take, where they are not its defaults."""


def published(task: str) -> dict[str, Published]:
    """The recipes of a task by layer. Raises UserError, naming the known ones, if there are none."""
    if task not in RECIPES:
        raise unknown("published task", task, RECIPES)
    return RECIPES[task]


def deviations(preset: str, task: str, layer: str) -> tuple[str, ...]:
    """What of a published training is unknown, chosen or done otherwise by a preset; only paper has any to tell."""
    return published(task)[layer].deviations if preset == "paper" else ()


def told(task: str, layer: str) -> list[str]:
    """Two lines on a published recipe, for who trains by it: its source, and its deviations."""
    found = published(task)[layer]
    return [
        f"{layer} on {task}: recipe from the {found.source}",
        f"{layer} on {task}, unknown or done otherwise here: {'; '.join(found.deviations)}",
    ]


def recipe_values(task: str, layer: str) -> dict[str, Any]:
    """A published recipe as plain values in one dict.

    Args:
        task: its name.
        layer: its name.

    Returns:
        The fields of ``benchmark.sweeps.recipe.Recipe`` that a recipe sets, d_model, d_state, the
        layer's options by their names and, under ``task``, options of the task. ``steps`` only
        where the source counts in steps; ``epochs`` always.

    Raises:
        UserError: naming the known ones, for a task or layer without a recipe.
    """
    recipes = published(task)
    if layer not in recipes:
        raise unknown(f"layer with a published recipe on {task}", layer, recipes)
    found = recipes[layer]
    values = found.model_dump(exclude={"source", "deviations", "options", "bidirectional"}, exclude_none=True)
    values |= {"epochs": found.epochs_on(task), **found.layer_options}
    return values | ({"task": dict(TASK_OPTIONS[task])} if task in TASK_OPTIONS else {})
