"""Recall by content: what followed this token before. One question a row, or many."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks.base import IGNORED, Split, Target
from benchmark.tasks.drawn import Drawn, distinct, stored
from benchmark.tasks.sizes import check_tokens


@dataclass(frozen=True, kw_only=True)
class InductionHeads(Drawn):
    """What came after the special token.

    ::

        length 10, vocabulary 16: the special token is 15, the others are 1..14

        input    4 9 2 15 7 1 9 9 3 15
        target                       6      7 came after it; the class of token k is k - 1

    Source: Olsson et al. 2022, arXiv:2209.11895, in the form of Gu and Dao 2023, arXiv:2312.00752.
    What is known: hard for layers that treat all steps alike; a length of 32 to 64 is in reach.
    """

    name: ClassVar[str] = "induction-heads"

    length: int = 64
    vocabulary: int = 16

    def _check(self) -> None:
        if self.length < 3:
            raise UserError(
                f"induction-heads: length must be at least 3 (the special token, x, again), got {self.length}"
            )
        if self.vocabulary < 4:
            raise UserError(
                "induction-heads: vocabulary must be at least 4 (padding, two tokens, the special one), "
                f"got {self.vocabulary}"
            )
        check_tokens(self.name, "vocabulary", self.vocabulary)
        super()._check()

    @property
    def seq_len(self) -> int:
        """The question included."""
        return self.length

    @property
    def inputs(self) -> int:
        """Padding, of which there is none, tokens and the special one."""
        return self.vocabulary

    @property
    def outputs(self) -> int:
        """Class c is token c + 1."""
        return self.vocabulary - 2

    @property
    def chance(self) -> float:
        """Tokens are uniform."""
        return 1 / self.outputs

    def draw(self, rng: np.random.Generator, n: int) -> Split:
        """Inputs (n, length), labels (n,)."""
        special, rows = self.vocabulary - 1, np.arange(n)
        inputs = rng.integers(1, special, (n, self.length))
        at = rng.integers(0, self.length - 2, n)
        inputs[rows, at] = inputs[:, -1] = special
        return Split(stored(inputs, self.vocabulary), inputs[rows, at + 1] - 1)


@dataclass(frozen=True, kw_only=True)
class Mqar(Drawn):
    """Multi-query associative recall: the value of each key that is asked again.

    ::

        vocabulary 16, pairs 3, length 14: keys 1..7, values 8..15

        input    3 12 6 9 1 15 | 6 11 2 8 3 10 1 14
        target   -  - - -  - - | 1  - - - 4  - 7  -      9, 12, 15; the class of value v is v - 8

    First the pairs, of distinct keys; then each key once, an even number of steps 2 (g - 1) after
    the pairs. The g of one row are drawn without replacement with p(g) ~ g^(power - 1): most
    questions come soon. The other steps are random tokens, or 0 with ``fill`` blank.
    Source: Arora et al. 2023, arXiv:2312.04927. What is known: layers whose recurrence does not
    depend on its input stay near chance unless d_model is far above ``pairs``; a negative control.
    """

    name: ClassVar[str] = "mqar"
    target: ClassVar[Target] = "steps"

    length: int = 64
    vocabulary: int = 64
    pairs: int = 4
    power: float = 0.01
    fill: Literal["random", "blank"] = "random"

    def _check(self) -> None:
        if 4 * self.pairs > self.length:
            raise UserError(f"mqar: 4 x pairs <= length must hold, got pairs={self.pairs}, length={self.length}")
        if self.pairs > self.vocabulary // 2 - 1:
            raise UserError(
                f"mqar: pairs <= vocabulary/2 - 1 must hold, as keys are distinct, "
                f"got pairs={self.pairs}, vocabulary={self.vocabulary}"
            )
        check_tokens(self.name, "vocabulary", self.vocabulary)
        if not 0 < self.power <= 1:
            raise UserError(f"mqar: power must lie in (0, 1], got {self.power}")
        super()._check()

    @property
    def seq_len(self) -> int:
        """Pairs and questions."""
        return self.length

    @property
    def inputs(self) -> int:
        """Blank, keys and values."""
        return self.vocabulary

    @property
    def outputs(self) -> int:
        """Class c is value vocabulary // 2 + c."""
        return self.vocabulary - self.vocabulary // 2

    @property
    def chance(self) -> float:
        """Values are uniform."""
        return 1 / self.outputs

    def draw(self, rng: np.random.Generator, n: int) -> Split:
        """Inputs (n, length), labels (n, length): the values' classes where keys are asked."""
        half, context = self.vocabulary // 2, 2 * self.pairs
        keys = 1 + distinct(rng, n, self.pairs, half - 1)
        values = rng.integers(half, self.vocabulary, (n, self.pairs))
        asked = context + 2 * (self.gaps(rng, n) - 1)
        inputs = np.zeros((n, self.length), np.int64)
        if self.fill == "random":
            inputs = rng.integers(1, self.vocabulary, (n, self.length))
        inputs[:, 0:context:2], inputs[:, 1:context:2] = keys, values
        labels = np.full((n, self.length), IGNORED, np.int64)
        np.put_along_axis(inputs, asked, keys, 1)
        np.put_along_axis(labels, asked, values - half, 1)
        return Split(stored(inputs, self.vocabulary), labels)

    def gaps(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Gaps (n, pairs) from 1, distinct in a row, in the order in which they were drawn.

        The largest of log p + Gumbel noise are a weighted draw without replacement.
        """
        g = np.arange(1, (self.length - 2 * self.pairs) // 2 + 1)
        scores = (self.power - 1) * np.log(g) + rng.gumbel(size=(n, len(g)))
        return 1 + np.argsort(-scores, 1)[:, : self.pairs]
