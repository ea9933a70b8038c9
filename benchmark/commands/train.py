"""Commands that train, and that look at what was trained."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.options import (
    RUNS,
    Again,
    DataDir,
    Device,
    FailFast,
    First,
    Folder,
    Inline,
    Json,
    Layer,
    Retry,
    Threads,
    Wait,
    Words,
    with_recipe,
)
from benchmark.commands.running import measure_and_show, training_effort
from benchmark.console import Progress, show, show_json, warn

if TYPE_CHECKING:
    from benchmark.sweeps.cell import Cell
    from benchmark.sweeps.run import Effort


@with_recipe
def train(
    task: Annotated[str, typer.Argument(help="The task, see rotbench list.")],
    overrides: dict[str, object],
    layer: Layer = ["all"],
    framework: First = [],
    preset: Annotated[str, typer.Option("--preset", help="small: minutes on a CPU; paper: as published.")] = "small",
    seeds: Annotated[
        Words, typer.Option("--seeds", "--seed", help="Of initial values and batch order: 0, or 0:5 for five.")
    ] = ["0"],
    data: Annotated[
        str, typer.Option("--data", help="auto, real, generated, stand-in; auto takes the best that is here.")
    ] = "auto",
    data_dir: DataDir = None,
    workers: Annotated[
        int, typer.Option("--workers", help="Processes that read batches ahead; pays only where reading is heavy.")
    ] = 0,
    save_s: Annotated[float, typer.Option("--save-s", help="Seconds between checkpoints.")] = 60.0,
    snapshots: Annotated[
        bool,
        typer.Option("--snapshots", help="Keep the weights after each validation too, in RESULTS/snapshots/CELL."),
    ] = False,
    algorithm: Annotated[str, typer.Option("--algorithm", help="Of the recurrence.")] = "auto",
    precision: Annotated[
        Words, typer.Option("--precision", help="Least precision of float32 matrix products: fp32, tf32, bf16.")
    ] = ["fp32"],
    device: Device = "cpu",
    threads: Threads = 0,
    settings: Annotated[
        Words, typer.Option("--set", help="An option of layer or task: heads=16, s5.blocks=4, task.level=9; repeat it.")
    ] = [],
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    inline: Inline = False,
    fail_fast: FailFast = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Train a model around each layer, with the same initial values, batches and rates in both frameworks.

    What was killed goes on from its last checkpoint when the same command is given again.
    """
    from benchmark import backends
    from benchmark.data.folder import data_dir as folder_of
    from benchmark.reports.trained import training_table
    from benchmark.sweeps.train_plan import check_setting, train_cells

    check_setting(workers, save_s)
    folder = folder_of(data_dir)
    with Progress("preparing data") as progress:
        cells = train_cells(
            task,
            layers=layer,
            frameworks=framework or list(backends.installed()[:1]),
            seeds=seeds,
            device=device,
            threads=threads,
            algorithm=algorithm,
            precision=precision,
            settings=settings,
            preset=preset,
            data=data,
            data_dir=folder,
            overrides=overrides,
            tell=progress.advance,
            say=progress.say,
        )
        how = {"inline": inline, "fail_fast": fail_fast, "again": again}
        effort = training_effort(cells, preset, folder, progress, workers, save_s, snapshots, retry=retry, **how)
    if snapshots and not again:
        _tell_of_courses(cells, out, effort)
    measure_and_show(cells, out, effort, wait, json, training_table)


def _tell_of_courses(cells: "list[Cell]", out: Path, effort: "Effort") -> None:
    """Say which trainings are not trained again and have kept no snapshots."""
    from benchmark.reports.numbers import counted
    from benchmark.store.trained import snapshot_path
    from benchmark.sweeps.run import done_rows

    done = done_rows(out, effort) if out.exists() else {}
    lacking = [cell for cell in cells if cell.id in done and not snapshot_path(out, cell.id, 0).exists()]
    if lacking:
        warn(f"rows and no snapshots: {counted(len(lacking), 'training')}; --again trains anew and keeps some")


def evaluate(
    weights: Annotated[list[Path], typer.Argument(help="Files of weights, RESULTS/weights/CELL.safetensors.")],
    framework: Annotated[Words, typer.Option("--framework", help="torch, jax or all; in which to evaluate.")] = ["all"],
    device: Device = "cpu",
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Test trained weights on their task's test sets, in either framework, whichever trained them."""
    from benchmark.data.folder import data_dir as folder_of
    from benchmark.reports.trained import evaluation_table
    from benchmark.sweeps.evaluate import evaluate_weights
    from benchmark.sweeps.plan import check_device, framework_names

    frameworks = framework_names(framework)
    check_device(device, frameworks)
    with Progress("evaluating") as progress:
        found = evaluate_weights(weights, frameworks, device, folder_of(data_dir), progress.advance)
    if json:
        show_json([entry._asdict() for entry in found])
    else:
        show(evaluation_table(found))
