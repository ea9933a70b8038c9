"""From a task and a preset to training cells."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from benchmark.data import cache
from benchmark.data.files import Say, silent
from benchmark.spec import LAYERS, UserError
from benchmark.spec.algorithms import algorithms_of, check_algorithm
from benchmark.spec.devices import PRECISIONS, parse_device
from benchmark.sweeps.cell import Cell, Value, layer_spec
from benchmark.sweeps.grid import options, product
from benchmark.sweeps.grid import seeds as seeds_of
from benchmark.sweeps.plan import check_seed, check_threads, each, framework_names, layer_names
from benchmark.tasks import TASKS, Task
from benchmark.tasks import task as task_named
from benchmark.tasks.base import Tell, quiet
from benchmark.training.recipes import Course, course

MOST_WORKERS = 256


def train_cells(
    task: str,
    *,
    layers: Iterable[str],
    frameworks: Iterable[str],
    seeds: Iterable[str],
    device: str,
    threads: int,
    algorithm: str,
    precision: Iterable[str],
    settings: Iterable[str],
    preset: str,
    data: str,
    data_dir: Path,
    overrides: Mapping[str, Any],
    tell: Tell = quiet,
    say: Say = silent,
) -> list[Cell]:
    """The training cells of every layer, framework and seed.

    Args:
        task: its name.
        layers: names, or all.
        frameworks: names, or all.
        seeds: numbers, or ranges such as 0:5 for the first five.
        device: where to train.
        threads: of a process, 0 for all.
        algorithm: of the recurrence.
        precision: of float32 matrix products.
        settings: words such as heads=16, s5.blocks=4 or task.max_length=512.
        preset: small or paper.
        data: auto, real, generated or stand-in.
        data_dir: where data sets are.
        overrides: values of the recipe, d_model and d_state; None for the preset's.
        tell: told of progress, where data must be unpacked.
        say: told what is unpacked, and why data that are here in part are not taken.

    Raises:
        UserError: for the first value that cannot be served.
    """
    names, known = layer_names(layers), task_named(task).option_names()
    parse_device(device)
    listed = {name: LAYERS[name].option_names() for name in names} | {"task": known}
    chosen = options([*names, "task"], listed, settings)
    shared = {"metric": "train", "device": device, "threads": check_threads(threads), "algorithm": algorithm}
    axes = product(
        framework=framework_names(frameworks),
        layer=names,
        seed=[check_seed(seed) for seed in seeds_of(seeds)],
        precision=each("precision", precision, PRECISIONS),
    )
    courses = {name: course(task, name, preset, overrides) for name in names}
    made = {name: task_named(task, courses[name].task_options | chosen["task"]) for name in names}
    kinds = {found: cache.choose(found, data, data_dir, tell, say) for found in dict.fromkeys(made.values())}
    return [
        _cell(courses[v["layer"]], made[v["layer"]], kinds[made[v["layer"]]], chosen[v["layer"]], shared | v)
        for v in axes
    ]


def _cell(found: Course, task: Task, kind: str, chosen: dict[str, Value], values: dict[str, Any]) -> Cell:
    """One cell, checked: the layer takes its sizes, options and algorithm."""
    spec = layer_spec(values["layer"], found.sizes["d_model"], found.sizes["d_state"], found.options | chosen)
    check_algorithm(values["algorithm"], algorithms_of(spec), spec.name)
    recipe = found.recipe.model_copy(update={"data": kind, "task_options": unusual(task)})
    values = values | found.sizes
    return Cell(**values, options=spec.options, batch=recipe.batch, task=task.name, recipe=recipe)


def unusual(task: Task) -> dict[str, Value]:
    """The options of a task that differ from its defaults: so a later option changes no cell's id."""
    defaults = {field.name: field.default for field in fields(TASKS[task.name])}
    return {name: value for name, value in task.options.items() if value != defaults[name]}


def prepare_data(cells: Iterable[Cell], data_dir: Path, tell: Any, say: Any) -> None:
    """Make and check what the cells are trained on, so that their processes find it ready.

    Raises:
        MissingDataError: if data is missing.
        UserError: for a file that is not what it should be, or a batch larger than the data.
    """
    seen = set()
    for cell in cells:
        assert cell.recipe is not None
        key = (cell.task, cell.recipe.data, str(cell.recipe.task_options), cell.batch)
        if key in seen:
            continue
        seen.add(key)
        if cell.recipe.data == "stand-in":
            say(f"STAND-IN: {cell.task} runs on invented data, not on its own; --data real insists on its own")
        splits = cache.load(
            task_named(cell.task or "", cell.recipe.task_options), cell.recipe.data, data_dir, tell, say
        )
        for name, part in zip(("validation", "test"), splits[1:3], strict=True):
            if not len(part.labels):
                raise UserError(f"the {name} set of {cell.task} is empty; see `rotbench data check`")
        if cell.batch > (examples := len(splits.train.labels)):
            raise UserError(f"batch must not exceed the {examples} training examples of {cell.task}, got {cell.batch}")


def check_setting(workers: int, save_s: float) -> None:
    """Raise UserError for what no training can be run with."""
    if not 0 <= workers <= MOST_WORKERS:
        raise UserError(f"--workers must lie between 0 and {MOST_WORKERS}, got {workers}")
    if not (math.isfinite(save_s) and save_s >= 0):
        raise UserError(f"--save-s must be a number of seconds from 0, got {save_s}")
