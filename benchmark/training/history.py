"""What happened in a training: the loss of every step, and one entry a validation."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmark.training.scoring import Measure


@dataclass
class History:
    """Losses by step, scores by validation. An accuracy is a share from 0 to 1, the other measure a squared error.

    ``epoch_*`` has one entry a validation, which is at the end of every epoch unless the recipe says
    otherwise: the step after which it was, the mean loss since the one before, its score, and the
    seconds since the start of training, time before a resume included. ``overhead_s`` holds the
    seconds spent by batches, validations and checkpoints, the rest is that of updates.
    """

    measure: Measure = "accuracy"
    step_loss: list[float] = field(default_factory=list)
    epoch_step: list[int] = field(default_factory=list)
    epoch_loss: list[float] = field(default_factory=list)
    epoch_validation_score: list[float] = field(default_factory=list)
    epoch_end_s: list[float] = field(default_factory=list)
    overhead_s: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("batches", "validation", "saving"), 0.0)
    )
    energy_j: float | None = None
    resumed_at: list[int] = field(default_factory=list)
    best_epoch: int = 0
    validation_score: float | None = None
    test_score: float | None = None
    chance: float | None = None
    extra: dict[str, float | str] = field(default_factory=dict)
    """Scores on further test sets by name, or why there is none."""

    @property
    def end_s(self) -> float:
        """Seconds of training up to the last validation."""
        return self.epoch_end_s[-1] if self.epoch_end_s else 0.0

    @property
    def update_s(self) -> float:
        """Seconds of updates alone."""
        return self.end_s - sum(self.overhead_s.values())

    def add(self, step: int, score: float, end_s: float) -> None:
        """A validation after ``step`` steps."""
        since = self.epoch_step[-1] if self.epoch_step else 0
        self.epoch_step.append(step)
        self.epoch_loss.append(float(np.mean(self.step_loss[since:step])))
        self.epoch_validation_score.append(score)
        self.epoch_end_s.append(end_s)

    def summary(self) -> dict[str, Any]:
        """All but the losses by step, as JSON values."""
        values = asdict(self)
        del values["step_loss"]
        return values
