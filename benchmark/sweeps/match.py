"""Sizes that make layers comparable: equal state, parameters, FLOPs or time."""

import math
from collections.abc import Callable
from typing import NamedTuple

from benchmark.spec import LayerSpec, UserError
from benchmark.sweeps.cell import Cell, layer_spec
from benchmark.sweeps.process import Limits, Pool, worker_environment

LARGEST_STATE = 8192
TRIALS = 6
"""Sizes that are timed for each layer when times are matched."""

TIMED = {"budget_s": 0.3, "warmup_s": 0.05}


class Match(NamedTuple):
    """What was chosen for one layer: the quantity at its new size, against the first layer's."""

    what: str
    layer: str
    framework: str
    d_state: int
    value: float
    target: float

    @property
    def off_by(self) -> float:
        """The relative difference that is left."""
        return self.value / self.target - 1


def matched(
    cells: list[Cell], what: str, on_trial: Callable[[str], None] = lambda _: None
) -> tuple[list[Cell], list[Match]]:
    """Cells whose d_state is such that a quantity is nearest to that of the first layer; and how near.

    Cells are compared that differ in nothing but layer and options. The first layer among them keeps
    its d_state.

    Args:
        cells: of one or several layers.
        what: state (real numbers carried), params (of the layer), flops (of one call) or time (of one
            call, measured).
        on_trial: told of each size that is timed.
    """
    leaders: dict[str, Cell] = {}
    found, matches = [], {}
    targets: dict[str, float] = {}
    with Pool() as pool:
        for cell in cells:
            key = _rest(cell)
            leader = leaders.setdefault(key, cell)
            if leader is cell:
                found.append(cell)
                continue
            if key not in targets:
                targets[key] = _quantity(leader, what, pool, on_trial)
            d_state, value = _nearest(cell, what, targets[key], pool, on_trial)
            found.append(cell.model_copy(update={"d_state": d_state}))
            matches[cell.layer, key] = Match(what, cell.layer, cell.framework, d_state, value, targets[key])
    return list({cell.id: cell for cell in found}.values()), list(matches.values())


def _rest(cell: Cell) -> str:
    """All that must be equal between cells that are matched."""
    return cell.model_copy(update={"layer": "", "options": {}}).model_dump_json()


def _quantity(cell: Cell, what: str, pool: Pool, on_trial: Callable[[str], None]) -> float:
    spec = cell.spec
    match what:
        case "state":
            return spec.real_state_size
        case "params":
            return spec.param_count
        case "flops":
            return _flops(cell, spec)
    return _time(cell, pool, on_trial)


def _flops(cell: Cell, spec: LayerSpec) -> float:
    """Of one call; ``auto`` is counted as the sequential scan, and as the FFT for a per-channel layer."""
    auto = "fft" if spec.per_channel else "sequential"
    algorithm = auto if cell.algorithm == "auto" else cell.algorithm
    return sum(spec.flops(cell.seq_len or 1, cell.batch, algorithm, cell.direction or "forward").values())


def _time(cell: Cell, pool: Pool, on_trial: Callable[[str], None]) -> float:
    """Milliseconds of one call, by one short measurement."""
    variables = worker_environment(threads=cell.threads, device=cell.device, dtype=cell.dtype)
    payload = {"cell": cell.cell_values(), "plan": TIMED}
    outcome = pool.run(
        "benchmark.sweeps.jobs:speed", payload, variables, framework=cell.framework, limits=Limits(timeout_s=600)
    )
    if outcome.status != "ok" or outcome.result is None:
        raise UserError(f"--match time: {cell.layer} in {cell.framework} could not be timed: {outcome.reason}")
    samples = sorted(outcome.result["samples_ms"])
    median = float(samples[len(samples) // 2])
    on_trial(f"{cell.framework} {cell.layer} d_state {cell.d_state}: {median:.3g} ms")
    return median


def _nearest(cell: Cell, what: str, target: float, pool: Pool, on_trial: Callable[[str], None]) -> tuple[int, float]:
    """The valid d_state whose quantity is nearest to the target on a logarithmic scale, and that quantity."""
    sizes = valid_sizes(cell)

    def value(size: int) -> float:
        return _quantity(cell.model_copy(update={"d_state": size}), what, pool, on_trial)

    if what != "time":
        return min(((size, value(size)) for size in sizes), key=lambda pair: _distance(pair[1], target))
    tried: dict[int, float] = {}
    size = min(sizes, key=lambda s: _distance(s, cell.d_state))
    for _ in range(TRIALS):
        tried[size] = value(size)
        # times grow about in proportion to the state, once it is large: aim with that, then again from there
        aim = size * target / tried[size]
        size = min(sizes, key=lambda s: _distance(s, aim))
        if size in tried:
            break
    best = min(tried, key=lambda s: _distance(tried[s], target))
    return best, tried[best]


def valid_sizes(cell: Cell) -> list[int]:
    """Every d_state up to LARGEST_STATE that the layer takes with its options."""
    found = []
    for size in range(1, LARGEST_STATE + 1):
        try:
            layer_spec(cell.layer, cell.d_model, size, cell.options)
        except UserError:
            continue
        found.append(size)
    if not found:
        raise UserError(f"--match: {cell.layer} with {cell.options} takes no d_state up to {LARGEST_STATE}")
    return found


def _distance(a: float, b: float) -> float:
    return abs(math.log(a / b))
