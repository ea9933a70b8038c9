"""The cells of the studies that are no trainings: norms, equivalence, period."""

from collections.abc import Iterable, Mapping, Sequence
from filecmp import cmp
from pathlib import Path
from typing import Any

from benchmark.spec import LAYERS, UserError
from benchmark.store.trained import weight_files
from benchmark.studies.names import Study
from benchmark.studies.period import ARMS, Sinusoid
from benchmark.studies.sizes import matched_d_state
from benchmark.studies.trainings import settings_for
from benchmark.sweeps.cell import Cell, Value, layer_spec
from benchmark.sweeps.grid import options
from benchmark.sweeps.plan import layer_options
from benchmark.sweeps.recipe import Recipe
from benchmark.training.checkpoint import described_by
from benchmark.training.recipes import course

VARIANTS: Mapping[str, Sequence[Mapping[str, Value]]] = {
    "rotrnn": ({}, {"normalizer": "exact"}, {"normalizer": "none"}),
    "lru": ({}, {"gamma": "none"}),
}
"""Beside each layer as published: its normaliser in other forms, where it has one."""

PERIOD_OPTIONS: Mapping[str, Mapping[str, Value]] = {"rotrnn": {"heads": 2}}
"""Where a layer's own options do not suit the small state of the study of a period."""

PERIOD_RECIPE: Mapping[str, Any] = {
    "epochs": 1,
    "batch": 50,
    "depth": 1,
    "lr": 8e-3,
    "recurrence_lr": 1e-2,
    "weight_decay": 0.0,
    "dropout": 0.0,
    "warmup": 0.1,
    "norm": "batch",
    "activation": "half_glu1",
    "pooling": "last",
    "steps": 400,
    "eval_steps": 100,
    "data": "generated",
}


def norm_cells(
    layers: Sequence[str],
    inputs: Iterable[str],
    *,
    d_model: int,
    state: int,
    settings: Sequence[str],
    axes: Sequence[Mapping[str, Any]],
    **shared: Any,
) -> list[Cell]:
    """Layers alone, as drawn.

    Args:
        layers: names.
        inputs: white, constant.
        d_model: features.
        state: real numbers of state of every layer.
        settings: ``--set`` words.
        axes: framework and seed of each cell.
        shared: seq_len, batch, device, threads.
    """
    chosen, cells = layer_options(layers, settings), []
    for name in layers:
        for variant in VARIANTS.get(name, ({},)):
            given = {**variant, **chosen[name]}
            spec = layer_spec(name, d_model, matched_d_state(name, d_model, state, given), given)
            sizes: dict[str, Any] = {
                "layer": name,
                "d_model": d_model,
                "d_state": spec.d_state,
                "options": spec.options,
            }
            words = [str(Study("norms", word)) for word in inputs]
            cells += [Cell(metric="study", task=w, **sizes, **axis, **shared) for axis in axes for w in words]
    return list({cell.id: cell for cell in cells}.values())


def data_norm_cells(trainings: Iterable[Cell], batch: int) -> list[Cell]:
    """Models as drawn for trainings, on a batch of their tasks' data."""
    changes = {"metric": "study", "batch": batch}
    return [cell.model_copy(update=changes | {"task": str(Study("norms", cell.task))}) for cell in trainings]


