"""Rows with planted truths, from which questions and claims are answered in tests."""

import numpy as np
from test_store import row

from benchmark.sweeps.cell import Recipe

MACHINE = {"cpu": "one", "cpus": 2, "versions": {"torch": "2.9"}, "commit": "abc"}


def timed(layer, length, medians, **changes):
    """A row of speed, with a median for each process."""
    fields = {
        "cell_id": f"{layer}{length}{sorted(changes.items(), key=str)}",
        "layer": layer,
        "options": {},
        "algorithm": "auto",
        "seq_len": length,
        "median_ms": float(np.exp(np.mean(np.log(medians)))),
        "process_medians_ms": [float(ms) for ms in medians],
        "samples_ms": None,
        "environment": MACHINE,
    }
    return row(**(fields | changes))


def noisy(layer, length, ms, spread, rng, processes=3, **changes):
    """A row of speed, with log-normal noise between its processes."""
    return timed(layer, length, ms * np.exp(rng.normal(0, spread, processes)), **changes)


def recipe(data="real", **changes):
    values = {"epochs": 3, "batch": 8, "depth": 1, "lr": 1e-3, "recurrence_lr": 1e-3, "weight_decay": 0.0}
    values |= {"dropout": 0.0, "warmup": 0.1, "norm": "batch", "activation": "gelu", "data": data}
    return Recipe(**(values | changes))


def trained(layer, scores, data="real", task="digits", measure="accuracy", made=None, **changes):
    """Rows of trainings, one a seed."""
    fields = {
        "metric": "train",
        "layer": layer,
        "options": {},
        "task": task,
        "algorithm": "auto",
        "direction": None,
        "seq_len": None,
    }
    fields |= {"median_ms": None, "samples_ms": None, "device_hours": 0.01, "real_state_size": 8}
    fields |= {"recipe": made or recipe(data), "environment": MACHINE} | changes
    return [
        row(
            cell_id=f"{layer}{data}{seed}{task}{made}{sorted(changes.items(), key=str)}",
            seed=seed,
            test_accuracy=score if measure == "accuracy" else None,
            detail={"history": {"test_score": score, "measure": measure}},
            **fields,
        )
        for seed, score in enumerate(scores)
    ]
