"""From axes to cells. Everything that can be refused is refused here, before anything is measured."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

from benchmark import backends
from benchmark.spec import LAYERS, UserError, unknown
from benchmark.spec.costs import DIRECTIONS
from benchmark.spec.devices import parse_device
from benchmark.sweeps.cell import Cell, Value, checked_algorithm, layer_spec
from benchmark.sweeps.grid import numbers, options, product, words
from benchmark.sweeps.process import PROBE, run_job, worker_environment
from benchmark.tasks import task as task_named
from benchmark.training.recipes import LAYER_OPTIONS, SIZES, recipe

Dtype = Literal["float32", "float64"]
DTYPES: tuple[str, ...] = ("float32", "float64")


def speed_cells(
    *,
    layers: Iterable[str],
    frameworks: Iterable[str],
    algorithms: Iterable[str],
    seq_lens: Iterable[str],
    batches: Iterable[str],
    d_models: Iterable[str],
    d_states: Iterable[str],
    directions: Iterable[str],
    dtypes: Iterable[str],
    device: str,
    threads: int,
    settings: Iterable[str],
    seed: int,
) -> list[Cell]:
    """The timing cells of every combination of the axes, as they are typed on the command line.

    Raises:
        UserError: for the first value that cannot be served.
    """
    names = layer_names(layers)
    chosen = layer_options(names, settings)
    axes = product(
        layer=names,
        framework=framework_names(frameworks),
        algorithm=words(algorithms) or ["auto"],
        direction=[known("direction", word, DIRECTIONS) for word in words(directions)] or ["forward"],
        dtype=dtype_names(dtypes),
        d_model=numbers("d-model", d_models),
        d_state=numbers("d-state", d_states),
        batch=numbers("batch", batches),
        seq_len=numbers("seq-len", seq_lens),
    )
    check_device(device, framework_names(frameworks))
    shared = {"metric": "speed", "device": device, "threads": check_threads(threads), "seed": check_seed(seed)}
    cells = []
    for values in axes:
        spec = layer_spec(
            str(values["layer"]),
            cast(int, values["d_model"]),
            cast(int, values["d_state"]),
            chosen[str(values["layer"])],
        )
        checked_algorithm(spec, str(values["algorithm"]))
        if values["direction"] == "step":
            values["seq_len"] = None
            if spec.bidirectional:
                raise UserError("direction step needs a layer with a carried state: leave out bidirectional=true")
        cells.append(Cell(**shared, **values, options=spec.options))  # type: ignore[arg-type]
    return list({cell.id: cell for cell in cells}.values())


def train_cells(
    task: str,
    *,
    layers: Iterable[str],
    frameworks: Iterable[str],
    seeds: Sequence[int],
    device: str,
    threads: int,
    algorithm: str,
    settings: Iterable[str],
    d_model: int | None,
    d_state: int | None,
    overrides: dict[str, Any],
) -> list[Cell]:
    """The training cells of every layer, framework and seed.

    Raises:
        UserError: for the first value that cannot be served.
    """
    task_named(task)
    names, chosen_frameworks = layer_names(layers), framework_names(frameworks)
    chosen, defaults = layer_options(names, settings), LAYER_OPTIONS.get(task, {})
    made = recipe(task, **overrides)
    check_device(device, chosen_frameworks)
    sizes = {"d_model": d_model or SIZES[task]["d_model"], "d_state": d_state or SIZES[task]["d_state"]}
    cells = []
    for values in product(framework=chosen_frameworks, layer=names, seed=[check_seed(s) for s in seeds]):
        name = str(values["layer"])
        spec = layer_spec(name, sizes["d_model"], sizes["d_state"], defaults.get(name, {}) | chosen[name])
        fields: dict[str, Any] = (
            values | sizes | {"options": spec.options, "algorithm": checked_algorithm(spec, algorithm)}
        )
        cells.append(
            Cell(
                metric="train",
                device=device,
                threads=check_threads(threads),
                batch=made.batch,
                task=task,
                recipe=made,
                **fields,
            )
        )
    return cells


def layer_names(given: Iterable[str]) -> list[str]:
    """Layers by name, ``all`` for every one."""
    names = words(given) or ["all"]
    return list(LAYERS) if names == ["all"] else [known("layer", name, LAYERS) for name in names]


def framework_names(given: Iterable[str]) -> list[str]:
    """Frameworks by name, each installed; ``all`` for every installed one."""
    names = words(given) or ["all"]
    if names == ["all"]:
        names = list(backends.installed())
        if not names:
            raise UserError("no framework is installed: pip install 'rotbench[torch]' or 'rotbench[jax]'")
    for name in names:
        backends.require(name)
    return names


def dtype_names(given: Iterable[str]) -> list[Dtype]:
    """Dtypes by name."""
    return [cast(Dtype, known("dtype", word, DTYPES)) for word in words(given)] or ["float32"]


def layer_options(layers: Sequence[str], settings: Iterable[str]) -> dict[str, dict[str, Value]]:
    """The ``--set`` words by layer."""
    return options(layers, {name: LAYERS[name].option_names() for name in layers}, settings)


def known(kind: str, word: str, among: Iterable[str]) -> str:
    """``word``, if it is among the known ones. Raises UserError otherwise."""
    listed = list(among)
    if word not in listed:
        raise unknown(kind, word, listed)
    return word


def check_threads(threads: int) -> int:
    """``threads``, 0 for as many as this process may use. Raises UserError for more than that."""
    most = available_processors()
    if not 0 <= threads <= most:
        raise UserError(f"threads must lie between 1 and the {most} processors available here, got {threads}")
    return threads or most


def available_processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_seed(seed: int) -> int:
    """``seed``, if it is not negative. Raises UserError otherwise."""
    if seed < 0:
        raise UserError(f"a seed must not be negative, got {seed}")
    return seed


def check_device(device: str, frameworks: Iterable[str]) -> None:
    """Raise UserError unless every framework can run on the device; asks each in a process of its own."""
    kind, _ = parse_device(device)
    if kind == "cpu":
        return
    for framework in frameworks:
        payload = {"framework": framework, "device": device}
        outcome = run_job(PROBE, payload, worker_environment(threads=1, device=device), timeout_s=120)
        if outcome.status != "ok":
            raise UserError(f"--device {device}: {outcome.reason}")
