"""Layers of equal state on paper: what a call of each costs by formula."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from benchmark.spec import LAYERS, LayerSpec
from benchmark.spec.errors import UserError
from benchmark.store.row import Row

COUNTED = {False: "sequential", True: "fft"}
"""The algorithm that is counted, by whether a layer has a recurrence a channel: that of its paper, as in --match."""


class Size(NamedTuple):
    """A call that is counted."""

    d_model: int
    state: int
    seq_len: int


class Cost(NamedTuple):
    """A layer at a size: FLOPs of one sequence, forward, with gradients, and of one step of decoding."""

    spec: LayerSpec
    forward: int
    training: int
    step: int


SEARCHED = 257
"""Sizes that are tried on either side: more than the largest step between two that a layer takes."""

USUAL = Size(d_model=128, state=256, seq_len=4096)


def sizes(rows: Sequence[Row]) -> list[Size]:
    """The sizes at which RotRNN was timed, at their longest; the usual one where it was not."""
    found: dict[tuple[int, int], int] = {}
    for row in rows:
        if row.metric == "speed" and row.layer == "rotrnn" and row.subject == "layer" and row.real_state_size:
            key = row.d_model, row.real_state_size
            found[key] = max(found.get(key, 1), row.seq_len or 1)
    return [Size(*key, length) for key, length in found.items()] or [USUAL]


def costs(size: Size) -> dict[str, Cost]:
    """Every layer with the d_state whose real state comes nearest to the size's; without a layer that none fits."""
    found = {}
    for name in LAYERS:
        spec = nearest(name, size)
        if spec is not None:
            counted = COUNTED[spec.per_channel]
            totals = (
                sum(spec.flops(length, 1, counted, direction).values())
                for length, direction in (
                    (size.seq_len, "forward"),
                    (size.seq_len, "forward+backward"),
                    (1, "step"),
                )
            )
            found[name] = Cost(spec, *totals)
    return found


@cache
def nearest(name: str, size: Size) -> LayerSpec | None:
    """The layer whose real state comes nearest to a size's, with its own options otherwise; None if it takes none."""
    first = next(filter(None, (_spec(name, size, d_state) for d_state in range(1, SEARCHED))), None)
    if first is None:
        return None
    aim = round(size.state * first.d_state / first.real_state_size)  # the state grows in proportion to d_state
    around = (aim + sign * step for step in range(SEARCHED) for sign in (-1, 1))
    return next(filter(None, (_spec(name, size, d_state) for d_state in around)), first)


def _spec(name: str, size: Size, d_state: int) -> LayerSpec | None:
    try:
        return LAYERS[name](d_model=size.d_model, d_state=d_state)
    except UserError:
        return None
