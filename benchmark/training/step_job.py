"""One optimiser step of a published recipe, timed in its worker."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.metrics import memory
from benchmark.metrics.timing import Plan, measure
from benchmark.sweeps.cell import Cell
from benchmark.training.published import TASKS
from benchmark.training.setup import allocated, model_around, recipe_of, trainer_of


def train_step(payload: dict[str, Any], emit: Callable[..., None]) -> dict[str, Any]:  # noqa: ARG001
    """Time one optimiser step of a published recipe on random data of its task's shape."""
    cell = Cell.model_validate(payload["cell"])
    size, recipe = TASKS[cell.task or ""], recipe_of(cell)
    model = model_around(cell, size.inputs, size.outputs, size.tokens, size.documents)
    trainer, device = trainer_of(cell, model), backends.device(cell.framework)
    rng = np.random.default_rng(cell.seed)
    shape = (cell.batch * size.documents, size.seq_len)
    numbers = (*shape, size.inputs)
    x = rng.integers(0, size.inputs, shape) if size.tokens else rng.standard_normal(numbers, dtype=np.float32)
    labels = rng.integers(0, size.outputs, cell.batch)
    rates = {"recurrence": recipe.recurrence_lr, "regular": recipe.lr}
    plan = Plan(**payload.get("plan", {}), warmup_s=0.0, min_samples=3)
    timing = measure(lambda: trainer.update(x, labels, None, rates), device.synchronise, plan)
    asked = cell.algorithm, cell.device, size.seq_len
    return {
        "algorithm_run": backends.layers(cell.framework).resolve_algorithm(model.layer, *asked),
        "model_param_count": model.param_count,
        "samples_ms": [s * 1e3 for s in timing.samples_s],
        "rss_peak_bytes": memory.rss_peak_bytes(),
        **allocated(cell),
        "detail": {
            "device_name": device.describe(cell.device),
            "devices": 1,
            "warmup_ms": [s * 1e3 for s in (timing.first_run_s, *timing.warmup_s)],
            "inner": 1,
            "stop_reason": timing.stop_reason,
        },
    }
