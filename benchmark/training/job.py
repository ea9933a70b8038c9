"""The training of one cell, in its worker."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.metrics import memory
from benchmark.metrics.energy import EnergyMeter
from benchmark.metrics.nvml import nvml_of
from benchmark.spec import Unsupported
from benchmark.spec.model import ModelSpec, subset
from benchmark.store import trained
from benchmark.sweeps.cell import Cell, Recipe
from benchmark.tasks import Split, Splits, Task
from benchmark.tasks.base import Extra
from benchmark.training import checkpoint
from benchmark.training.feed import feed_ahead
from benchmark.training.history import History
from benchmark.training.loop import Fit, evaluated, steps_of
from benchmark.training.schedule import factor
from benchmark.training.setup import (
    Setting,
    allocated,
    model_of,
    recipe_of,
    splits_of,
    task_of,
    trainer_of,
    training_set,
)


def train(payload: dict[str, Any], emit: Callable[..., None]) -> dict[str, Any]:
    """Train one cell and return the columns of its row; one progress event a validation."""
    cell, setting = Cell.model_validate(payload["cell"]), Setting.of(payload)
    model, recipe, data = model_of(cell), recipe_of(cell), task_of(cell)
    splits, device = splits_of(cell, setting.data_dir), backends.device(cell.framework)
    trainer, notes = trainer_of(cell, model), list[str]()

    def report(history: History, step: int, total: int) -> None:
        emit(
            event="progress", done=step, of=total, loss=history.epoch_loss[-1], score=history.epoch_validation_score[-1]
        )

    def ahead(order: Iterator[np.ndarray]) -> Iterator[Split]:
        return feed_ahead(partial(training_set, cell, setting.data_dir), order, setting.workers)

    with EnergyMeter(nvml_of(cell.device)) as meter:
        history = Fit(
            trainer,
            splits,
            recipe,
            cell.seed,
            target=data.target,
            feeder=ahead if setting.workers else None,
            path=trained.checkpoint_path(setting.folder, cell.id),
            save_s=setting.save_s,
            energy_j=lambda: meter.so_far().joules,
            on_validation=report,
            on_note=notes.append,
        ).run()
    history.chance = chance(splits.test, data)
    history.extra = {name: on_extra(trainer, model, extra, recipe, data) for name, extra in splits.extra.items()}
    keep(cell, setting, trainer, history, splits)
    return {
        "algorithm_run": backends.layers(cell.framework).resolve_algorithm(model.layer, cell.algorithm, cell.device),
        "model_param_count": model.param_count,
        "test_accuracy": history.test_score if history.measure == "accuracy" else None,
        "device_hours": history.end_s / 3600,
        "rss_peak_bytes": memory.rss_peak_bytes(),
        "energy_j": history.energy_j,
        **allocated(cell),
        "detail": {
            "history": history.summary(),
            "tokens_per_s": tokens_per_s(history, cell, data),
            "device_name": device.describe(cell.device),
            "devices": 1,
            "energy_how": meter.result.how,
            "notes": notes,
        },
    }


def keep(cell: Cell, setting: Setting, trainer: Any, history: History, splits: Splits) -> None:
    """Write the weights and the losses by step beside the results."""
    described = {"cell": cell.cell_values(), "test_score": history.test_score, "measure": history.measure}
    checkpoint.save(trained.weights_path(setting.folder, cell.id), trainer.weights(), described)
    recipe = recipe_of(cell)
    total, _ = steps_of(recipe, len(splits.train.labels))
    rates = [factor(step, total, recipe.warmup) for step in range(len(history.step_loss))]
    trained.write_steps(trained.steps_path(setting.folder, cell.id), history, rates)


def chance(test: Split, data: Task) -> float:
    """The score of the best constant answer on a test set; of steps that of the task."""
    if data.target == "class":
        return float(np.bincount(np.asarray(test.labels)).max() / len(test.labels))
    return data.chance if data.target == "steps" else float(np.var(test.labels))


def on_extra(trainer: Any, model: ModelSpec, extra: Extra, recipe: Recipe, data: Task) -> float | str:
    """The score on a further test set, with steps rescaled where it is sampled otherwise; or why there is none."""
    own = trainer.weights()
    try:
        if extra.step != 1:
            rescaled = model.rescale_step(subset(own, "params/"), extra.step)
            trainer.load(own | {f"params/{name}": np.asarray(value, np.float32) for name, value in rescaled.items()})
        return evaluated(trainer, extra.split, extra.affine, recipe.batch, data.target)
    except Unsupported as error:
        return str(error)
    finally:
        trainer.load(own)


def tokens_per_s(history: History, cell: Cell, data: Task) -> float | None:
    """Steps of all sequences that a second of updates gets through, compilation included."""
    steps = len(history.step_loss) * cell.batch * data.documents * data.seq_len
    return steps / history.update_s if history.update_s > 0 else None
