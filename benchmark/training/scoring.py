"""How good answers are, by what the task asks for."""

from typing import Literal, NamedTuple

import numpy as np

from benchmark.tasks.base import IGNORED, Target

Measure = Literal["accuracy", "mse"]


class Score(NamedTuple):
    """A sum over so many answers: of right ones, or of squared errors."""

    total: float
    answers: int

    @property
    def mean(self) -> float:
        """Accuracy from 0 to 1, or the mean squared error."""
        return self.total / self.answers


def measure_of(target: Target) -> Measure:
    """What a score of this target means."""
    return "mse" if target == "number" else "accuracy"


def score(target: Target, logits: np.ndarray, labels: np.ndarray) -> Score:
    """The score of a batch.

    Args:
        target: what the task asks for.
        logits: (n, outputs), or (n, length, outputs) for steps.
        labels: (n,), or (n, length) for steps, where IGNORED counts for nothing.
    """
    if target == "number":
        return Score(float(((logits[:, 0] - labels) ** 2).sum()), len(labels))
    asked = labels != IGNORED
    return Score(int((logits.argmax(-1) == labels)[asked].sum()), int(asked.sum()))


def is_better(target: Target, new: float, old: float | None) -> bool:
    """Whether a score is at least as good: of equals the later counts, as its rate has fallen further."""
    if old is None:
        return True
    return new <= old if target == "number" else new >= old
