"""What a task is: three splits of plain numpy arrays, and what a model needs to know of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from benchmark.spec.base import check_fields
from benchmark.spec.errors import UserError
from benchmark.spec.model import IGNORED

Kind = Literal["real", "generated", "stand-in"]
"""real: the published files. generated: drawn by the published algorithm, so the same task.
stand-in: another, easier task, for trying things out where the real data cannot be had."""

Encoder = Literal["linear", "tokens"]
Target = Literal["class", "steps", "number"]

__all__ = [
    "IGNORED",
    "Affine",
    "Encoder",
    "Extra",
    "Kind",
    "MissingDataError",
    "Split",
    "Splits",
    "Target",
    "Task",
    "Tell",
    "quiet",
]

Tell = Callable[[int, int], None]
"""Called with how much is done, and of how much."""


def quiet(done: int, total: int) -> None:
    """A Tell that tells nobody."""


class MissingDataError(UserError):
    """The data of a task is not here. Says which files are missing and how to get them."""


class Split(NamedTuple):
    """Examples as they are stored: of the smallest type that holds them, perhaps memory maps.

    Inputs: tokens (n, length), or numbers (n, length, channels); of pairs of documents (n, 2, length).
    Labels: classes (n,) int64; for target ``steps`` (n, length) int64, IGNORED where none is asked for;
    for target ``number`` (n,) float32. Lengths: (n,), of pairs (n, 2), or None where every sequence
    fills its length; what lies beyond is 0.
    """

    inputs: np.ndarray
    labels: np.ndarray
    lengths: np.ndarray | None = None


class Affine(NamedTuple):
    """How stored numbers become what a model reads: (x - mean) / sd, float32, against (n, length, channels)."""

    mean: np.ndarray
    sd: np.ndarray


class Extra(NamedTuple):
    """One more test set, such as the same sounds at half the rate, and how it is read."""

    split: Split
    affine: Affine | None = None
    step: float = 1.0
    """How many times the distance between steps is that of the training set."""


class Splits(NamedTuple):
    """The three parts. Validation chooses the epoch; test is read once, for that epoch."""

    train: Split
    validation: Split
    test: Split
    affine: Affine | None = None
    extra: Mapping[str, Extra] = MappingProxyType({})
    """Further test sets by name."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A data set with its meaning; the fields of a subclass are its options, checked as those of a layer.

    The docstring of a subclass draws the input and the target, and names the source.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised when ``load`` returns something else from the same files: no cache of an older one is read."""
    kinds: ClassVar[tuple[Kind, ...]]
    """What ``load`` can serve, the preferred first."""
    archive: ClassVar[str | None] = None
    """The name in ``benchmark.data.sources`` of the real data."""
    cached: ClassVar[bool] = True
    """Whether making the arrays takes long enough to keep them on disk."""
    encoder: ClassVar[Encoder] = "tokens"
    target: ClassVar[Target] = "class"
    documents: ClassVar[int] = 1
    """Sequences in one example: two for retrieval."""
    targets: ClassVar[tuple[float, ...]] = (0.5, 0.8, 0.9, 0.95, 0.97)
    """Validation scores whose first time is reported, the easiest first: accuracies, or mean squared errors."""

    def __post_init__(self) -> None:
        """Check types and ranges, then what the task itself demands. Raises UserError."""
        check_fields(self, self.name)
        self._check()

    def _check(self) -> None:
        """What must hold between this task's fields; a subclass raises UserError."""

    @property
    def seq_len(self) -> int:
        """Steps of a stored sequence."""
        raise NotImplementedError

    @property
    def inputs(self) -> int:
        """Channels, or the size of the vocabulary; padding is token 0."""
        raise NotImplementedError

    @property
    def outputs(self) -> int:
        """Classes; 1 for target ``number``."""
        raise NotImplementedError

    @property
    def chance(self) -> float:
        """Accuracy of the best constant answer on a balanced test set; for numbers its mean squared error."""
        return 1 / self.outputs

    def serves(self, kind: Kind) -> bool:
        """Whether these options can be had of this kind of data."""
        return kind in self.kinds

    def lacks(self, folder: Path) -> list[str]:  # noqa: ARG002
        """What these options need of the unpacked archive beyond what every option needs, and is not in the folder."""
        return []

    def load(self, kind: Kind, folder: Path | None = None, tell: Tell = quiet) -> Splits:
        """The three splits, the same on every machine.

        Args:
            kind: one of ``kinds``.
            folder: of the unpacked archive, for kind real.
            tell: told of progress.

        Raises:
            MissingDataError: if a file is not in the folder.
            UserError: for a file that is not what it should be, naming file, place and cure.
        """
        raise NotImplementedError

    @classmethod
    def option_names(cls) -> list[str]:
        """The fields."""
        return [field.name for field in fields(cls)]

    @property
    def options(self) -> dict[str, Any]:
        """The fields with their values."""
        return {name: getattr(self, name) for name in self.option_names()}
