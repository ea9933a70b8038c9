"""The neutral training loop: the same batches, rates and decisions in both frameworks."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmark.spec import UserError
from benchmark.sweeps.recipe import Recipe
from benchmark.tasks.base import Affine, Split, Splits, Target
from benchmark.training.checkpoint import Arrays, Checkpoint, load_checkpoint, save_checkpoint
from benchmark.training.feed import feed, read, rows_by_step
from benchmark.training.history import History
from benchmark.training.schedule import factor
from benchmark.training.scoring import Score, is_better, measure_of, score

CHECK_STEPS = 50
"""Losses are looked at this often: looking waits for the device."""

HOPELESS = 1e4
"""A loss beyond this comes of rates that are too large; no task here has a loss above 10 at the start."""


class Trainer(Protocol):
    """What a framework does: ``layers_torch.train.Trainer`` and ``layers_jax.train.Trainer``."""

    def update(self, inputs: np.ndarray, labels: np.ndarray, lengths: Any, rates: dict[str, float]) -> Any:
        """One optimiser step; the loss before it."""

    def evaluate(self, inputs: np.ndarray, lengths: Any) -> np.ndarray:
        """Logits."""

    def weights(self) -> Arrays:
        """What ``evaluate`` uses."""

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Evaluate other weights."""

    def state(self) -> Arrays:
        """All that the next steps hang on."""

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from there."""


class DivergedError(UserError):
    """Training has left the finite numbers. Its row says so, with the ``detail`` that was known by then."""

    status = "diverged"

    def __init__(self, reason: str) -> None:
        """Args: reason, one line."""
        super().__init__(reason)
        self.detail: dict[str, Any] = {}


Feeder = Callable[[Iterator[np.ndarray]], Iterator[Split]]
"""Turns an order of rows into batches."""


@dataclass
class Fit:
    """One training: ``run`` it. A checkpoint is read at the start and written as it goes, if ``path`` is given.

    A checkpoint that is damaged, or of other data or another model, is put aside; one that cannot be
    written costs a note, and the last good one stays.

    Args:
        trainer: parameters and optimiser of one framework.
        splits: the task's data.
        recipe: steps, batch and rates.
        seed: decides the order of the batches, with the epoch.
        target: what the task asks for.
        feeder: makes the batches; here and now if None.
        path: of the checkpoint.
        data: fingerprint of the splits; a checkpoint of another one is not taken up.
        save_s: seconds between checkpoints, at least.
        energy_j: joules since this process began to train, None where that is not known.
        on_validation: called after each with the history so far, the steps done and their total.
        on_note: called with one line for the user and the row.
        clock: seconds, monotonic.
    """

    trainer: Trainer
    splits: Splits
    recipe: Recipe
    seed: int
    target: Target = "class"
    feeder: Feeder | None = None
    path: Path | None = None
    data: str = ""
    save_s: float = 60.0
    energy_j: Callable[[], float | None] = lambda: None
    on_validation: Callable[[History, int, int], None] = lambda *_: None
    on_note: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.perf_counter

    history: History = field(init=False, default_factory=History)
    best: Arrays = field(init=False, default_factory=dict)
    pending: list[Any] = field(init=False, default_factory=list)
    spent_j: float | None = field(init=False, default=0.0)
    """By the processes before a resume."""
    started: float = field(init=False, default=0.0)
    saved: float = field(init=False, default=0.0)
    unsaved: bool = field(init=False, default=False)
    """Whether the user knows that a checkpoint could not be written."""

    def run(self) -> History:
        """Train, and test the weights that are best on the validation split; the trainer ends with these.

        Raises:
            DivergedError: if a loss is not finite or beyond hope, naming the step and the parameter.
            UserError: if a batch is larger than the data.
        """
        self.history.measure = measure_of(self.target)
        total, per_epoch = steps_of(self.recipe, len(self.splits.train.labels))
        first = self._resume()
        self.saved = self.clock()
        for step, batch in self._timed("batches", enumerate(self._batches(first, total), first + 1)):
            self._update(step - 1, total, batch)
            validates = step == total or step % (self.recipe.eval_steps or per_epoch) == 0
            if validates or len(self.pending) >= CHECK_STEPS:
                self._settle()
            if validates:
                self._validate(step, total)
            if self.path and (step == total or self.clock() - self.saved >= self.save_s):
                self._settle()
                self._save(step)
        return self._finish()

    def _batches(self, first: int, total: int) -> Iterator[Split]:
        order = rows_by_step(len(self.splits.train.labels), self.recipe.batch, self.seed, first, total)
        return self.feeder(order) if self.feeder else feed(self.splits.train, self.splits.affine, order)

    def _update(self, step: int, total: int, batch: Split) -> None:
        share = factor(step, total, self.recipe.warmup)
        rates = {"recurrence": self.recipe.recurrence_lr * share, "regular": self.recipe.lr * share}
        self.pending.append(self.trainer.update(batch.inputs, batch.labels, batch.lengths, rates))

    def _settle(self) -> None:
        """Wait for the losses of the last steps and look at them."""
        losses = np.array([float(loss) for loss in self.pending])
        self.pending.clear()
        wrong = ~(np.abs(losses) <= HOPELESS)
        if wrong.any():
            losses = losses[: int(np.argmax(wrong)) + 1]
        self.history.step_loss += losses.tolist()
        if wrong.any():
            raise DivergedError(diverged(len(self.history.step_loss), losses[-1], self.trainer.state()))

    def _validate(self, step: int, total: int) -> None:
        start = self.clock()
        found = self._score(self.splits.validation, self.splits.affine)
        if not found <= HOPELESS:
            raise DivergedError(diverged(step, found, self.trainer.state(), "validation score"))
        if is_better(self.target, found, self.history.validation_score):
            self.history.validation_score = found
            self.history.best_epoch = len(self.history.epoch_step) + 1
            self.best = self.trainer.weights()
        self.history.overhead_s["validation"] += self.clock() - start
        self.history.add(step, found, self.clock() - self.started)
        told = self.clock()
        self.on_validation(self.history, step, total)
        self.history.overhead_s["saving"] += self.clock() - told

    def _score(self, split: Split, affine: Affine | None) -> float:
        return evaluated(self.trainer, split, affine, self.recipe.batch, self.target)

    def _finish(self) -> History:
        self.history.energy_j = self._energy()
        self.trainer.load(self.best)
        self.history.test_score = self._score(self.splits.test, self.splits.affine)
        return self.history

    def _resume(self) -> int:
        """Take up the checkpoint if there is one; returns the steps that are done."""
        self.started = self.clock()
        if self.path is None or not self.path.exists():
            return 0
        try:
            found = load_checkpoint(self.path)
            if found.data != self.data:
                raise UserError(f"{self.path} is of other data than those that are here now")
            restored(self.trainer, found.state, self.path)
        except UserError as error:
            aside = self.path.replace(self.path.with_suffix(".aside"))
            self.on_note(f"started anew: {error}; it is kept as {aside}")
            return 0
        self.history, self.best = found.history, found.best
        self.history.resumed_at.append(found.step)
        self.started -= found.elapsed_s
        self.spent_j = found.history.energy_j
        return found.step

    def _save(self, step: int) -> None:
        assert self.path is not None
        start = self.clock()
        elapsed_s = start - self.started
        self.history.energy_j = self._energy()
        now = Checkpoint(step, elapsed_s, self.trainer.state(), self.best, self.history, self.data)
        try:
            save_checkpoint(self.path, now)
        except UserError as error:
            if not self.unsaved:
                self.on_note(f"no checkpoint at step {step}, training goes on: {error}")
            self.unsaved = True
        self.saved = self.clock()
        self.history.overhead_s["saving"] += self.saved - start

    def _energy(self) -> float | None:
        """Joules of the whole training, None if those of any part are not known."""
        now = self.energy_j()
        return None if now is None or self.spent_j is None else now + self.spent_j

    def _timed(self, name: str, items: Iterator[Any]) -> Iterator[Any]:
        """The items; the seconds that they take to come are added to the overhead of that name."""
        while True:
            start = self.clock()
            item = next(items, None)
            self.history.overhead_s[name] += self.clock() - start
            if item is None:
                return
            yield item


def restored(trainer: Trainer, state: Mapping[str, np.ndarray], path: Path) -> None:
    """Go on from a state. Raises UserError for one that is not of this model, or of another version."""
    own = {name: value.shape for name, value in trainer.state().items() if name.startswith(("params/", "stats/"))}
    if own != {name: state[name].shape for name in own if name in state}:
        raise UserError(f"{path} is of another model")
    try:
        trainer.restore(state)
    except (KeyError, ValueError, RuntimeError) as error:
        raise UserError(f"{path} is of another version ({type(error).__name__}: {error})") from None


def steps_of(recipe: Recipe, examples: int) -> tuple[int, int]:
    """Steps of the whole training and of one epoch. Raises UserError if a batch is larger than the data."""
    per_epoch = examples // recipe.batch
    if per_epoch == 0:
        raise UserError(f"batch must not exceed the {examples} training examples, got {recipe.batch}")
    return recipe.steps or recipe.epochs * per_epoch, per_epoch


def diverged(step: int, value: float, state: Mapping[str, np.ndarray], name: str = "loss") -> str:
    """One line: where the loss, or what is named, left the sensible numbers, and the first parameter that did."""
    names = (name for name, value in state.items() if name.startswith("params/") and not np.isfinite(value).all())
    first = next(names, None)
    what = f"of the parameters, {first.removeprefix('params/')} is not finite" if first else "all parameters are finite"
    return f"the {name} is {value:g} at step {step}; {what}; try a smaller --lr or --recurrence-lr"


def evaluated(trainer: Trainer, split: Split, affine: Affine | None, size: int, target: Target) -> float:
    """The score of a split, in batches of one size, so that nothing is compiled twice."""
    total, answers, n = 0.0, 0, len(split.labels)
    for first in range(0, n, size):
        rows = np.arange(first, min(first + size, n))
        batch = read(split, affine, np.resize(rows, size))
        logits = trainer.evaluate(batch.inputs, batch.lengths)[: len(rows)]
        if not np.isfinite(logits).all():
            return math.nan
        found = score(target, logits, batch.labels[: len(rows)])
        total, answers = total + found.total, answers + found.answers
    return Score(total, answers).mean
