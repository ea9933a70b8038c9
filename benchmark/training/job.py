"""The training of one cell, in its worker."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.metrics import memory
from benchmark.metrics.energy import EnergyMeter
from benchmark.metrics.nvml import nvml_of
from benchmark.spec import UserError
from benchmark.store import trained
from benchmark.sweeps import gate
from benchmark.sweeps.cell import Cell
from benchmark.tasks import Split
from benchmark.training import checkpoint
from benchmark.training.feed import feed_ahead
from benchmark.training.fingerprint import fingerprint
from benchmark.training.history import History
from benchmark.training.loop import DivergedError, Fit, steps_of
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
from benchmark.training.testing import chance, extra_scores

Emit = Callable[..., None]

SOURCES = ("training", "tasks")
"""Packages of benchmark that decide what a training computes, beside a layer's own files."""


def train(payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """Train one cell and return the columns of its row; one progress event a validation, and notes as they come.

    Raises:
        DivergedError: with what the row of a diverged training holds; its losses by step are kept.
    """
    cell, setting = Cell.model_validate(payload["cell"]), Setting.of(payload)
    training = Training(cell, setting, emit)
    try:
        history = training.run()
    except DivergedError as error:
        training.keep_steps()
        error.detail = training.detail()
        raise
    training.test()
    training.keep_weights()
    training.keep_steps()
    model, asked = training.model, (cell.algorithm, cell.device, training.task.seq_len)
    return {
        "algorithm_run": backends.layers(cell.framework).resolve_algorithm(model.layer, *asked),
        "model_param_count": model.param_count,
        "test_accuracy": history.test_score if history.measure == "accuracy" else None,
        "device_hours": history.end_s / 3600,
        "rss_peak_bytes": memory.rss_peak_bytes(),
        "energy_j": history.energy_j,
        **allocated(cell),
        "detail": training.detail(),
    }


class Training:
    """A cell's data, trainer and loop, and what is kept of them."""

    def __init__(self, cell: Cell, setting: Setting, emit: Emit) -> None:
        """Load the data and set the framework up; nothing is trained yet."""
        self.cell, self.setting, self.emit = cell, setting, emit
        self.model, self.recipe, self.task = model_of(cell), recipe_of(cell), task_of(cell)
        self.splits = splits_of(cell, setting.data_dir)
        self.total = steps_of(self.recipe, len(self.splits.train.labels))[0]
        self.trainer, self.notes = trainer_of(cell, self.model), list[str]()
        self.meter = EnergyMeter(nvml_of(cell.device))
        self.fit = Fit(
            self.trainer,
            self.splits,
            self.recipe,
            cell.seed,
            target=self.task.target,
            feeder=self._ahead if setting.workers else None,
            path=trained.checkpoint_path(setting.folder, cell.id),
            data=fingerprint(self.splits),
            save_s=setting.save_s,
            energy_j=lambda: self.meter.so_far().joules,
            on_validation=self._report,
            on_note=self.note,
        )

    def run(self) -> History:
        """Train to the end. Raises DivergedError."""
        if self.setting.snapshots and not (self.fit.path and self.fit.path.exists()):  # those of an earlier training
            shutil.rmtree(trained.snapshot_path(self.setting.folder, self.cell.id, 0).parent, ignore_errors=True)
        self._snapshot(0)
        with self.meter:
            return self.fit.run()

    def test(self) -> None:
        """Add to the history what belongs to its test score."""
        history = self.fit.history
        history.chance = chance(self.splits.test, self.task)
        history.extra = extra_scores(self.trainer, self.model, self.splits, self.recipe.batch, self.task.target)

    def note(self, line: str) -> None:
        """Tell the user at once, and the row."""
        self.notes.append(line)
        self.emit(event="note", text=line)

    def keep_weights(self) -> None:
        """Write the weights beside the results. Raises UserError if that cannot be done."""
        checkpoint.save(
            trained.weights_path(self.setting.folder, self.cell.id),
            self.trainer.weights(),
            self._described(self.fit.history.test_score),
        )

    def _snapshot(self, step: int) -> None:
        """Write the weights of now, if a training's course is kept; the first that cannot be is noted, and the last."""
        if not self.setting.snapshots:
            return
        path = trained.snapshot_path(self.setting.folder, self.cell.id, step)
        try:
            checkpoint.save(path, self.trainer.weights(), self._described(None) | {"step": step, "steps": self.total})
        except UserError as error:
            self.note(f"no snapshots from step {step} on: {error}")
            self.setting = self.setting._replace(snapshots=False)

    def _described(self, test_score: float | None) -> dict[str, Any]:
        return {"cell": self.cell.cell_values(), "test_score": test_score, "measure": self.fit.history.measure}

    def keep_steps(self) -> None:
        """Write the losses by step beside the results; a note says so if that cannot be done."""
        history = self.fit.history
        rates = [factor(step, self.total, self.recipe.warmup) for step in range(len(history.step_loss))]
        try:
            trained.write_steps(trained.steps_path(self.setting.folder, self.cell.id), history, rates)
        except UserError as error:
            self.note(f"the losses by step are lost: {error}")

    def detail(self) -> dict[str, Any]:
        """What the row has no column for."""
        history = self.fit.history
        return {
            "history": history.summary(),
            "tokens_per_s": self._tokens_per_s(),
            "data_fingerprint": self.fit.data,
            "deviations": self.setting.deviations,
            "source_hash": gate.source_hash(self.cell.framework, *SOURCES),
            "device_name": backends.device(self.cell.framework).describe(self.cell.device),
            "devices": 1,
            "energy_how": self.meter.result.how,
            "notes": self.notes,
            "snapshots": self.setting.snapshots,
        }

    def _tokens_per_s(self) -> float | None:
        """Steps of all sequences that a second of updates gets through, compilation included."""
        history, task = self.fit.history, self.task
        done = history.epoch_step[-1] if history.epoch_step else 0
        steps = done * self.cell.batch * task.documents * task.seq_len
        return steps / history.update_s if history.update_s > 0 else None

    def _report(self, history: History, step: int, total: int) -> None:
        loss, score = history.epoch_loss[-1], history.epoch_validation_score[-1]
        self.emit(event="progress", done=step, of=total, loss=loss, score=score)
        self._snapshot(step)

    def _ahead(self, order: Iterator[np.ndarray]) -> Iterator[Split]:
        return feed_ahead(partial(training_set, self.cell, self.setting.data_dir), order, self.setting.workers)
