"""What the layers should reach on a machine, as ratios of two cells that one sweep measures."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from benchmark.spec import LAYERS
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.plan import check_threads, framework_names

Quantity = Literal["time", "memory", "compile", "XLA temp"]

B, L, H = 8, 4096, 128
LONG = 16384
STATES: dict[str, int] = {"rotrnn": 128, "lru": 64, "s5": 128, "s4d": 64}
"""By layer, the d_state that gives 64 complex states, and 32 modes a channel to S4D."""

SHARED = ("lru", "s5", "rotrnn")
PASSES = ("forward", "forward+backward")


class Mark(NamedTuple):
    """The ratio of a quantity of two cells, and the bound that it should keep."""

    what: str
    quantity: Quantity
    top: Cell
    bottom: Cell
    bound: float
    at_most: bool
    """Whether the bound is an upper one; else a lower one."""


def marks(frameworks: Sequence[str], threads: int) -> list[Mark]:
    """Every mark for the frameworks.

    Raises:
        UserError: for a framework that is unknown or not installed, or too many threads.
    """
    shared: dict[str, Any] = {"threads": check_threads(threads)}
    makers = {"torch": _torch, "jax": _jax}
    return [mark for name in framework_names(frameworks) for mark in makers[name](shared)]


def _torch(shared: dict[str, Any]) -> Iterator[Mark]:
    for layer in SHARED:
        for direction, reach, plain in zip(PASSES, (1.25, 1.5), (2.2, 2.9), strict=True):
            floor = _cell("torch", layer, direction, subject="projections", **shared)
            auto, chunked = (_cell("torch", layer, direction, algorithm=name, **shared) for name in ("auto", "chunked"))
            yield Mark(f"torch {layer}, auto over its projections", "time", auto, floor, reach, True)
            yield Mark(f"torch {layer}, pure torch over its projections", "time", chunked, floor, plain, True)
    for direction in PASSES:
        auto, peer = (_cell("torch", "s5", direction, subject=name, **shared) for name in ("layer", "s5-pytorch"))
        yield Mark("torch s5, s5-pytorch over auto", "time", peer, auto, 4, False)
    yield _memory("torch s5, auto over s5-pytorch", auto, peer, 0.4)
    for direction in PASSES:
        auto, published = (
            _cell("torch", "s4d", direction, algorithm=name, **shared) for name in ("auto", "vandermonde")
        )
        yield Mark("torch s4d, vandermonde over auto", "time", published, auto, 5, False)
    yield _memory("torch s4d, auto over vandermonde", auto, published, 0.4)


def _jax(shared: dict[str, Any]) -> Iterator[Mark]:
    for layer in SHARED:
        for direction in PASSES:
            floor = _cell("jax", layer, direction, subject="projections", **shared)
            auto, plain = (_cell("jax", layer, direction, algorithm=name, **shared) for name in ("auto", "sequential"))
            yield Mark(f"jax {layer}, auto over its projections", "time", auto, floor, 1.7, True)
            yield Mark(f"jax {layer}, pure jax over its projections", "time", plain, floor, 2.2, True)
    auto, pairs = (
        _cell("jax", "lru", "forward", subject="scan", algorithm=name, **shared) for name in ("auto", "associative")
    )
    yield Mark("jax scan alone, associative over auto", "time", pairs, auto, 1.9, False)
    once = shared | {"seq_len": LONG, "batch": 1, "metric": "memory"}
    auto = _cell("jax", "lru", "forward+backward", **once)
    published = _cell("jax", "lru", "forward+backward", subject="published", **once)
    pairs = _cell("jax", "lru", "forward+backward", algorithm="associative", **once)
    for name, other in (("published form", published), ("associative", pairs)):
        yield Mark(f"jax lru, {name} over auto", "compile", other, auto, 10, False)
        yield Mark(f"jax lru, auto over {name}", "XLA temp", auto, other, 0.5, True)


def _memory(what: str, ours: Cell, theirs: Cell, bound: float) -> Mark:
    top, bottom = (cell.model_copy(update={"metric": "memory"}) for cell in (ours, theirs))
    return Mark(what, "memory", top, bottom, bound, True)


def _cell(framework: str, layer: str, direction: str, **values: Any) -> Cell:
    sizes: dict[str, Any] = {"seq_len": L, "batch": B, "d_model": H, "d_state": STATES[layer], "metric": "speed"}
    spec = LAYERS[layer](d_model=H, d_state=STATES[layer])
    named: dict[str, Any] = {"framework": framework, "layer": layer, "direction": direction, "options": spec.options}
    return Cell(**(sizes | named | values))


def peer_cells(seq_len: int, batch: int, threads: int) -> list[Cell]:
    """Our layers in torch and the public implementations at the same sizes, forward and forward+backward.

    Raises:
        UserError: for too many threads.
    """
    shared: dict[str, Any] = {"threads": check_threads(threads), "seq_len": seq_len, "batch": batch}
    pairs = [("s5", "s5-pytorch"), ("lru", "lru-pytorch"), ("lru", "accelerated-scan")]
    subjects = dict.fromkeys([*((layer, "layer") for layer, _ in pairs), *pairs])
    return [
        _cell("torch", layer, direction, subject=subject, **shared)
        for direction in PASSES
        for layer, subject in subjects
    ]
