"""Pictures of ten classes, pixel by pixel: Long Range Arena's Image, and the same in colour."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks.base import Affine, Encoder, Kind, Split, Splits, Task, Tell, quiet
from benchmark.tasks.paths import existing, unlike
from benchmark.tasks.permutation import randperm
from benchmark.tasks.progress import Progress
from benchmark.tasks.unpickle import load_arrays

SIDE = 32
CLASSES = 10
FOLDER = "cifar-10-batches-py"
FILES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")

SPLIT_SEED = 42
"""Of S4's random split."""


@dataclass(frozen=True, kw_only=True)
class Cifar(Task):
    """What both tasks share: files, order of pixels, splits."""

    kinds: ClassVar[tuple[Kind, ...]] = ("real",)
    archive: ClassVar[str | None] = "cifar10"
    encoder: ClassVar[Encoder] = "linear"
    chance = 1 / CLASSES

    validation: Literal["s4", "lra"] = "s4"

    seq_len = SIDE * SIDE
    outputs = CLASSES

    @property
    def affine(self) -> Affine:
        """From stored pixels 0..255 to what a model reads, (1, channels)."""
        raise NotImplementedError

    def pixels(self, colour: np.ndarray) -> np.ndarray:
        """Stored pixels (n, 1024, channels) uint8 from (n, 1024, 3) uint8."""
        raise NotImplementedError

    def load(self, kind: Kind, folder: Path | None = None, tell: Tell = quiet) -> Splits:  # noqa: ARG002
        """Three splits; inputs (n, 1024, channels) uint8, row by row; labels (n,) int64.

        Args:
            kind: real.
            folder: holds cifar-10-batches-py, or is that folder.
            tell: told of files read.

        Raises:
            MissingDataError: naming the files that are absent.
            UserError: for a file that is not a batch of CIFAR-10.
        """
        paths = existing(self.name, folder, *((f"{FOLDER}/{name}", name) for name in FILES))
        progress = Progress(tell, len(paths))
        *batches, test = (self._batch(path, progress) for path in paths)
        inputs = np.concatenate([batch.inputs for batch in batches])
        labels = np.concatenate([batch.labels for batch in batches])
        train, validation = (Split(inputs[rows], labels[rows]) for rows in self.rows(len(labels)))
        return Splits(train, validation, test, self.affine)

    def _batch(self, path: Path, progress: Progress) -> Split:
        colour, labels = read_batch(path)
        progress.add()
        return Split(self.pixels(colour), labels)

    def rows(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train on and a tenth for validation: drawn as S4 does, or the last ones as LRA does."""
        order = randperm(count, SPLIT_SEED) if self.validation == "s4" else np.arange(count)
        return order[: count * 9 // 10], order[count * 9 // 10 :]


@dataclass(frozen=True, kw_only=True)
class GreyCifar(Cifar):
    """What is on the picture, from the 1,024 grey pixels of a 32 x 32 image, row by row.

    ::

        input    61 60 66 ... 88      0..255, scaled; one channel
        target   6                    0 airplane .. 9 truck

    ``validation``: a random tenth of the training set, the one that S4 draws; or its last tenth, as in the Long
    Range Arena. ``normalise``: s4 takes off 122.6 and divides by 61; unit maps to 0..1.
    Source: Krizhevsky 2009 (the images); Tay et al. 2021, arXiv:2011.04006 (the task).
    """

    name: ClassVar[str] = "lra-image"

    normalise: Literal["s4", "unit"] = "s4"

    inputs = 1

    @property
    def affine(self) -> Affine:
        """By the published mean and deviation, or to 0..1."""
        mean, sd = (122.6, 61.0) if self.normalise == "s4" else (0.0, 255.0)
        return Affine(np.full((1, 1), mean, np.float32), np.full((1, 1), sd, np.float32))

    def pixels(self, colour: np.ndarray) -> np.ndarray:
        """Grey."""
        return grey(colour)


@dataclass(frozen=True, kw_only=True)
class ColourCifar(Cifar):
    """What is on the picture, from the 1,024 coloured pixels of a 32 x 32 image, row by row.

    ::

        input    (59, 62, 63) (43, 46, 45) ... (123, 92, 72)      0..255, scaled; channels red, green, blue
        target   6                                                0 airplane .. 9 truck

    The sequential CIFAR of S4 and the "Image" of the LRU paper. ``validation``: as in ``GreyCifar``.
    Source: Krizhevsky 2009 (the images); Gu et al. 2022, arXiv:2111.00396 (the task).
    """

    name: ClassVar[str] = "cifar"

    inputs = 3

    @property
    def affine(self) -> Affine:
        """By S4's mean and deviation of each channel."""
        mean, sd = [[0.4914, 0.4822, 0.4465]], [[0.247, 0.243, 0.261]]
        return Affine(np.array(mean, np.float32) * 255, np.array(sd, np.float32) * 255)

    def pixels(self, colour: np.ndarray) -> np.ndarray:
        """As they are."""
        return colour


def grey(colour: np.ndarray) -> np.ndarray:
    """.299 R + .587 G + .114 B in 16 bit fixed point, rounded half up, as Pillow's mode L: (..., 3) to (..., 1) uint8.

    >>> grey(np.array([[255, 0, 0], [255, 255, 255]], np.uint8)).ravel().tolist()
    [76, 255]
    """
    weights = np.array([19595, 38470, 7471], np.uint32)
    return ((colour @ weights[:, None] + 0x8000) >> 16).astype(np.uint8)


def read_batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (n, 1024, 3) uint8 and labels (n,) int64 of one file. Raises UserError if it is not one."""
    found = load_arrays(path)
    data, labels = found.get(b"data"), found.get(b"labels")
    planes = 3 * SIDE * SIDE
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape[1:] != (planes,):
        shape = f"{data.dtype} {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
        raise UserError(unlike(path, f"a batch of CIFAR-10 with data (n, {planes}) uint8", shape))
    if not isinstance(labels, list) or len(labels) != len(data) or not set(labels) <= set(range(CLASSES)):
        raise UserError(unlike(path, f"a batch of CIFAR-10 with {len(data)} labels 0..{CLASSES - 1}", labels))
    colour = np.ascontiguousarray(data.reshape(-1, 3, SIDE * SIDE).transpose(0, 2, 1))
    return colour, np.array(labels, np.int64)
