"""What a task is: three splits of plain numpy arrays, and what a model needs to know of them."""

from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np


class Split(NamedTuple):
    """Inputs (n, length) integers or (n, length, channels) float32; labels (n,) int64; lengths (n,) or None."""

    inputs: np.ndarray
    labels: np.ndarray
    lengths: np.ndarray | None = None


class Splits(NamedTuple):
    """The three parts. Validation chooses the epoch; test is read once, for that epoch."""

    train: Split
    validation: Split
    test: Split


class Task(Protocol):
    """A data set with its meaning. Subclass docstrings draw the input and the target."""

    name: ClassVar[str]
    encoder: ClassVar[Literal["linear", "tokens"]]
    inputs: ClassVar[int]
    """Channels, or the size of the vocabulary."""
    outputs: ClassVar[int]
    seq_len: ClassVar[int]
    chance: ClassVar[float]
    """Accuracy of the best constant answer on the test split."""
    data: ClassVar[Literal["real", "generated", "stand-in"]]

    @staticmethod
    def load() -> Splits:
        """The three splits, the same on every machine."""
        ...