def trained_norm_cells(
    paths: Sequence[Path], inputs: Sequence[str], frameworks: Sequence[str], shared: Mapping[str, Any]
) -> tuple[list[Cell], dict[str, str]]:
    """Layers after training, with each kind of input and on their task's data; and the files by training.

    Args:
        paths: files of weights, RESULTS/weights/CELL.safetensors or RESULTS/snapshots/CELL/STEP.safetensors, or
            folders of such.
        inputs: white, constant.
        frameworks: in which to look.
        shared: seq_len, batch, device, threads.

    Raises:
        UserError: for a file or folder that holds no weights of a training, and for two files of other contents that
            hold the weights of one training at one step.
    """
    cells: list[Cell] = []
    files: dict[str, str] = {}
    for path in weight_files(paths):
        described = described_by(path)
        trained = Cell.model_validate(described["cell"])
        subject = Study("norms", None, trained.id, described.get("step"))
        own = str(path.absolute())
        known = files.setdefault(str(subject.source), own)
        if known != own and not cmp(known, own, shallow=False):
            raise UserError(f"{known} and {path} hold other weights of one training: name one of them")
        for framework in frameworks:
            changes = {"metric": "study", "framework": framework, **shared}
            for word in (*inputs, trained.task):
                length = shared["seq_len"] if word in inputs else None
                task = str(subject._replace(inputs=word))
                cells.append(trained.model_copy(update=changes | {"task": task, "seq_len": length}))
    return list({cell.id: cell for cell in cells}.values()), files


def equivalence_cells(
    d_model: int, states: int, axes: Sequence[Mapping[str, Any]], settings: Sequence[str], **shared: Any
) -> list[Cell]:
    """An LRU in float64, to be turned into a RotRNN and back.

    Args:
        d_model: features.
        states: complex states.
        axes: framework and seed of each cell.
        settings: ``--set`` words of the LRU.
        shared: seq_len, batch, device, threads.
    """
    chosen = layer_options(["lru"], settings)["lru"]
    spec = layer_spec("lru", d_model, states, chosen)
    sizes: dict[str, Any] = {
        "layer": "lru",
        "d_model": d_model,
        "d_state": states,
        "options": spec.options,
        "dtype": "float64",
    }
    return [Cell(metric="study", task=str(Study("equivalence")), **sizes, **axis, **shared) for axis in axes]


def period_cells(
    layers: Sequence[str],
    *,
    d_model: int,
    state: int,
    overrides: Mapping[str, Any],
    settings: Sequence[str],
    axes: Sequence[Mapping[str, Any]],
    **shared: Any,
) -> list[Cell]:
    """A one-block model on a sinusoid, with angles learned and with angles held at the true one.

    Args:
        layers: names.
        d_model: features.
        state: real numbers of state of every layer.
        overrides: values of the recipe.
        settings: ``--set`` words; those of the sinusoid begin with task.
        axes: framework and seed of each cell.
        shared: device, threads.
    """
    recipe, cells = period_recipe(layers, overrides, settings), []
    for name in layers:
        chosen = layer_options([name], [s for s in settings_for(name, settings) if not s.startswith("task.")])[name]
        chosen = {**PERIOD_OPTIONS.get(name, {}), **chosen}
        spec = layer_spec(name, d_model, matched_d_state(name, d_model, state, chosen), chosen)
        sizes: dict[str, Any] = {"layer": name, "d_model": d_model, "d_state": spec.d_state, "options": spec.options}
        for arm in ARMS:
            fields: dict[str, Any] = sizes | {
                "task": str(Study("period", arm)),
                "recipe": recipe,
                "batch": recipe.batch,
            }
            cells += [Cell(metric="study", **fields, **axis, **shared) for axis in axes]
    return cells


def period_recipe(layers: Sequence[str], overrides: Mapping[str, Any], settings: Sequence[str]) -> Recipe:
    """How the model is trained, with the options of the sinusoid that are not its defaults.

    Raises:
        UserError: for a value out of range, or an option that neither a layer nor the sinusoid has.
    """
    listed = {name: LAYERS[name].option_names() for name in layers} | {"task": Sinusoid.option_names()}
    data = Sinusoid(**options([*layers, "task"], listed, settings)["task"])  # type: ignore[arg-type]
    given = {name: value for name, value in data.options.items() if value != getattr(Sinusoid, name)}
    given_steps = {"steps": None} if "epochs" in overrides and "steps" not in overrides else {}
    recipe = course("adding", layers[0], "small", {**PERIOD_RECIPE, **given_steps, **overrides}).recipe
    return recipe.model_copy(update={"task_options": given})
