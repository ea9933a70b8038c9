"""Rows with planted truths for the questions of a report, and how tests ask them."""

import math

import numpy as np
import result_rows
from result_rows import MACHINE, recipe, trained
from test_store import row

from benchmark.reports.answers import QUESTIONS, answers
from benchmark.training.recipes import course

SIZES = {"rotrnn": 256, "lru": 128, "s4d": 2, "s5": 256}
"""Each layer's d_state for a real state of 256 at d_model 128."""

UP = [0.9005 + 0.001 * i for i in range(10)]
DOWN = [0.80 + 0.002 * i for i in range(10)]
"""Scores of ten seeds with means 0.905 and 0.809."""


def timed(layer, length, medians, **changes):
    """A row of speed, of 256 real numbers of state."""
    sizes = {"batch": 1, "d_model": 128, "d_state": SIZES[layer], "real_state_size": 256, "flops": 1000 * length}
    return result_rows.timed(layer, length, medians, **(sizes | changes))


def noisy(layer, length, ms, spread, rng, processes=3, **changes):
    """The same with log-normal noise between its processes."""
    return timed(layer, length, ms * np.exp(rng.normal(0, spread, processes)), **changes)


def pair_of_times(ratio, spread=0.005, processes=3, lengths=(1024, 4096), **changes):
    """RotRNN and LRU at some lengths, the one so many times as slow."""
    rng = np.random.default_rng(3)
    return [
        noisy(layer, length, length / 100 * factor, spread, rng, processes, **changes)
        for length in lengths
        for layer, factor in (("rotrnn", ratio), ("lru", 1.0))
    ]


def as_published(layer, scores, task="lra-listops"):
    found = course(task, layer, "paper")
    return trained(layer, scores, task=task, made=found.recipe, **found.sizes)


def studied(layer, task, detail, seed=0, **changes):
    fields = {"cell_id": f"{layer}{task}{seed}{sorted(changes.items())}", "metric": "study", "layer": layer}
    fields |= {"task": task, "seed": seed, "detail": detail, "options": {}, "algorithm": "auto", "direction": None}
    return row(**(fields | {"median_ms": None, "samples_ms": None, "environment": MACHINE} | changes))


def one(name, rows):
    (found,) = answers(rows, [QUESTIONS[name]])
    return found


def said(found):
    return " ".join(found.sentences)


def mixed():
    """Rows of everything at once: hardware, failures, one seed, one process, an unknown study, other versions."""
    return [
        timed("rotrnn", 1024, [1.0, 1.1, 1.0]),
        timed("lru", 1024, [2.0, 2.1, 2.2]),
        timed("lru", 1024, [0.2], device="cuda", detail={"device_name": "H200"}),
        timed("s5", 1024, [3.0]),
        timed("s5", 2048, [3.0, 3.0, 3.0], environment={}),
        timed("s4d", 4096, [1.0], median_ms=None, process_medians_ms=None, status="oom", reason="host"),
        timed("s4d", 1024, [1.0], options={"A_init": "legs"}),
        *trained("rotrnn", [0.9]),
        *trained("lru", [0.8], data="stand-in"),
        *trained("s5", [0.8], status="diverged"),
        *trained("lru", [0.4], measure="mse", task="adding"),
        *trained("s4d", [0.4], task="lra-listops", data="generated"),
        *trained("s4d", [0.1], made=recipe(shuffled=True)),
        studied("lru", "norms/white", {}),
        studied("lru", "of the future", {"times": [1]}),
        studied("lru", None, {}),
        row(metric="roofline", layer="rotrnn", cell_id="top", median_ms=None),
        row(metric="train-step", task="gone", recipe=recipe(), cell_id="step", seq_len=None),
        row(cell_id="old", schema_version=1, environment={}, detail={}, median_ms=math.nan),
    ]


def scaling(power, **changes):
    """Times of RotRNN that grow with a power of the length."""
    rng = np.random.default_rng(7)
    return [noisy("rotrnn", length, length**power / 100, 0.005, rng, **changes) for length in (1024, 2048, 4096, 8192)]


def norms(layer, power, seed, inputs="white", task="", **changes):
    """A row of the study of norms, whose mean square grows with a power of time."""
    times = [1, 4, 16, 64, 128, 256, 512, 1024]
    values = [t**power * (1 + 0.001 * seed) for t in times]
    detail = {"times": times, "blocks": [{"mean_square": values, **changes}]}
    return studied(layer, f"norms/{inputs}{task}", detail, seed)


def period(layer, arm, before, after, score, seed, **more):
    """A row of the study of a period, with the angle's error before and after training."""
    ends = {"before": {"error": before} | more, "after": {"error": after} | more}
    return studied(layer, f"period/{arm}", {"angle": 0.5, "test_score": score, "chance": 0.5, **ends}, seed)
