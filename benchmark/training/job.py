"""The training of one cell, in its worker."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.metrics import memory
from benchmark.metrics.energy import EnergyMeter
from benchmark.metrics.nvml import nvml_of
from benchmark.metrics.timing import Plan, measure
from benchmark.spec import UserError
from benchmark.spec.model import ModelSpec
from benchmark.spec.optimiser import Optimiser
from benchmark.sweeps.cell import Cell, Recipe
from benchmark.tasks import task
from benchmark.training.loop import fit
from benchmark.training.published import TASKS as TASK_SIZES

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
    trainer = _trainer(cell, model, recipe)
    device = backends.device(cell.framework)

    def report(epoch: int, loss: float, validation: float) -> None:
        emit(event="progress", done=epoch, of=recipe.epochs, loss=loss, validation_accuracy=validation)

    with EnergyMeter(nvml_of(cell.device)) as meter:
        history = fit(trainer, task(cell.task or "").load(), recipe, cell.seed, report)
    wall_s = history.epoch_end_s[-1]
    return {
        "algorithm_run": backends.layers(cell.framework).resolve_algorithm(model.layer, cell.algorithm, cell.device),
        "model_param_count": model.param_count,
        "test_accuracy": history.test_accuracy,
        "device_hours": wall_s / 3600,
        "rss_peak_bytes": memory.rss_peak_bytes(),
        "energy_j": meter.result.joules,
        **{name: value for name, value in device.memory(cell.device).items() if name.endswith("_bytes")},
        "detail": {
            "history": asdict(history),
            "device_name": device.describe(cell.device),
            "devices": 1,
            "energy_how": meter.result.how,
        },
    }


def _trainer(cell: Cell, model: ModelSpec, recipe: Recipe) -> Any:
    """The framework's trainer with the cell's initial values, its device set up."""
    device = backends.device(cell.framework)
    device.resolve(cell.device)
    device.set_threads(cell.threads)
    device.set_precision(cell.precision, cell.device)
    params, stats = model.init(cell.seed)
    return backends.train(cell.framework).Trainer(
        model,
        params,
        stats,
        Optimiser(weight_decay=recipe.weight_decay),
        device=cell.device,
        algorithm=cell.algorithm,
        seed=cell.seed,
    )


def train_step(payload: dict[str, Any], emit: Emit) -> dict[str, Any]:  # noqa: ARG001
    """Time one optimiser step of a published recipe on random data of its task's shape."""
    cell = Cell.model_validate(payload["cell"])
    size, recipe = TASK_SIZES[cell.task or ""], cell.recipe
    if recipe is None:
        raise UserError("a training step needs a recipe")
    model = ModelSpec(
        layer=cell.spec,
        depth=recipe.depth,
        inputs=size.inputs,
        outputs=size.outputs,
        encoder="tokens" if size.tokens else "linear",
        norm=recipe.norm,
        activation=recipe.activation,
        dropout=recipe.dropout,
        head="retrieval" if size.documents == 2 else "classifier",
    )
    trainer, device = _trainer(cell, model, recipe), backends.device(cell.framework)
    rng = np.random.default_rng(cell.seed)
    shape = (cell.batch * size.documents, size.seq_len)
    x = rng.integers(0, size.inputs, shape) if size.tokens else rng.standard_normal((*shape, 1), dtype=np.float32)
    labels = rng.integers(0, size.outputs, cell.batch)
    rates = {"recurrence": recipe.recurrence_lr, "regular": recipe.lr}
    plan = Plan(**payload.get("plan", {}), warmup_s=0.0, min_samples=3)
    timing = measure(lambda: trainer.update(x, labels, None, rates), device.synchronise, plan)
    return {
        "algorithm_run": backends.layers(cell.framework).resolve_algorithm(model.layer, cell.algorithm, cell.device),
        "model_param_count": model.param_count,
        "samples_ms": [s * 1e3 for s in timing.samples_s],
        "rss_peak_bytes": memory.rss_peak_bytes(),
        **{name: value for name, value in device.memory(cell.device).items() if name.endswith("_bytes")},
        "detail": {
            "device_name": device.describe(cell.device),
            "devices": 1,
            "warmup_ms": [s * 1e3 for s in (timing.first_run_s, *timing.warmup_s)],
            "inner": 1,
            "stop_reason": timing.stop_reason,
        },
    }
