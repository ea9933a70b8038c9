"""Commands that study what the layers are: ``rotbench study NAME``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from benchmark.commands.options import (
    RUNS,
    Again,
    DataDir,
    Device,
    First,
    Folder,
    Framework,
    Inline,
    Json,
    Layer,
    Retry,
    Threads,
    Wait,
    Words,
    with_recipe,
)
from benchmark.commands.running import retries
from benchmark.commands.study_options import (
    SEEDS,
    Seeds,
    Set,
    State,
    Width,
    axes_of,
    frameworks_or_first,
    measure_and_tell,
)
from benchmark.commands.study_trainings import hybrid, initialisation, normaliser
from benchmark.console import CHECK_FAILED, OK, Progress, leave

study_app = typer.Typer(no_args_is_help=True, help="Ablations, norms of states, equivalence of layers and more.")

study_app.command("normaliser")(normaliser)
study_app.command("initialisation")(initialisation)
study_app.command("hybrid")(hybrid)


@study_app.command()
def norms(
    layer: Layer = ["all"],
    framework: Framework = ["all"],
    seeds: Seeds = ["0:3"],
    inputs: Annotated[
        Words,
        typer.Option(
            "--inputs", help="white, constant: what drives a layer alone; none: only what --task and --weights name."
        ),
    ] = ["white,constant"],
    seq_len: Annotated[int, typer.Option("--seq-len", help="Steps of a layer that is driven alone.")] = 16384,
    batch: Annotated[int, typer.Option("--batch", help="Sequences.")] = 8,
    d_model: Width = 16,
    state: State = 256,
    task: Annotated[
        Words, typer.Option("--task", help="Also whole models of preset small on a task's data, as drawn.")
    ] = [],
    weights: Annotated[
        list[Path],
        typer.Option(
            "--weights", help="Also after training: RESULTS/weights/CELL.safetensors, or a folder; repeat it."
        ),
    ] = [],
    settings: Set = [],
    data_dir: DataDir = None,
    device: Device = "cpu",
    threads: Threads = 0,
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    inline: Inline = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Norms of states and gradients over time, depth and training, per real coordinate and on one scale."""
    from benchmark.data.folder import data_dir as folder_of
    from benchmark.spec import UserError
    from benchmark.studies import plan
    from benchmark.studies.names import ALONE
    from benchmark.studies.norms import check_length
    from benchmark.studies.trainings import as_drawn
    from benchmark.sweeps.grid import words
    from benchmark.sweeps.plan import check_threads, each, framework_names, layer_names, positive
    from benchmark.sweeps.run import Effort
    from benchmark.sweeps.train_plan import prepare_data

    check_length(seq_len)
    layers, frameworks, folder = layer_names(layer), framework_names(framework), folder_of(data_dir)
    kinds = [] if words(inputs) == ["none"] else each("inputs", inputs, ALONE)
    chosen, tasks = words(settings), words(task)
    if not (kinds or tasks or weights):
        raise UserError("inputs none leaves nothing to measure: name a --task or --weights")
    place = {"device": device, "threads": check_threads(threads)}
    shared = {"seq_len": seq_len, "batch": positive("batch", batch), **place}
    axes = axes_of(frameworks, seeds)
    drawn = [c for one in tasks for c in as_drawn(layers, one, chosen, frameworks, seeds, folder, place)]
    own = [word for word in chosen if not (tasks and word.startswith("task."))]
    cells = plan.norm_cells(layers, kinds, d_model=d_model, state=state, settings=own, axes=axes, **shared)
    with Progress("preparing data") as progress:
        prepare_data(drawn, folder, progress.advance, progress.say)
    cells += plan.data_norm_cells(drawn, batch)
    trained, files = plan.trained_norm_cells(weights, kinds, frameworks, shared)
    training = {"data_dir": str(folder), "weights": files}
    effort = Effort(inline=inline, again=again, retry=retries(retry), training=training)
    measure_and_tell("norms", cells + trained, out, effort, wait, json)


@study_app.command()
def equivalence(
    framework: Framework = ["all"],
    seeds: Seeds = ["0:3"],
    d_model: Width = 8,
    d_state: Annotated[int, typer.Option("--d-state", help="Complex states of the LRU.")] = 16,
    seq_len: Annotated[int, typer.Option("--seq-len", help="Steps.")] = 64,
    batch: Annotated[int, typer.Option("--batch", help="Sequences.")] = 2,
    settings: Set = [],
    device: Device = "cpu",
    threads: Threads = 0,
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    inline: Inline = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Turn an LRU into a multi-head RotRNN and back, in float64; exit 1 where outputs differ by over 1e-12."""
    from benchmark.studies.equivalence import BOUND
    from benchmark.studies.plan import equivalence_cells
    from benchmark.sweeps.grid import words
    from benchmark.sweeps.plan import check_threads, framework_names, positive
    from benchmark.sweeps.run import Effort

    axes = axes_of(framework_names(framework), seeds)
    sizes = {"seq_len": positive("seq-len", seq_len), "batch": positive("batch", batch)}
    place = {"device": device, "threads": check_threads(threads)}
    cells = equivalence_cells(d_model, d_state, axes, words(settings), **sizes, **place)
    effort = Effort(inline=inline, again=again, retry=retries(retry))
    rows = measure_and_tell("equivalence", cells, out, effort, wait, json)
    leave(OK if max(error for row in rows for error in row.detail["errors"].values()) <= BOUND else CHECK_FAILED)


@study_app.command()
@with_recipe
def period(
    overrides: dict[str, Any],
    layer: Layer = ["all"],
    framework: First = [],
    seeds: Seeds = SEEDS,
    state: State = 16,
    settings: Set = [],
    device: Device = "cpu",
    threads: Threads = 0,
    out: Folder = RUNS,
    json: Json = False,
    wait: Wait = False,
    inline: Inline = False,
    again: Again = False,
    retry: Retry = [],
) -> None:
    """Train a block on a sinusoid and read the angle that it learned; then hold the angle at the true one."""
    from benchmark.spec import UserError
    from benchmark.studies.plan import period_cells
    from benchmark.sweeps.grid import words
    from benchmark.sweeps.plan import check_threads, layer_names
    from benchmark.sweeps.run import Effort

    d_model = overrides.pop("d_model", 8)
    if "d_state" in overrides:
        raise UserError("this study takes the d_state that gives every layer one state size: give --state")
    cells = period_cells(
        layer_names(layer),
        d_model=d_model,
        state=state,
        overrides=overrides,
        settings=words(settings),
        axes=axes_of(frameworks_or_first(framework), seeds),
        device=device,
        threads=check_threads(threads),
    )
    effort = Effort(inline=inline, again=again, retry=retries(retry))
    measure_and_tell("period", cells, out, effort, wait, json)
