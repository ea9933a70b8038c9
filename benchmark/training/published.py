"""Published training recipes: sizes, steps and batches by task and layer, for projections of device-hours.

Sources: the released S5 scripts; LRU paper, table 9; the S4 repository's configurations of the S4D paper
("v3"); for RotRNN the sweeps in the authors' code, which take depth, width, batch and epochs from S5.
Steps are iterations where the source gives them, else epochs x training examples / batch.
"""

from dataclasses import dataclass
from typing import Any

from benchmark.spec.errors import unknown


@dataclass(frozen=True)
class TaskSize:
    """What a task looks like to a model."""

    seq_len: int
    inputs: int
    outputs: int
    tokens: bool
    examples: int
    documents: int = 1
    """Sequences in one example: two for retrieval."""


TASKS: dict[str, TaskSize] = {
    "lra-listops": TaskSize(2048, 18, 10, True, 96_000),
    "lra-text": TaskSize(4096, 135, 2, True, 25_000),
    "lra-retrieval": TaskSize(4000, 98, 2, True, 147_086, documents=2),
    "lra-image": TaskSize(1024, 1, 10, False, 45_000),
    "lra-pathfinder": TaskSize(1024, 1, 2, False, 160_000),
    "lra-pathx": TaskSize(16384, 1, 2, False, 160_000),
    "speech-commands": TaskSize(16000, 1, 35, False, 84_843),
}


@dataclass(frozen=True)
class Published:
    """One recipe. ``steps`` None: from ``epochs``."""

    depth: int
    d_model: int
    d_state: int
    batch: int
    steps: int | None = None
    epochs: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    activation: str = "half_glu1"
    bidirectional: bool = True

    def steps_on(self, task: str) -> int:
        """Optimiser steps of the whole training; an incomplete last batch is dropped."""
        if self.steps is not None:
            return self.steps
        return (self.epochs or 0) * (TASKS[task].examples // self.batch)

    @property
    def layer_options(self) -> dict[str, Any]:
        """Options of the layer's spec."""
        return dict(self.options) | {"bidirectional": self.bidirectional}


def _s5(depth: int, H: int, N: int, blocks: int, batch: int, epochs: int, **more: Any) -> Published:
    return Published(depth, H, N, batch, epochs=epochs, options=(("blocks", blocks),), **more)


def _lru(H: int, N: int, steps: int, batch: int, r: tuple[float, float], both: bool = False) -> Published:
    ring = (("r_min", r[0]), ("r_max", r[1]))
    return Published(6, H, N, batch, steps, options=ring, activation="full_glu", bidirectional=both)


def _s4d(depth: int, H: int, batch: int, steps: int) -> Published:
    return Published(depth, H, 64, batch, steps, activation="full_glu")


def _rotrnn(depth: int, H: int, N: int, batch: int, epochs: int) -> Published:
    return Published(depth, H, N, batch, epochs=epochs, options=(("heads", 32),))


RECIPES: dict[str, dict[str, Published]] = {
    "lra-listops": {
        "rotrnn": _rotrnn(8, 128, 128, 50, 40),
        "lru": _lru(128, 256, 80_000, 32, (0.0, 0.99)),
        "s4d": _s4d(8, 128, 50, 80_000),
        "s5": _s5(8, 128, 16, 8, 50, 40, activation="half_glu2"),
    },
    "lra-text": {
        "rotrnn": _rotrnn(6, 256, 192, 50, 35),
        "lru": _lru(256, 192, 50_000, 32, (0.5, 0.9)),
        "s4d": _s4d(6, 256, 16, 50_000),
        "s5": _s5(6, 256, 192, 12, 50, 35, activation="half_glu2"),
    },
    "lra-retrieval": {
        "rotrnn": _rotrnn(6, 128, 256, 32, 20),
        "lru": _lru(128, 256, 100_000, 64, (0.5, 0.9)),
        "s4d": _s4d(6, 256, 64, 50_000),
        "s5": _s5(6, 128, 256, 16, 32, 20),
    },
    "lra-image": {
        "rotrnn": _rotrnn(6, 512, 384, 50, 250),
        "lru": _lru(512, 384, 180_000, 50, (0.9, 0.999)),
        "s4d": _s4d(6, 512, 50, 180_000),
        "s5": _s5(6, 512, 384, 3, 50, 250),
    },
    "lra-pathfinder": {
        "rotrnn": _rotrnn(6, 192, 256, 64, 200),
        "lru": _lru(192, 256, 500_000, 64, (0.9, 0.999), both=True),
        "s4d": _s4d(6, 256, 64, 500_000),
        "s5": _s5(6, 192, 256, 8, 64, 200),
    },
    "lra-pathx": {
        "rotrnn": _rotrnn(6, 128, 256, 32, 75),
        "lru": _lru(128, 256, 250_000, 32, (0.999, 0.9999), both=True),
        "s4d": _s4d(6, 256, 16, 500_000),
        "s5": _s5(6, 128, 256, 16, 32, 75),
    },
    "speech-commands": {
        "rotrnn": _rotrnn(6, 96, 128, 16, 40),
        "s4d": _s4d(6, 128, 16, 200_000),
        "s5": _s5(6, 96, 128, 16, 16, 40),
    },
}


def published(task: str) -> dict[str, Published]:
    """The recipes of a task by layer. Raises UserError, naming the known ones, if there are none."""
    if task not in RECIPES:
        raise unknown("published task", task, RECIPES)
    return RECIPES[task]
