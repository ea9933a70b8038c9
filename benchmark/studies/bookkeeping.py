"""What an LRU and a RotRNN of one real state size have: parameters, and how many of them make a difference."""

from collections.abc import Sequence
from typing import NamedTuple

from benchmark.spec.lru import LRU
from benchmark.spec.rotrnn import RotRNN


class Book(NamedTuple):
    """The accounts of one layer, unidirectional.

    ``free``: dimensions of the set of functions that it can compute, the difference being parameters
    that others undo.
    """

    layer: str
    heads: int | None
    mixing: str | None
    real_state_size: int
    parameters: int
    decays: int
    angles: int
    free: int

    @property
    def redundant(self) -> int:
        """Parameters that change nothing which others cannot."""
        return self.parameters - self.free


def lru_book(d_model: int, states: int) -> Book:
    """Of an LRU: each state has a modulus, an angle, 2 H numbers in B and 2 H in C, and a complex scale of no effect.

    Gamma scales B's rows once more, so that it has no effect on what can be computed either.
    """
    spec = LRU(d_model=d_model, d_state=states)
    free = states * (2 + 4 * d_model - 2) + d_model
    return Book("lru", None, None, spec.real_state_size, spec.param_count, states, states, free)


def rotrnn_book(d_model: int, states: int, heads: int, mixing: str) -> Book:
    """Of a RotRNN with so many planes: heads share a modulus; M has no effect; a complex scale a plane has none."""
    spec = RotRNN(d_model=d_model, d_state=2 * states, heads=heads, mixing=mixing)  # type: ignore[arg-type]
    free = heads + states * (1 + 4 * d_model - 2) + d_model
    return Book("rotrnn", heads, mixing, spec.real_state_size, spec.param_count, heads, states, free)


def books(d_model: int, states: int, heads: Sequence[int]) -> list[Book]:
    """An LRU, and RotRNNs of its real state size: with one plane a head and no P, and with each number of heads."""
    found = [lru_book(d_model, states), rotrnn_book(d_model, states, states, "identity")]
    return found + [rotrnn_book(d_model, states, count, "learned") for count in heads]
