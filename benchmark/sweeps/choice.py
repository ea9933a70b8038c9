"""Cells that show whether ``auto`` chooses well: every algorithm of a layer beside it."""

from collections.abc import Iterable
from typing import Any

from benchmark.spec import LAYERS, UserError
from benchmark.spec.algorithms import algorithms_of
from benchmark.spec.costs import DIRECTIONS
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.config import Sweep
from benchmark.sweeps.grid import words
from benchmark.sweeps.limits import STATES, H
from benchmark.sweeps.plan import each, layer_names, sweep_cells
from benchmark.tasks import TASKS
from benchmark.tasks import task as task_named
from benchmark.training.recipes import course


def choice_cells(sweep: Sweep) -> list[Cell]:
    """Every algorithm of every layer over a sweep's axes, ``auto`` among them; steps have none and are left out.

    Raises:
        UserError: for the first value that cannot be served.
    """
    directions = [name for name in each("direction", sweep.direction, DIRECTIONS) if name != "step"]
    if not directions:
        raise UserError("direction step has no algorithm to choose; take forward or forward+backward")
    cells = []
    for layer in layer_names(sweep.layer):
        known = algorithms_of(LAYERS[layer](d_model=H, d_state=STATES[layer]))
        changes = {"layer": [layer], "algorithm": ["auto", *known], "direction": directions}
        cells += sweep_cells(sweep.model_copy(update=changes), ["speed"])
    return cells


def task_cells(sweep: Sweep, tasks: Iterable[str]) -> list[Cell]:
    """The same at the sizes in which the small preset trains tasks, once for tasks whose layers are alike.

    Args:
        sweep: its layers, frameworks, directions and effort.
        tasks: their names, or all.

    Raises:
        UserError: for the first value that cannot be served.
    """
    names = list(TASKS) if "all" in (asked := words(tasks)) else asked
    cells = [
        cell
        for task in names
        for layer in layer_names(sweep.layer)
        for cell in choice_cells(sweep.model_copy(update=_sizes(task, layer)))
    ]
    return list({cell.id: cell for cell in cells}.values())


def _sizes(task: str, layer: str) -> dict[str, Any]:
    """The axes of a sweep that has one layer as a task trains it."""
    found = course(task, layer)
    made = task_named(task, found.task_options)
    return {
        "layer": [layer],
        "seq_len": [str(made.seq_len)],
        "batch": [str(found.recipe.batch * made.documents)],
        **{name: [str(value)] for name, value in found.sizes.items()},
        "settings": [f"{layer}.{name}={value}" for name, value in found.options.items()],
    }
