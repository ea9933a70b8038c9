"""Commands of the studies that are made of trainings."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

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
from benchmark.commands.running import training_effort
from benchmark.commands.study_options import (
    SEEDS,
    Seeds,
    Set,
    frameworks_or_first,
    measure_and_tell,
)
from benchmark.console import Progress

if TYPE_CHECKING:
    from benchmark.studies.trainings import Arm

Arms = Callable[..., "list[Arm]"]


def training_study(name: str, text: str, arms: Arms, layers: Words) -> Callable[..., None]:
    """The command of a study that is made of trainings.

    Args:
        name: of the study.
        text: what the command's help says.
        arms: from layers, task, preset and overrides to what is compared.
        layers: those that it trains by default.
    """

    @with_recipe
    def command(
        overrides: dict[str, Any],
        layer: Layer = layers,
        task: Annotated[Words, typer.Option("--task", help="Tasks, see rotbench list; repeat it.")] = ["digits"],
        framework: First = [],
        seeds: Seeds = SEEDS,
        preset: Annotated[
            str, typer.Option("--preset", help="small: minutes on a CPU; paper: as published.")
        ] = "small",
        data: Annotated[str, typer.Option("--data", help="auto, real, generated, stand-in.")] = "auto",
        data_dir: DataDir = None,
        device: Device = "cpu",
        threads: Threads = 0,
        settings: Set = [],
        out: Folder = RUNS,
        json: Json = False,
        wait: Wait = False,
        inline: Inline = False,
        fail_fast: FailFast = False,
        again: Again = False,
        retry: Retry = [],
    ) -> None:
        from benchmark.data.folder import data_dir as folder_of
        from benchmark.studies.trainings import cells_of_arms
        from benchmark.sweeps.grid import words
        from benchmark.sweeps.plan import layer_names

        folder, frameworks = folder_of(data_dir), frameworks_or_first(framework)
        shared: dict[str, Any] = {"frameworks": frameworks, "seeds": seeds, "device": device, "threads": threads}
        shared |= {"algorithm": "auto", "precision": ["fp32"], "preset": preset, "data": data, "data_dir": folder}
        cells = []
        with Progress("preparing data") as progress:
            shared |= {"tell": progress.advance, "say": progress.say}
            for one in words(task):
                made = arms(layer_names(layer), one, preset, overrides)
                cells += cells_of_arms(made, one, words(settings), overrides=overrides, **shared)
            how = {"inline": inline, "fail_fast": fail_fast, "again": again}
            effort = training_effort(cells, preset, folder, progress, retry=retry, **how)
        measure_and_tell(name, cells, out, effort, wait, json)

    command.__doc__ = text
    return command


def normaliser_arms(layers: Words, task: str, preset: str, overrides: dict[str, Any]) -> "list[Arm]":
    """Those of the layers that have a normaliser."""
    from benchmark.spec import UserError
    from benchmark.studies.trainings import NORMALISER, sized

    found = [arm for arm in NORMALISER if arm.layer in layers]
    if not found:
        raise UserError(f"only rotrnn and lru have a normaliser to leave out, got {', '.join(layers)}")
    return sized(found, task, preset, overrides)


def initialisation_arms(layers: Words, task: str, preset: str, overrides: dict[str, Any]) -> "list[Arm]":
    """Ranges of initial values, at one real state size."""
    from benchmark.studies.trainings import initialisation, matched

    return matched(initialisation(layers), task, preset, overrides)


def hybrid_arms(layers: Words, task: str, preset: str, overrides: dict[str, Any]) -> "list[Arm]":
    """With attention and without."""
    from benchmark.studies.trainings import hybrid, sized

    rest = {name: value for name, value in overrides.items() if name != "attention"}
    return sized(hybrid(layers, overrides.get("attention", 1)), task, preset, rest)


normaliser = training_study(
    "normaliser",
    "Train RotRNN with each normaliser and without P, and LRU with each gamma, from the same seeds.",
    normaliser_arms,
    ["rotrnn,lru"],
)
initialisation = training_study(
    "initialisation",
    "Train each layer from several ranges of initial moduli, phases and steps, at one real state size.",
    initialisation_arms,
    ["all"],
)
hybrid = training_study(
    "hybrid", "Train each layer alone and before a block of causal attention.", hybrid_arms, ["all"]
)
