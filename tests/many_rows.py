"""Rows of small sweeps and of a large study, and answers, for tests of reports."""

import itertools
import random
from dataclasses import dataclass, field

from test_store import row

from benchmark.reports.tables import Table
from benchmark.sweeps.cell import Recipe

LAYERS, FRAMEWORKS = ("rotrnn", "lru", "s4d", "s5"), ("torch", "jax")
ROME = {"cpu": "AMD EPYC 7742", "cpus": 64, "versions": {"torch": "2.5"}, "commit": "abc"}
XEON = {"cpu": "Intel Xeon", "cpus": 16, "versions": {"torch": "2.6"}, "commit": "abc", "dirty": True}

RECIPE = Recipe(
    epochs=2, batch=8, depth=2, lr=1e-3, recurrence_lr=1e-3, weight_decay=0.0, dropout=0.0, warmup=0.1, norm="layer",
    activation="gelu",
)  # fmt: skip


def sweep():
    return [
        row(
            cell_id=f"{layer}{length}",
            layer=layer,
            seq_len=length,
            median_ms=length / 1000,
            ci_low_ms=length / 1100,
            ci_high_ms=length / 900,
            flops=length * 100,
            layer_param_count=1234,
            real_state_size=8,
        )
        for layer in ("lru", "s5")
        for length in (1024, 2048)
    ]


def training(**changes):
    fields = {
        "cell_id": "t1",
        "metric": "train",
        "task": "digits",
        "seq_len": None,
        "direction": None,
        "test_accuracy": 0.975,
        "device_hours": 0.01,
        "detail": {
            "history": {
                "best_epoch": 7,
                "measure": "accuracy",
                "chance": 0.1,
                "test_score": 0.975,
                "validation_score": 0.98,
                "epoch_validation_score": [0.5, 0.96],
                "epoch_end_s": [1.0, 2.0],
            }
        },
    }
    return row(**(fields | changes))


def speeds(count=1000):
    """Timed cells in two environments, the longest of the slowest algorithm without a result."""
    axes = itertools.product(
        (8, 16, 32),
        (ROME, XEON),
        LAYERS,
        FRAMEWORKS,
        ("forward", "forward+backward"),
        ("chunked", "fft", "sequential"),
        (256, 1024, 4096, 16384, 65536),
    )
    return [_speed(i, *values) for i, values in enumerate(itertools.islice(axes, count))]


def _speed(i, batch, environment, layer, framework, direction, algorithm, length):
    ms = length / 1000 * (1 + LAYERS.index(layer) / 5) * random.Random(i).uniform(0.9, 1.1)
    ms *= {"chunked": 1, "fft": 1.5, "sequential": 10}[algorithm] * (1 if direction == "forward" else 3)
    shared = {
        "cell_id": f"{i:07x}{'0' * 9}", "layer": layer, "framework": framework, "direction": direction,
        "algorithm": algorithm, "algorithm_run": algorithm, "seq_len": length, "batch": batch, "options": {},
        "environment": environment, "flops": length * batch * 1000, "layer_param_count": 12_345,
        "real_state_size": 64, "detail": {"device_name": environment["cpu"], "traffic_bytes": length * 100},
    }  # fmt: skip
    if algorithm == "sequential" and length == 65536:
        return row(**shared, status="oom", reason="allocator: tried to get 3 GB", median_ms=None, samples_ms=None)
    times = {"median_ms": ms, "ci_low_ms": ms * 0.9, "ci_high_ms": ms * 1.1, "samples_ms": [ms] * 300}
    return row(**shared, **times, process_medians_ms=[ms * 0.98, ms, ms * 1.02], gate_error=1e-6, compile_s=0.5)


def trainings():
    """Three seeds of each layer and framework on one task, on its own data and on stand-ins."""
    axes = itertools.product(("real", "stand-in"), LAYERS, FRAMEWORKS, range(3))
    return [_training(i, *values) for i, values in enumerate(axes)]


def _training(i, data, layer, framework, seed):
    score = 0.86 + 0.03 * LAYERS.index(layer) + random.Random(i).uniform(-0.02, 0.02)
    reached = {"epoch_validation_score": [0.6, 0.82, score], "epoch_end_s": [10.0 + i, 20.0 + i, 30.0 + i]}
    noted = {"best_epoch": 3, "measure": "accuracy", "chance": 0.1, "test_score": score, "validation_score": score}
    return training(
        cell_id=f"{i:07x}{'f' * 9}", layer=layer, framework=framework, seed=seed, options={}, environment=ROME,
        recipe=RECIPE.model_copy(update={"data": data}), test_accuracy=score, device_hours=0.01 * (1 + i % 12),
        detail={"history": noted | reached},
    )  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """An answer, without the statistics that lead to one."""

    id: str
    question: str
    verdict: str
    sentences: list
    table: Table | None = None
    chart: dict | None = None
    cells: list = field(default_factory=list)
    again: list = field(default_factory=list)
    missing: list = field(default_factory=list)
    caveats: list = field(default_factory=list)


BARS = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "data": {"values": [{"layer": layer, "flops": i + 1} for i, layer in enumerate(LAYERS)]},
    "mark": "bar",
    "encoding": {
        "x": {"field": "flops", "type": "quantitative", "title": "FLOPs a token"},
        "y": {"field": "layer", "type": "nominal", "title": None},
    },
    "width": "container",
    "height": 120,
}


def replies(rows):
    """One answer of each verdict."""
    table = Table("FLOPs of a token", ["layer", "FLOPs"], [["lru", "1.02 k"], ["s5", "900"]], frozenset({"FLOPs"}))
    cells = [r.cell_id for r in rows[:4]]
    words = ["rotrnn takes 1.02 kFLOP a token, lru 0.90 kFLOP, at equal real state size (64 numbers)."]
    again = ["rotbench speed --layer rotrnn,lru --seq-len 256:65536:x4 --framework torch --threads 2 --again"]
    return [
        Reply("Q1", "How many FLOPs does each layer take?", "yes", words, table, BARS, cells, again),
        Reply("Q2", "What do trainings cost in GPU-hours?", "partly", words, caveats=["Hours of a CPU, not of a GPU."]),
        Reply("Q3", "Which differences are significant?", "undecided", ["Three pairs of seeds can never reach 5 %."]),
        Reply("Q4", "Is RotRNN best everywhere?", "no", ["It is best on <1> of 2 tasks."], cells=cells, again=again),
        Reply(
            "Q5", "Does the normaliser help?", "not measured", [], missing=["an ablation: run `rotbench study norm`"]
        ),
    ]
