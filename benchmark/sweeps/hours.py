"""Cells that time one training step of a published recipe."""

import math
from collections.abc import Iterable

from benchmark.spec import UserError
from benchmark.spec.devices import PRECISIONS, parse_device
from benchmark.sweeps.cell import Cell, layer_spec
from benchmark.sweeps.config import Sweep
from benchmark.sweeps.grid import product, words
from benchmark.sweeps.plan import check_seed, check_threads, each, framework_names, layer_names
from benchmark.training.published import RECIPES, TASKS, Published, published
from benchmark.training.recipes import course


def step_cells(sweep: Sweep, tasks: Iterable[str], examples: int = 0) -> list[Cell]:
    """One cell a task, layer and framework, at the published sizes.

    Args:
        sweep: layers, frameworks, precision, device, threads and seed are taken from it.
        tasks: names, or all.
        examples: in a step, 0 for the published batch; a projection then scales the time to that.

    Raises:
        UserError: for the first value that cannot be served.
    """
    if examples < 0:
        raise UserError(f"examples must not be negative, got {examples}")
    parse_device(sweep.device)
    named = list(RECIPES) if "all" in words(tasks) else words(tasks)
    axes = product(
        task=[name for name in named if published(name)],
        layer=layer_names(sweep.layer),
        framework=framework_names(sweep.framework),
        precision=each("precision", sweep.precision, PRECISIONS),
    )
    shared = {"device": sweep.device, "threads": check_threads(sweep.threads), "seed": check_seed(sweep.seed)}
    cells = [
        _cell(published(values["task"])[values["layer"]], examples, shared | values)
        for values in axes
        if values["layer"] in published(values["task"])
    ]
    if not cells:
        raise UserError(f"no published recipe fits; tasks: {', '.join(RECIPES)}, or all")
    return cells


def check_price(price: float | None) -> None:
    """Raise UserError for what is no price."""
    if price is not None and not (math.isfinite(price) and price >= 0):
        raise UserError(f"--price must be a number from 0, got {price}")


def _cell(found: Published, examples: int, values: dict[str, object]) -> Cell:
    spec = layer_spec(str(values["layer"]), found.d_model, found.d_state, found.layer_options)
    return Cell(
        metric="train-step",
        d_model=found.d_model,
        d_state=found.d_state,
        options=spec.options,
        seq_len=TASKS[str(values["task"])].seq_len,
        batch=examples or found.batch,
        recipe=course(str(values["task"]), str(values["layer"]), "paper").recipe,
        **values,  # type: ignore[arg-type]
    )
