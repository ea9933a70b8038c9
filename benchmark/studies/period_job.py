"""A small model trained on a sinusoid, and the angle that it then reads out, in a worker of either framework."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.spec import UserError
from benchmark.spec.model import ModelSpec, subset
from benchmark.studies.names import Study
from benchmark.studies.period import ARMS, HeldTrainer, Sinusoid, folded, mode_energies
from benchmark.studies.placing import coefficients, module, placed_all, to_numpy
from benchmark.sweeps.cell import Cell
from benchmark.tasks.base import Split
from benchmark.training.history import History
from benchmark.training.loop import Fit
from benchmark.training.setup import Setting, model_around, recipe_of, trainer_of

Array = np.ndarray
LOOKED_AT = 64
"""Test sequences from which the energies of modes are taken."""


def period(
    cell: Cell, study: Study, setting: Setting, weights: Mapping[str, str], emit: Callable[..., None]
) -> dict[str, Any]:
    """Angle errors of the mode that is read out most and of the nearest one, before and after training."""
    del setting, weights
    if study.inputs not in ARMS:
        raise UserError(f"the angles of period are {' or '.join(ARMS)}, got {study.inputs!r}")
    data = Sinusoid(**recipe_of(cell).task_options)  # type: ignore[arg-type]
    model = model_around(cell, data.inputs, data.outputs, False, 1, data.target)
    splits, trainer = data.load(), trainer_of(cell, model)
    if study.inputs == "fixed":
        trainer = HeldTrainer(trainer, model.layer, data.angle)
    before = angles(cell, model, trainer.weights(), splits.test, data.angle)

    def report(history: History, step: int, total: int) -> None:
        del history
        emit(event="progress", done=step, of=total)

    history = Fit(trainer, splits, recipe_of(cell), cell.seed, target=data.target, on_validation=report).run()
    after = angles(cell, model, trainer.weights(), splits.test, data.angle)
    return {
        "angle": data.angle,
        "before": before,
        "after": after,
        "test_score": history.test_score,
        "chance": data.chance,
        "modes": model.layer.real_state_size // 2,
    }


def angles(cell: Cell, model: ModelSpec, weights: Mapping[str, Array], test: Split, angle: float) -> dict[str, float]:
    """Of the first block: the angle read out most, its distance from the true one, and that of the nearest mode."""
    c = coefficients(cell, model.layer, subset(weights, "params/block0/layer/"))
    u = layer_inputs(cell, model, weights, test)
    v = (u[..., None] * c.B).reshape(*u.shape[:2], -1) if model.layer.per_channel else u @ c.B.T
    lam = c.lam.reshape(-1)
    states = to_numpy(cell, backends.layers(cell.framework).scan(lam, v))
    late, found = states[:, states.shape[1] // 2 :], folded(lam)
    most = float(found[mode_energies(late, c.C).argmax()])
    return {"read": most, "error": abs(most - angle), "nearest_error": float(np.abs(found - angle).min())}


def layer_inputs(cell: Cell, model: ModelSpec, weights: Mapping[str, Array], test: Split) -> Array:
    """What the first block's layer reads of some test sequences, (batch, length, d_model)."""
    params, stats = (placed_all(cell, subset(weights, f"{part}/")) for part in ("params", "stats"))
    u, _ = module(cell, "probe").probe(model, params, stats, test.inputs[:LOOKED_AT], test.labels[:LOOKED_AT])
    return to_numpy(cell, u[0])
