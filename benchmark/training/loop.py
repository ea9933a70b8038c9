"""The neutral training loop: the same batches, rates and decisions in both frameworks."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from benchmark.spec import UserError
from benchmark.sweeps.cell import Recipe
from benchmark.tasks import Split, Splits
from benchmark.training.schedule import factor


class Trainer(Protocol):
    """What a framework does: ``layers_torch.train.Trainer`` and ``layers_jax.train.Trainer``."""

    def update(self, inputs: np.ndarray, labels: np.ndarray, lengths: Any, rates: dict[str, float]) -> Any:
        """One optimiser step; the loss before it."""

    def evaluate(self, inputs: np.ndarray, lengths: Any) -> np.ndarray:
        """Logits."""


class DivergedError(UserError):
    """Training has left the finite numbers. Its row says so."""

    status = "diverged"


@dataclass
class History:
    """What happened: the loss of every step, and one entry an epoch. Accuracies are shares from 0 to 1."""

    step_loss: list[float] = field(default_factory=list)
    epoch_loss: list[float] = field(default_factory=list)
    epoch_validation_accuracy: list[float] = field(default_factory=list)
    epoch_end_s: list[float] = field(default_factory=list)
    best_epoch: int = 0
    test_accuracy: float = 0.0
    validation_accuracy: float = -1.0


def fit(
    trainer: Trainer,
    splits: Splits,
    recipe: Recipe,
    seed: int,
    on_epoch: Callable[[int, float, float], None] = lambda *_: None,
    clock: Callable[[], float] = time.perf_counter,
) -> History:
    """Train, and test the epoch that is best on the validation split.

    Of equals the latest counts, as its rate has fallen furthest.

    Args:
        trainer: parameters and optimiser of one framework.
        splits: the task's data.
        recipe: epochs, batch and rates.
        seed: decides the order of the batches, with the epoch.
        on_epoch: called with the epoch's number from 1, its mean loss and its validation accuracy.
        clock: seconds, monotonic.

    Raises:
        DivergedError: if a loss is not finite, naming the step.
        UserError: if a batch is larger than the data.
    """
    start, history = clock(), History()
    steps_an_epoch = len(splits.train.labels) // recipe.batch
    if steps_an_epoch == 0:
        raise UserError(f"batch must not exceed the {len(splits.train.labels)} training examples, got {recipe.batch}")
    for epoch in range(recipe.epochs):
        losses = []
        for index, batch in enumerate(batches(splits.train, recipe.batch, seed, epoch)):
            share = factor(epoch * steps_an_epoch + index, recipe.epochs * steps_an_epoch, recipe.warmup)
            rates = {"recurrence": recipe.recurrence_lr * share, "regular": recipe.lr * share}
            losses.append(trainer.update(batch.inputs, batch.labels, batch.lengths, rates))
        record_epoch(history, trainer, splits, recipe.batch, [float(loss) for loss in losses])
        history.epoch_end_s.append(clock() - start)
        on_epoch(epoch + 1, history.epoch_loss[-1], history.epoch_validation_accuracy[-1])
    return history


def record_epoch(history: History, trainer: Trainer, splits: Splits, batch: int, losses: list[float]) -> None:
    """Add an epoch to the history; test it if it is the best so far."""
    if not np.isfinite(losses).all():
        step = len(history.step_loss) + int(np.argmin(np.isfinite(losses)))
        raise DivergedError(f"the loss is not finite at step {step}; try a smaller --lr")
    history.step_loss += losses
    history.epoch_loss.append(float(np.mean(losses)))
    validation = accuracy(trainer, splits.validation, batch)
    history.epoch_validation_accuracy.append(validation)
    if validation >= history.validation_accuracy:
        history.validation_accuracy = validation
        history.best_epoch = len(history.epoch_loss)
        history.test_accuracy = accuracy(trainer, splits.test, batch)


def batches(split: Split, size: int, seed: int, epoch: int) -> Iterator[Split]:
    """Full batches in an order that hangs on seed and epoch alone; what is left over is dropped."""
    order = np.random.default_rng([seed, epoch]).permutation(len(split.labels))
    for first in range(0, len(order) - size + 1, size):
        yield take(split, order[first : first + size])


def take(split: Split, rows: np.ndarray) -> Split:
    """Some rows of a split."""
    return Split(*(None if array is None else array[rows] for array in split))  # type: ignore[arg-type]


def accuracy(trainer: Trainer, split: Split, size: int) -> float:
    """The share of right answers, in batches of one size, so that nothing is compiled twice."""
    right, n = 0, len(split.labels)
    for first in range(0, n, size):
        rows = np.arange(first, min(first + size, n))
        padded = take(split, np.resize(rows, size))
        logits = trainer.evaluate(padded.inputs, padded.lengths)[: len(rows)]
        right += int((logits.argmax(1) == split.labels[rows]).sum())
    return right / n
