"""The training of one cell, in its worker."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from benchmark import backends
from benchmark.spec import UserError
from benchmark.spec.model import ModelSpec
from benchmark.spec.optimiser import Optimiser
from benchmark.sweeps.cell import Cell, Recipe
from benchmark.sweeps.jobs import peak_rss_bytes
from benchmark.tasks import task
from benchmark.training.loop import fit

Emit = Callable[..., None]


def model_spec(cell: Cell) -> tuple[ModelSpec, Recipe]:
    """The model that a training cell trains, and how."""
    if cell.recipe is None or cell.task is None:
        raise UserError("a training cell needs a task and a recipe")
    data = task(cell.task)
    model = ModelSpec(
        layer=cell.spec,
        depth=cell.recipe.depth,
        inputs=data.inputs,
        outputs=data.outputs,
        encoder=data.encoder,
        norm=cell.recipe.norm,
        activation=cell.recipe.activation,
        dropout=cell.recipe.dropout,
    )
    return model, cell.recipe


def train(payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """Train one cell and return the columns of its row; one progress event an epoch."""
    cell = Cell.model_validate(payload["cell"])
    model, recipe = model_spec(cell)
    device = backends.device(cell.framework)
    device.resolve(cell.device)
    device.set_threads(cell.threads)
    params, stats = model.init(cell.seed)
    trainer = backends.train(cell.framework).Trainer(
        model,
        params,
        stats,
        Optimiser(weight_decay=recipe.weight_decay),
        device=cell.device,
        algorithm=cell.algorithm,
        seed=cell.seed,
    )

    def report(epoch: int, loss: float, validation: float) -> None:
        emit(event="progress", epoch=epoch, epochs=recipe.epochs, loss=loss, validation_accuracy=validation)

    history = fit(trainer, task(cell.task or "").load(), recipe, cell.seed, report)
    return {
        "algorithm": backends.layers(cell.framework).resolve_algorithm(model.layer, cell.algorithm, cell.device),
        "param_count": model.param_count,
        "test_accuracy": history.test_accuracy,
        "validation_accuracy": history.validation_accuracy,
        "train_wall_s": history.epoch_end_s[-1],
        "device_hours": history.epoch_end_s[-1] / 3600,
        "peak_rss_bytes": peak_rss_bytes(),
        "history": asdict(history),
        "notes": {"device_name": device.describe(cell.device), "devices": 1},
    }
