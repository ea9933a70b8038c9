"""From a task and its recipe to training cells."""

from collections.abc import Iterable, Sequence
from typing import Any

from benchmark.spec import UserError
from benchmark.spec.algorithms import algorithms_of, check_algorithm
from benchmark.spec.devices import parse_device
from benchmark.sweeps.cell import Cell, layer_spec
from benchmark.sweeps.grid import product
from benchmark.sweeps.plan import check_seed, check_threads, framework_names, layer_names, layer_options
from benchmark.tasks import task as task_named
from benchmark.training.recipes import LAYER_OPTIONS, SIZES, recipe


def train_cells(
    task: str,
    *,
    layers: Iterable[str],
    frameworks: Iterable[str],
    seeds: Sequence[int],
    device: str,
    threads: int,
    algorithm: str,
    settings: Iterable[str],
    d_model: int | None,
    d_state: int | None,
    overrides: dict[str, Any],
) -> list[Cell]:
    """The training cells of every layer, framework and seed.

    Raises:
        UserError: for the first value that cannot be served.
    """
    task_named(task)
    names = layer_names(layers)
    chosen, defaults = layer_options(names, settings), LAYER_OPTIONS.get(task, {})
    made = recipe(task, **overrides)
    examples = len(task_named(task).load().train.labels)
    if made.batch > examples:
        raise UserError(f"batch must not exceed the {examples} training examples of {task}, got {made.batch}")
    parse_device(device)
    sizes = {
        "d_model": SIZES[task]["d_model"] if d_model is None else d_model,
        "d_state": SIZES[task]["d_state"] if d_state is None else d_state,
    }
    shared = {"metric": "train", "device": device, "threads": check_threads(threads), "algorithm": algorithm}
    cells = []
    for values in product(
        framework=framework_names(frameworks), layer=names, seed=dict.fromkeys(check_seed(s) for s in seeds)
    ):
        name = values["layer"]
        spec = layer_spec(name, sizes["d_model"], sizes["d_state"], defaults.get(name, {}) | chosen[name])
        check_algorithm(algorithm, algorithms_of(spec), spec.name)
        fields: dict[str, Any] = shared | values | sizes
        cells.append(Cell(**fields, options=spec.options, batch=made.batch, task=task, recipe=made))
    return cells
