"""Trained weights on their test set, in a worker of either framework."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmark.sweeps.cell import Cell
from benchmark.training import checkpoint
from benchmark.training.loop import evaluated
from benchmark.training.setup import model_of, recipe_of, splits_of, task_of, trainer_of


def evaluate(payload: dict[str, Any], emit: Callable[..., None]) -> dict[str, Any]:  # noqa: ARG001
    """The test score of a file of weights; its cell says of which model and task they are."""
    weights, described = checkpoint.load(Path(payload["weights"]))
    trained = Cell.model_validate(described["cell"])
    cell = trained.model_copy(update=payload["changes"])
    splits, data = splits_of(cell, Path(payload["data_dir"])), task_of(cell)
    trainer = trainer_of(cell, model_of(cell))
    trainer.load(weights)
    return {"score": evaluated(trainer, splits.test, splits.affine, recipe_of(cell).batch, data.target)}
