"""From a training cell to what it is made of: recipe, task, model, data and trainer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmark import backends
from benchmark.data import cache
from benchmark.data.folder import data_dir
from benchmark.spec import UserError
from benchmark.spec.model import ModelSpec
from benchmark.spec.optimiser import Optimiser
from benchmark.sweeps.cell import Cell, Recipe
from benchmark.tasks import Split, Splits, Task, task
from benchmark.tasks.base import Affine, Target


class Setting(NamedTuple):
    """Where a training finds its data and keeps what belongs to it.

    ``snapshots``: whether the weights after each validation are kept too. ``deviations``: what of the
    published recipe that it follows is unknown or done otherwise.
    """

    folder: Path
    data_dir: Path
    workers: int = 0
    save_s: float = 60.0
    snapshots: bool = False
    deviations: tuple[str, ...] = ()

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> "Setting":
        """From the message to a worker."""
        given, cell = payload["training"], payload["cell"]
        named = given.get("data_dir")
        folder, data = Path(given["folder"]), data_dir(Path(named) if named else None)
        deviations = given.get("deviations", {}).get(cell["task"], {}).get(cell["layer"], ())
        how = {name: given[name] for name in ("workers", "save_s", "snapshots") if name in given}
        return cls(folder, data, **how, deviations=tuple(deviations))


def recipe_of(cell: Cell) -> Recipe:
    """How the cell is trained. Raises UserError for a cell that is no training."""
    if cell.recipe is None or cell.task is None:
        raise UserError("a training cell needs a task and a recipe")
    return cell.recipe


def task_of(cell: Cell) -> Task:
    """What the cell is trained on."""
    return task(cell.task or "", recipe_of(cell).task_options)


def model_of(cell: Cell) -> ModelSpec:
    """The model that a training cell trains."""
    data = task_of(cell)
    return model_around(cell, data.inputs, data.outputs, data.encoder == "tokens", data.documents, data.target)


def model_around(
    cell: Cell, inputs: int, outputs: int, tokens: bool, documents: int, target: Target = "class"
) -> ModelSpec:
    """The model of the cell's layer and recipe for inputs and outputs of some size."""
    recipe = recipe_of(cell)
    return ModelSpec(
        layer=cell.spec,
        depth=recipe.depth,
        inputs=inputs,
        outputs=outputs,
        encoder="tokens" if tokens else "linear",
        norm=recipe.norm,
        prenorm=recipe.prenorm,
        norm_momentum=recipe.norm_momentum,
        activation=recipe.activation,
        dropout=recipe.dropout,
        pooling=recipe.pooling,
        head="retrieval" if documents == 2 else "classifier",
        target=target,
        compute=recipe.compute,
        attention=recipe.attention,  # type: ignore[arg-type]  # both check the range
    )


def splits_of(cell: Cell, folder: Path) -> Splits:
    """The data of a cell, in training order or with the labels of the training set shuffled."""
    recipe = recipe_of(cell)
    splits = cache.load(task_of(cell), recipe.data, folder)
    if not recipe.shuffled:
        return splits
    labels = np.random.default_rng(cell.seed).permutation(np.asarray(splits.train.labels))
    return splits._replace(train=splits.train._replace(labels=labels))


def training_set(cell: Cell, folder: Path) -> tuple[Split, Affine | None]:
    """What a data worker reads from."""
    splits = splits_of(cell, folder)
    return splits.train, splits.affine


def trainer_of(cell: Cell, model: ModelSpec) -> Any:
    """The framework's trainer with the cell's initial values, its device set up."""
    recipe, device = recipe_of(cell), backends.device(cell.framework)
    device.resolve(cell.device)
    device.set_threads(cell.threads)
    device.set_precision(cell.precision, cell.device)
    params, stats = model.init(cell.seed)
    optimiser = Optimiser(
        weight_decay=recipe.weight_decay, clip_norm=recipe.clip_norm, ema=recipe.ema, groups=recipe.groups
    )
    options = {"device": cell.device, "algorithm": cell.algorithm, "seed": cell.seed}
    return backends.train(cell.framework).Trainer(model, params, stats, optimiser, **options)


def allocated(cell: Cell) -> dict[str, Any]:
    """What the framework's allocator says of memory."""
    found = backends.device(cell.framework).memory(cell.device)
    return {name: value for name, value in found.items() if name.endswith("_bytes")}
