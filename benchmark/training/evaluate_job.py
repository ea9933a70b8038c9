"""Trained weights on their test sets, in a worker of either framework."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmark.sweeps.cell import Cell
from benchmark.training import checkpoint
from benchmark.training.loop import evaluated
from benchmark.training.setup import model_of, recipe_of, splits_of, task_of, trainer_of
from benchmark.training.testing import extra_scores


def evaluate(payload: dict[str, Any], emit: Callable[..., None]) -> dict[str, Any]:  # noqa: ARG001
    """The scores of a file of weights, on the test set and further ones; its cell says of which model and task."""
    weights, described = checkpoint.load(Path(payload["weights"]))
    trained = Cell.model_validate(described["cell"])
    cell = trained.model_copy(update=payload["changes"])
    splits, data, model = splits_of(cell, Path(payload["data_dir"])), task_of(cell), model_of(cell)
    trainer = trainer_of(cell, model)
    trainer.load(weights)
    score = evaluated(trainer, splits.test, splits.affine, recipe_of(cell).batch, data.target)
    return {"score": score, "extra": extra_scores(trainer, model, splits, recipe_of(cell).batch, data.target)}
