"""Every kind of row has a command, and the real command line plans the row's very cell from it."""

import shlex
from pathlib import Path
from typing import get_args

import pytest
import result_rows as results
from frameworks import INSTALLED
from typer.testing import CliRunner

from benchmark.reports.again import again, commands
from benchmark.spec import LAYERS
from benchmark.store.row import Row
from benchmark.studies import plan, trainings
from benchmark.studies.names import NAMES, study_of
from benchmark.sweeps import hours, limits, roofline, train_plan
from benchmark.sweeps.cell import Metric, Subject
from benchmark.sweeps.config import Sweep
from benchmark.sweeps.plan import sweep_cells
from benchmark.training.recipes import course
from cli import app

pytestmark = pytest.mark.skipif(not INSTALLED, reason="plans are made for installed frameworks")
FRAMEWORKS = INSTALLED[:1]
AXES = [{"framework": name, "seed": seed} for name in FRAMEWORKS for seed in (0, 2)]
HERE = {"device": "cpu", "threads": 1}


def sweep(metrics=("speed",), **values):
    given = {"framework": FRAMEWORKS, "threads": 1} | values
    return sweep_cells(Sweep.model_validate(given), list(metrics))


def trained(task="digits", layers=("rotrnn", "lru", "s4d", "s5"), settings=(), preset="small", **overrides):
    shared = {"algorithm": "auto", "precision": ["fp32"], "data": "generated" if task == "adding" else "auto"}
    return train_plan.train_cells(
        task,
        layers=layers,
        frameworks=FRAMEWORKS,
        seeds=["0:2"],
        settings=settings,
        preset=preset,
        data_dir=Path("nowhere"),
        overrides=overrides,
        **HERE,
        **(shared | {name: overrides.pop(name) for name in ("algorithm", "precision") if name in overrides}),
    )


def norms(**values):
    fields = {"d_model": 16, "state": 64, "settings": [], "axes": AXES, "seq_len": 64, "batch": 2, **HERE}
    return plan.norm_cells(["rotrnn", "lru", "s5"], ["white", "constant"], **fields | values)


def as_drawn(settings=()):
    cells = trainings.as_drawn(["rotrnn", "lru"], "adding", settings, FRAMEWORKS, ["0:2"], Path("nowhere"), HERE)
    return plan.data_norm_cells(cells, 4)


def period(settings=(), **overrides):
    fields = {"d_model": 8, "state": 16, "settings": settings, "axes": AXES, "overrides": overrides}
    return plan.period_cells(["rotrnn", "s4d"], **fields, **HERE)


def arms(found, task="digits"):
    shared = {
        "algorithm": "auto",
        "precision": ["fp32"],
        "preset": "small",
        "data": "auto",
        "data_dir": Path("nowhere"),
    }
    shared |= {"frameworks": FRAMEWORKS, "seeds": ["0:2"], **HERE}
    return trainings.cells_of_arms(found, task, [], overrides={"epochs": 2}, **shared)


KINDS = {
    "speed": lambda: sweep(seq_len=["64", "128"], batch=["2"]),
    "speed of variants": lambda: sweep(
        layer=["lru"], direction=["forward", "step"], set=["gamma=none"], seed=3, replicates=2, d_state=["8"]
    ),
    "speed beside its variant": lambda: [*sweep(layer=["lru"]), *sweep(layer=["lru"], set=["gamma=none"])],
    "speed by algorithms": lambda: [*sweep(layer=["s4d"], algorithm=["vandermonde"]), *sweep(layer=["lru", "s4d"])],
    "speed on other axes": lambda: sweep(dtype=["float64"], mode=["throughput"], cache=["cold"], compiled=["eager"]),
    "memory": lambda: sweep(["memory"], direction=["forward"]),
    "floors, scans and peers of limits": lambda: [
        cell for mark in limits.marks(INSTALLED, 1) for cell in (mark.top, mark.bottom)
    ],
    "peers": lambda: limits.peer_cells(256, 4, 1) if "torch" in INSTALLED else [],
    "roofline": lambda: roofline.roofline_cells(
        Sweep(framework=list(INSTALLED), dtype=["float32", "bfloat16"], precision=["tf32"], threads=1)
    ),
    "steps of published recipes": lambda: hours.step_cells(Sweep(framework=FRAMEWORKS, threads=1), ["all"]),
    "steps of fewer examples": lambda: hours.step_cells(
        Sweep(layer=["lru"], framework=FRAMEWORKS, threads=1, seed=3), ["lra-listops"], 4
    ),
    "trainings": trained,
    "trainings with another recipe": lambda: trained(epochs=2, prenorm=False, attention=1, shuffled=True),
    "trainings with options": lambda: trained(
        "adding", ["rotrnn"], ["heads=32", "normalizer=none", "task.length=50"], d_state=64
    ),
    "trainings of other precision": lambda: trained(algorithm="sequential", precision=["tf32"]),
    "published trainings": lambda: trained("lra-listops", ["lru", "s5"], preset="paper", data="generated"),
    "arms of normaliser": lambda: arms(trainings.NORMALISER),
    "arms of initialisation": lambda: arms(trainings.initialisation(list(LAYERS))),
    "arms of hybrid": lambda: arms(trainings.hybrid(["lru"], 2)),
    "norms": norms,
    "norms with options": lambda: norms(settings=["heads=2"]),
    "norms of data as drawn": as_drawn,
    "norms of data with options": lambda: as_drawn(["rotrnn.heads=32", "task.length=50"]),
    "equivalence": lambda: plan.equivalence_cells(8, 16, AXES, [], seq_len=9, batch=2, **HERE),
    "equivalence with options": lambda: plan.equivalence_cells(4, 8, AXES, ["gamma=none"], seq_len=9, batch=2, **HERE),
    "period": period,
    "period with options": lambda: period(["task.period=20.0", "s4d.A_init=inv"], epochs=2, attention=1),
}


