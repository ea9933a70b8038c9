"""What the diagnostic tasks share: examples drawn in numpy from fixed seeds, one stream a split."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmark.tasks.base import Kind, Split, Splits, Task, Tell, quiet
from benchmark.tasks.sizes import check_steps

SCRATCH = 1 << 24
"""Random numbers held at once where a choice without replacement needs many for each row."""


@dataclass(frozen=True, kw_only=True)
class Drawn(Task):
    """A task whose examples are drawn: ``examples`` for training, ``held_out`` each for validation and test.

    The splits come from streams of their own. Two of them share a row only by chance, which is
    large where a task has few different rows, such as the parity of 10 bits.
    """

    kinds: ClassVar[tuple[Kind, ...]] = ("generated",)
    cached: ClassVar[bool] = False

    examples: int = 10_000
    held_out: int = 1_000

    def _check(self) -> None:
        check_steps(self.name, max(self.examples, self.held_out), self.seq_len)

    def load(self, kind: Kind = "generated", folder: Path | None = None, tell: Tell = quiet) -> Splits:  # noqa: ARG002
        """Three splits as the class draws them; every sequence fills its length."""
        parts = []
        for stream, n in enumerate((self.examples, self.held_out, self.held_out)):
            parts.append(self.draw(np.random.default_rng([stream]), n))
            tell(stream + 1, 3)
        train, validation, test = parts
        return Splits(train, validation, test)

    def draw(self, rng: np.random.Generator, n: int) -> Split:
        """``n`` independent examples."""
        raise NotImplementedError


def stored(tokens: np.ndarray, vocabulary: int) -> np.ndarray:
    """Tokens below ``vocabulary`` in the smallest unsigned type that holds them all."""
    return tokens.astype(np.min_scalar_type(vocabulary - 1))


def distinct(rng: np.random.Generator, n: int, k: int, below: int) -> np.ndarray:
    """Rows (n, k) of distinct integers from 0 to below - 1, in random order; every choice equally likely."""
    rows_at_once = max(1, SCRATCH // below)
    parts = [rng.random((min(rows_at_once, n - i), below)).argsort(1)[:, :k] for i in range(0, n, rows_at_once)]
    return np.concatenate(parts)
