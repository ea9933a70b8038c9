"""Copying: keep tokens over a gap and say them in order. Two forms, which differ in when the tokens come."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks.base import IGNORED, Split, Target
from benchmark.tasks.drawn import Drawn, distinct, stored
from benchmark.tasks.sizes import check_tokens


@dataclass(frozen=True, kw_only=True)
class Copying(Drawn):
    """Say the first tokens again after a gap.

    ::

        memory 3, gap 4, alphabet 10: blank 0, marker 9

        input    3 8 1 0 0 0 0 9 9 9
        target   - - - - - - - 2 7 0      the class of token k is k - 1

    Source: Hochreiter and Schmidhuber 1997; Arjovsky, Shah and Bengio 2016. What is known: a
    matter of memory alone, so time-invariant layers with enough state learn it over gaps of up to
    some 200 steps, slowly beyond.
    """

    name: ClassVar[str] = "copying"
    target: ClassVar[Target] = "steps"

    memory: int = 10
    gap: int = 100
    alphabet: int = 10

    def _check(self) -> None:
        if self.alphabet < 4:
            raise UserError(
                f"{self.name}: alphabet must be at least 4 (the blank, the marker and two tokens), got {self.alphabet}"
            )
        check_tokens(self.name, "alphabet", self.alphabet)
        super()._check()

    @property
    def seq_len(self) -> int:
        """The tokens, the gap and the answers."""
        return 2 * self.memory + self.gap

    @property
    def inputs(self) -> int:
        """Blank, tokens and marker."""
        return self.alphabet

    @property
    def outputs(self) -> int:
        """Class c is token c + 1."""
        return self.alphabet - 2

    @property
    def chance(self) -> float:
        """Tokens are uniform."""
        return 1 / self.outputs

    def draw(self, rng: np.random.Generator, n: int) -> Split:
        """Inputs (n, seq_len), labels (n, seq_len): the tokens' classes at the markers."""
        tokens = rng.integers(1, self.alphabet - 1, (n, self.memory))
        inputs = np.zeros((n, self.seq_len), np.int64)
        np.put_along_axis(inputs, self._places(rng, n), tokens, 1)
        inputs[:, -self.memory :] = self.alphabet - 1
        labels = np.full((n, self.seq_len), IGNORED, np.int64)
        labels[:, -self.memory :] = tokens - 1
        return Split(stored(inputs, self.alphabet), labels)

    def _places(self, rng: np.random.Generator, n: int) -> np.ndarray:  # noqa: ARG002
        """Where each row's tokens stand (n, memory), rising."""
        return np.broadcast_to(np.arange(self.memory), (n, self.memory))


@dataclass(frozen=True, kw_only=True)
class SelectiveCopying(Copying):
    """Say tokens again that came at random places among blanks.

    ::

        memory 3, gap 4, alphabet 10: blank 0, marker 9

        input    0 3 0 0 8 1 0 9 9 9
        target   - - - - - - - 2 7 0      the class of token k is k - 1

    Source: Gu and Dao 2023, arXiv:2312.00752. What is known: which step counts hangs on its
    content, so layers that treat all steps alike are expected to fail, and gates between them get
    part of the way; a negative control.
    """

    name: ClassVar[str] = "selective-copying"

    def _places(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return np.sort(distinct(rng, n, self.memory, self.memory + self.gap), 1)