def rows_of(cells):
    return [Row(**cell.cell_values(), cell_id=cell.id, status="ok") for cell in cells]


class Planned(Exception):
    """Carries the cells that would have been measured."""


@pytest.fixture
def planned(monkeypatch, tmp_path):
    """From a command to the cells that it would measure, by the real command line."""

    def stop(cells, *_):
        raise Planned(cells)

    monkeypatch.setattr("benchmark.sweeps.run.run_cells", stop)
    monkeypatch.setattr("benchmark.sweeps.train_plan.prepare_data", lambda *_: None)
    monkeypatch.setattr("benchmark.sweeps.plan.available_processors", lambda: 64)

    def cells_of(command):
        program, *words = shlex.split(command)
        assert program == "rotbench" and words[-1] == "--again"
        result = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "runs")])
        assert isinstance(result.exception, Planned), (command, result.exception, result.output)
        return result.exception.args[0]

    return cells_of


@pytest.mark.parametrize("name", KINDS)
def test_commands_plan_the_very_cells(name, planned):
    rows = rows_of(KINDS[name]())
    found = {cell.id for command in commands(rows) for cell in planned(command)}
    assert {row.cell_id for row in rows} <= found
    (alone,) = commands(rows[-1:])
    assert rows[-1].cell_id in {cell.id for cell in planned(alone)}


@pytest.mark.parametrize("step", [None, 120])
def test_commands_of_trained_weights(step, planned, monkeypatch):
    (trained_cell, *_) = trained("adding", ["lru"], ["task.length=50"])
    where = "weights/{}.safetensors" if step is None else "snapshots/{}"
    monkeypatch.setattr(plan, "cmp", lambda *_, **__: True)
    monkeypatch.setattr(plan, "weight_files", lambda paths: paths)
    monkeypatch.setattr(plan, "described_by", lambda path: {"cell": trained_cell.cell_values(), "step": step})
    shared = {"seq_len": 64, "batch": 2, **HERE}
    cells, _ = plan.trained_norm_cells([Path("x")], ["white"], FRAMEWORKS, shared)
    found = commands(rows_of(cells))
    assert len(found) == 2 and all(f"--weights results/runs/{where.format(trained_cell.id)}" in c for c in found)
    assert {cell.id for cell in cells} <= {cell.id for command in found for cell in planned(command)}


def test_every_metric_and_subject_is_among_the_kinds():
    cells = [cell for make in KINDS.values() for cell in make()]
    assert {cell.metric for cell in cells} == set(get_args(Metric))
    assert {cell.subject for cell in cells} == set(get_args(Subject))
    assert {study_of(cell.task).name for cell in cells if cell.metric == "study"} == set(NAMES)


def test_rows_that_differ_in_what_is_listed_share_a_command():
    assert again(rows_of(norms())).count("rotbench") == 1, "the study measures its variants anyway"
    assert again(rows_of(sweep(seq_len=["64", "128"]))).count("rotbench") == 1
    assert again(rows_of(trained(layers=["rotrnn", "lru"]))) == (
        f"rotbench train digits --layer rotrnn,lru --framework {FRAMEWORKS[0]} --preset small --data real "
        "--seeds 0,1 --threads 1 --again"
    )


def test_what_no_command_can_measure_has_none():
    (row,) = rows_of(sweep(layer=["lru"]))
    assert commands([row.model_copy(update={"layer": "of another package"})]) == []
    assert commands([row.model_copy(update={"metric": "study", "task": "of the future"})]) == []
    assert commands([row.model_copy(update={"subject": "scan", "d_model": 3})]) == [], "limits has its own sizes"
    assert again([]) == ""


def test_a_training_of_its_own_recipe_is_named_by_what_differs():
    found = again(results.trained("lru", [0.9] * 2, options={"r_min": 0.5}))
    assert found.startswith("rotbench train digits --layer lru --framework torch --preset small --data real")
    assert "--epochs 3" in found and "--seeds 0,1" in found and "--set lru.r_min=0.5" in found
    small = course("digits", "lru")
    rows = results.trained("lru", [0.9], made=small.recipe, options=small.options, **small.sizes)
    assert again(rows) == (
        "rotbench train digits --layer lru --framework torch --preset small --data real --seeds 0 --threads 2 --again"
    )
