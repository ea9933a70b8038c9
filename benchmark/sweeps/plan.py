"""From settings to cells. Everything that can be refused is refused here, before anything is measured."""

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any, get_args

from benchmark import backends
from benchmark.spec import LAYERS, UserError, unknown
from benchmark.spec.algorithms import algorithms_of, check_algorithm
from benchmark.spec.base import LARGEST
from benchmark.spec.costs import DIRECTIONS
from benchmark.spec.devices import DTYPES, PRECISIONS, parse_device
from benchmark.spec.errors import short
from benchmark.sweeps.cell import Cache, Cell, Compiled, Mode, Value, layer_spec
from benchmark.sweeps.config import Sweep
from benchmark.sweeps.grid import numbers, options, product, words
from benchmark.sweeps.process import PROBE, Limits, Pool, worker_environment

LEAST_MEMORY = 512 << 20
UNITS = {"": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def sweep_cells(sweep: Sweep, metrics: Sequence[str]) -> list[Cell]:
    """The cells of every combination of the sweep's axes, for each metric.

    Raises:
        UserError: for the first value that cannot be served. Whether the device is here is not
            looked at: see ``check_device``.
    """
    layers, frameworks = layer_names(sweep.layer), framework_names(sweep.framework)
    chosen = layer_options(layers, sweep.settings)
    axes = product(
        metric=metrics,
        layer=layers,
        framework=frameworks,
        algorithm=words(sweep.algorithm) or ["auto"],
        direction=each("direction", sweep.direction, DIRECTIONS),
        dtype=each("dtype", sweep.dtype, DTYPES),
        compiled=each("compiled", sweep.compiled, get_args(Compiled)),
        precision=each("precision", sweep.precision, PRECISIONS),
        cache=each("cache", sweep.cache, get_args(Cache)),
        mode=each("mode", sweep.mode, get_args(Mode)),
        d_model=numbers("d-model", sweep.d_model),
        d_state=numbers("d-state", sweep.d_state),
        batch=numbers("batch", sweep.batch),
        seq_len=numbers("seq-len", sweep.seq_len),
        replicate=range(positive("replicates", sweep.replicates)),
    )
    parse_device(sweep.device)
    shared = {"device": sweep.device, "threads": check_threads(sweep.threads), "seed": check_seed(sweep.seed)}
    cells = [_cell(shared | values, chosen) for values in axes]
    return list({cell.id: cell for cell in cells}.values())


def _cell(values: dict[str, Any], chosen: dict[str, dict[str, Value]]) -> Cell:
    """One cell, checked: the layer takes its sizes, options, algorithm and direction."""
    spec = layer_spec(values["layer"], values["d_model"], values["d_state"], chosen[values["layer"]])
    check_algorithm(values["algorithm"], algorithms_of(spec), spec.name)
    if values["direction"] == "step":
        if spec.bidirectional:
            raise UserError("direction step needs a layer with a carried state: leave out bidirectional=true")
        values = values | {"seq_len": None, "algorithm": "auto"}  # one step has neither length nor algorithm
    return Cell(**values, options=spec.options)


def limits_of(sweep: Sweep) -> Limits:
    """The bounds of each process. Raises UserError for what is no bound."""
    if not sweep.timeout_s > 0:
        raise UserError(f"timeout_s must be a positive number, got {sweep.timeout_s}")
    return Limits(timeout_s=sweep.timeout_s, memory_bytes=parse_bytes(sweep.memory_limit))


def plan_of(sweep: Sweep) -> dict[str, Any]:
    """Fields of metrics.timing.Plan. Raises UserError for what is out of range."""
    for name in ("budget_s", "target"):
        value = getattr(sweep, name)
        if not (math.isfinite(value) and value > 0):
            raise UserError(f"{name} must be a positive number, got {value}")
    positive("processes", sweep.processes)
    return {"budget_s": sweep.budget_s, "precision": sweep.target}


def parse_bytes(text: str) -> int | None:
    """A size such as 8GiB or 500MB; None for none.

    >>> parse_bytes("1.5 GiB"), parse_bytes("none")
    (1610612736, None)
    """
    if text.strip().lower() == "none":
        return None
    number, unit = text.strip().upper(), ""
    while number and not (number[-1].isdigit() or number[-1] == "."):
        number, unit = number[:-1], number[-1] + unit
    try:
        size = float(number) * UNITS[unit.strip()]
    except (ValueError, KeyError):
        raise UserError(f"memory_limit must be a size such as 8GiB, or none, got {text!r}") from None
    if not (math.isfinite(size) and size >= LEAST_MEMORY):
        least = f"{LEAST_MEMORY >> 20}MiB, what a process needs to start"
        raise UserError(f"memory_limit must be at least {least}; got {text!r}")
    return int(size)


def layer_names(given: Iterable[str]) -> list[str]:
    """Layers by name, ``all`` for every one."""
    names = words(given)
    return list(LAYERS) if not names or "all" in names else each("layer", names, LAYERS)


def framework_names(given: Iterable[str]) -> list[str]:
    """Frameworks by name, each installed; ``all`` for every installed one."""
    names = words(given)
    if not names or "all" in names:
        names = list(backends.installed())
        if not names:
            raise UserError("no framework is installed: pip install 'rotbench[torch]' or 'rotbench[jax]'")
    for name in names:
        backends.require(name)
    return names


def each(kind: str, given: Iterable[str], known: Iterable[str]) -> list[str]:
    """The words, if all are among the known ones. Raises UserError otherwise, and where there is none."""
    listed, found = list(known), words(given)
    for word in found:
        if word not in listed:
            raise unknown(kind, word, listed)
    if not found:
        raise UserError(f"{kind} needs at least one of: {', '.join(listed)}")
    return found


def layer_options(layers: Sequence[str], settings: Iterable[str]) -> dict[str, dict[str, Value]]:
    """The ``--set`` words by layer."""
    return options(layers, {name: LAYERS[name].option_names() for name in layers}, settings)


def positive(name: str, value: int) -> int:
    """``value``, if it is at least 1 and no absurd size. Raises UserError otherwise."""
    if not 1 <= value <= LARGEST:
        raise UserError(f"{name} must be a positive integer up to {LARGEST:,}, got {short(value)}")
    return value


def check_threads(threads: int) -> int:
    """``threads``, 0 for as many as this process may use. Raises UserError for more than that."""
    most = available_processors()
    if not 0 <= threads <= most:
        raise UserError(f"threads must lie between 0 (all) and the {most} processors available here, got {threads}")
    return threads or most


def available_processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_seed(seed: int) -> int:
    """``seed``, if it is one. Raises UserError otherwise."""
    if not 0 <= seed < 1 << 32:
        raise UserError(f"a seed must lie between 0 and {(1 << 32) - 1:,}, got {short(seed)}")
    return seed


def check_device(device: str, frameworks: Iterable[str]) -> None:
    """Raise UserError unless every framework can run on the device; asks each in a process of its own."""
    kind, _ = parse_device(device)
    if kind == "cpu":
        return
    with Pool("spawn") as pool:
        for framework in frameworks:
            payload = {"framework": framework, "device": device}
            variables = worker_environment(threads=0, device=device)
            outcome = pool.run(PROBE, payload, variables, limits=Limits(timeout_s=120))
            if outcome.status != "ok":
                raise UserError(f"--device {device}: {outcome.reason}")
