"""Trained weights on test sets: what a constant answer reaches, and sets that are sampled otherwise."""

from typing import Any

import numpy as np

from benchmark.spec import Unsupported
from benchmark.spec.model import ModelSpec, subset
from benchmark.tasks import Split, Splits, Task
from benchmark.tasks.base import Extra, Target
from benchmark.training.loop import evaluated


def chance(test: Split, data: Task) -> float:
    """The score of the best constant answer on a test set; of steps that of the task."""
    if data.target == "class":
        return float(np.bincount(np.asarray(test.labels)).max() / len(test.labels))
    return data.chance if data.target == "steps" else float(np.var(test.labels))


def extra_scores(trainer: Any, model: ModelSpec, splits: Splits, batch: int, target: Target) -> dict[str, float | str]:
    """The score on each further test set by its name, or why there is none."""
    return {name: _score(trainer, model, extra, batch, target) for name, extra in splits.extra.items()}


def _score(trainer: Any, model: ModelSpec, extra: Extra, batch: int, target: Target) -> float | str:
    """Of one further test set, with steps rescaled where it is sampled otherwise; the weights are put back."""
    own = trainer.weights()
    try:
        if extra.step != 1:
            rescaled = model.rescale_step(subset(own, "params/"), extra.step)
            trainer.load(own | {f"params/{name}": np.asarray(value, np.float32) for name, value in rescaled.items()})
        return evaluated(trainer, extra.split, extra.affine, batch, target)
    except Unsupported as error:
        return str(error)
    finally:
        trainer.load(own)
