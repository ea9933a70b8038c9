"""Sums over long sequences: of two marked numbers, and of all bits modulo two."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks.base import Encoder, Split, Target
from benchmark.tasks.drawn import Drawn, stored

ZERO, ONE, END = 1, 2, 3
"""The tokens of the parity task; 0 is padding, of which it has none."""


@dataclass(frozen=True, kw_only=True)
class Adding(Drawn):
    """Add the two marked numbers, one in each half.

    ::

        length 8

        input    0.4 0.7 0.1 0.9 0.3 0.6 0.2 0.5      uniform in [0, 1)
                 0   1   0   0   0   0   1   0        marks
        target                               0.9

    Of an odd length the second half is the longer one. Source: Hochreiter and Schmidhuber 1997, in
    the form of Arjovsky, Shah and Bengio 2016. What is known: always answering 1 has a mean squared
    error of 1/6; a linear recurrence alone cannot multiply by the mark, with gates between layers it
    is learnt in minutes at lengths of 100 to 400.
    """

    name: ClassVar[str] = "adding"
    encoder: ClassVar[Encoder] = "linear"
    target: ClassVar[Target] = "number"
    targets: ClassVar[tuple[float, ...]] = (0.1, 0.02, 0.005)
    chance = 1 / 6

    length: int = 400

    inputs = 2
    outputs = 1

    def _check(self) -> None:
        if self.length < 2:
            raise UserError(f"adding: length must be at least 2, one step for each mark, got {self.length}")
        super()._check()

    @property
    def seq_len(self) -> int:
        """Numbers in a sequence."""
        return self.length

    def draw(self, rng: np.random.Generator, n: int) -> Split:
        """Inputs (n, length, 2) float32: numbers and marks; labels (n,) float32."""
        half = self.length // 2
        first, second = rng.integers(0, half, n), rng.integers(half, self.length, n)
        inputs = np.zeros((n, self.length, 2), np.float32)
        inputs[:, :, 0] = rng.random((n, self.length), np.float32)
        rows = np.arange(n)
        inputs[rows, first, 1] = inputs[rows, second, 1] = 1
        return Split(inputs, inputs[rows, first, 0] + inputs[rows, second, 0])


@dataclass(frozen=True, kw_only=True)
class Parity(Drawn):
    """Is the number of ones odd.

    ::

        bits 6: zero is token 1, one is token 2, end is token 3

        input    2 1 2 2 1 1 3
        target               1      three ones: odd

    Source: Minsky and Papert 1969; for layers of this family Merrill et al. 2024,
    arXiv:2404.08819. What is known: an eigenvalue of -1 would count, so layers with phases up to
    pi can represent it, but training usually stays at chance beyond 32 to 64 bits; a negative control.
    """

    name: ClassVar[str] = "parity"
    chance = 0.5

    bits: int = 32

    inputs = 4
    outputs = 2

    @property
    def seq_len(self) -> int:
        """The bits and the end."""
        return self.bits + 1

    def draw(self, rng: np.random.Generator, n: int) -> Split:
        """Inputs (n, bits + 1) tokens, labels (n,)."""
        bits = rng.integers(0, 2, (n, self.bits))
        inputs = np.full((n, self.bits + 1), END)
        inputs[:, :-1] = np.where(bits, ONE, ZERO)
        return Split(stored(inputs, self.inputs), bits.sum(1) % 2)
