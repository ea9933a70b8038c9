"""Studies that are made of ordinary trainings: which arms each compares."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from benchmark.spec import LAYERS, UserError
from benchmark.studies.sizes import matched_d_state
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.grid import options
from benchmark.sweeps.train_plan import train_cells
from benchmark.tasks import task as task_named
from benchmark.training.recipes import course

Overrides = Mapping[str, Any]


class Arm(NamedTuple):
    """A layer as it is trained in one arm of a study, by ``--set`` words and by values of the recipe."""

    layer: str
    settings: tuple[str, ...] = ()
    overrides: Overrides = MappingProxyType({})


NORMALISER = (
    *(Arm("rotrnn", (f"normalizer={word}",)) for word in ("stationary", "exact", "none")),
    Arm("rotrnn", ("mixing=identity",)),
    *(Arm("lru", (f"gamma={word}",)) for word in ("learned", "recomputed", "none")),
)
"""The normaliser of each layer in all its forms, and RotRNN without its P."""

MODULI = ((0.5, 0.9), (0.9, 0.999), (0.99, 0.9999))
STEPS = ((0.0001, 0.01), (0.001, 0.1), (0.01, 1.0))
STATE_A_FEATURE = 4
"""Real numbers of state to each feature where layers are matched: S4D has at least two, in pairs."""

SMALL_WIDTH, MOST_EPOCHS = 16, 6
"""Features and passes of preset small in these studies: many trainings, each of a few seconds, far from the ceiling."""

MODULUS = {"rotrnn": ("gamma_min", "gamma_max"), "lru": ("r_min", "r_max")}
"""The names that each layer has for the range of its initial moduli."""


def initialisation(layers: Sequence[str]) -> list[Arm]:
    """Three ranges each: of initial moduli, the same for RotRNN and LRU; of initial step sizes for S4D and S5."""
    return [Arm(layer, words) for layer in layers for words in ranges_of(layer)]


def ranges_of(layer: str) -> list[tuple[str, ...]]:
    """The ``--set`` words of each range of a layer's initial values."""
    if layer not in MODULUS:
        return [(f"dt_min={a}", f"dt_max={b}") for a, b in STEPS]
    low, high = MODULUS[layer]
    return [(f"{low}={a}", f"{high}={b}") for a, b in MODULI]


def hybrid(layers: Sequence[str], blocks: int = 1) -> list[Arm]:
    """Each layer alone, and before so many blocks of attention."""
    return [Arm(layer, (), {"attention": count}) for layer in layers for count in (0, blocks)]


def sized(arms: Iterable[Arm], task: str, preset: str, overrides: Overrides) -> list[Arm]:
    """The arms of preset small at a small width, in few epochs and at one real state size; of others as they are.

    A width, a number of epochs or steps, or a d_state that is given stays as it is.

    Raises:
        UserError: for a layer that has no such state.
    """
    if preset != "small":
        return list(arms)
    found = []
    for arm in arms:
        base = {**_short(task, arm.layer, overrides), **overrides, **arm.overrides}
        if "d_state" not in overrides:
            base["d_state"] = _matched(arm.layer, task, preset, base)
        found.append(arm._replace(overrides=base))
    return found


def _short(task: str, layer: str, overrides: Overrides) -> dict[str, Any]:
    """The width and the passes of a short training; no passes where steps decide."""
    recipe = course(task, layer, "small").recipe
    steps = overrides.get("steps", recipe.steps)
    passes = {} if steps else {"epochs": min(recipe.epochs, MOST_EPOCHS)}
    return {"d_model": SMALL_WIDTH} | passes


def matched(arms: Iterable[Arm], task: str, preset: str, overrides: Overrides) -> list[Arm]:
    """The arms at one real state size, so many numbers a feature; those of preset small as ``sized`` has them.

    Raises:
        UserError: for a layer that has no such state, or a d_state, which would undo this.
    """
    if "d_state" in overrides:
        raise UserError("this study takes the d_state that gives every layer one state size: leave out --d-state")
    if preset == "small":
        return sized(arms, task, preset, overrides)
    return [
        arm._replace(overrides={**arm.overrides, "d_state": _matched(arm.layer, task, preset, overrides)})
        for arm in arms
    ]


def _matched(layer: str, task: str, preset: str, overrides: Overrides) -> int:
    """The d_state of the layer with so many real numbers of state a feature."""
    plan = course(task, layer, preset, overrides)
    return matched_d_state(layer, plan.sizes["d_model"], STATE_A_FEATURE * plan.sizes["d_model"], plan.options)


def cells_of_arms(
    arms: Sequence[Arm], task: str, settings: Sequence[str], *, overrides: Overrides, **shared: Any
) -> list[Cell]:
    """The training cells of every arm.

    Args:
        arms: what is compared.
        task: its name.
        settings: further ``--set`` words, each for those layers that have the option.
        overrides: values of the recipe, over which an arm's own win.
        shared: the other arguments of ``train_cells``.

    Raises:
        UserError: for the first value that cannot be served.
    """
    layers = list(dict.fromkeys(arm.layer for arm in arms))
    listed = {name: LAYERS[name].option_names() for name in layers} | {"task": task_named(task).option_names()}
    options([*layers, "task"], listed, settings)
    cells = []
    for arm in arms:
        words = [*settings_for(arm.layer, settings), *arm.settings]
        given = {**overrides, **arm.overrides}
        cells += train_cells(task, layers=[arm.layer], settings=words, overrides=given, **shared)
    return list({cell.id: cell for cell in cells}.values())


def as_drawn(
    layers: Sequence[str],
    task: str,
    settings: Sequence[str],
    frameworks: Sequence[str],
    seeds: Sequence[str],
    data_dir: Path,
    place: Mapping[str, Any],
) -> list[Cell]:
    """Trainings of preset small, one a layer, to look at their models before they begin.

    Args:
        layers: names.
        task: its name.
        settings: ``--set`` words.
        frameworks: names.
        seeds: numbers or ranges.
        data_dir: where data sets are.
        place: device and threads.
    """
    shared: dict[str, Any] = {"algorithm": "auto", "precision": ["fp32"], "preset": "small", "data": "auto"}
    shared |= {"frameworks": frameworks, "seeds": seeds, "data_dir": data_dir}
    return cells_of_arms([Arm(name) for name in layers], task, settings, overrides={}, **shared, **place)


def settings_for(layer: str, settings: Iterable[str]) -> list[str]:
    """The ``--set`` words that concern a layer or the task.

    >>> settings_for("lru", ["heads=4", "r_max=0.9", "s5.blocks=2", "task.length=100"])
    ['r_max=0.9', 'task.length=100']
    """
    found = []
    for setting in settings:
        prefix, dot, name = setting.partition("=")[0].strip().rpartition(".")
        if prefix in {layer, "task"} if dot else name in LAYERS[layer].option_names():
            found.append(setting)
    return found
