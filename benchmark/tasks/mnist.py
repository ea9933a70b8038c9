"""Handwritten digits of 28 x 28 pixels, pixel by pixel."""

import gzip
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks.base import Affine, Encoder, Kind, Split, Splits, Task, Tell, quiet
from benchmark.tasks.paths import existing, unlike
from benchmark.tasks.progress import Progress

SIDE = 28
IMAGES, LABELS = 2051, 2049
"""Magic numbers; their last byte is the number of dimensions."""

FILES = tuple(f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))
MEAN, SD = 0.1307, 0.3081
"""Of the training pixels between 0 and 1."""


@dataclass(frozen=True, kw_only=True)
class Mnist(Task):
    """Which digit is it, from the 784 pixels of a 28 x 28 image, row by row.

    ::

        input    0 0 ... 3 18 18 126 ... 0      0..255, scaled; one channel
        target   5                              0..9

    ``size`` 14 takes the mean of each 2 x 2 pixels: 196 steps. ``permuted`` puts the pixels into a fixed random
    order (psMNIST). The last 5,000 of the 60,000 training images are for validation.
    Source: LeCun et al. 1998 (the images); Le et al. 2015, arXiv:1504.00941 (the task).
    """

    name: ClassVar[str] = "mnist"
    kinds: ClassVar[tuple[Kind, ...]] = ("real",)
    archive: ClassVar[str | None] = "mnist"
    encoder: ClassVar[Encoder] = "linear"
    chance = 0.1

    size: Literal["28", "14"] = "28"
    permuted: bool = False

    inputs = 1
    outputs = 10

    @property
    def seq_len(self) -> int:
        """Pixels."""
        return int(self.size) ** 2

    def load(self, kind: Kind, folder: Path | None = None, tell: Tell = quiet) -> Splits:  # noqa: ARG002
        """Three splits; inputs (n, pixels, 1) uint8, for size 14 uint16; labels (n,) int64.

        Args:
            kind: real.
            folder: holds the four IDX files, packed by gzip or not.
            tell: told of files read.

        Raises:
            MissingDataError: naming the files that are absent.
            UserError: for a file that is not an IDX file of images or labels.
        """
        paths = existing(self.name, folder, *((f"{name}.gz", name) for name in FILES))
        progress = Progress(tell, 2)
        (inputs, labels), test = (self._part(paths[i], paths[i + 1], progress) for i in (0, 2))
        kept = len(labels) * 11 // 12
        train, validation = Split(inputs[:kept], labels[:kept]), Split(inputs[kept:], labels[kept:])
        return Splits(train, validation, Split(*test), self._affine())

    def _part(self, images: Path, labels: Path, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
        """Stored pixels and labels. Raises UserError unless there is a label for each image."""
        found = self._images(images), read_labels(labels)
        if len(found[0]) != len(found[1]):
            must = f"{len(found[0]):,} labels, as many as {images.name} has images"
            raise UserError(unlike(labels, must, f"{len(found[1]):,}"))
        progress.add()
        return found

    def _images(self, path: Path) -> np.ndarray:
        """Stored pixels (n, length, 1)."""
        images = read_idx(path, IMAGES)
        if images.shape[1:] != (SIDE, SIDE):
            raise UserError(unlike(path, f"images of {SIDE} x {SIDE}", f"{images.shape[1:]}"))
        images = sums(images) if self.size == "14" else images
        rows = images.reshape(len(images), -1, 1)
        return rows[:, np.random.default_rng(0).permutation(rows.shape[1])] if self.permuted else rows

    def _affine(self) -> Affine:
        """Of size 14 sums of four pixels are stored, which is exact, so that the scale is four times as large."""
        scale = 255 * (4 if self.size == "14" else 1)
        return Affine(np.full((1, 1), scale * MEAN, np.float32), np.full((1, 1), scale * SD, np.float32))


def sums(images: np.ndarray) -> np.ndarray:
    """Sums of 2 x 2 pixels: (n, 28, 28) uint8 to (n, 14, 14) uint16.

    >>> sums(np.full((1, 28, 28), 255, np.uint8))[0, 0, 0]
    np.uint16(1020)
    """
    return images.reshape(-1, SIDE // 2, 2, SIDE // 2, 2).sum((2, 4), dtype=np.uint16)


def read_labels(path: Path) -> np.ndarray:
    """Labels 0..9, (n,) int64. Raises UserError for others."""
    labels = read_idx(path, LABELS).astype(np.int64)
    if labels.max(initial=0) > 9:
        raise UserError(unlike(path, "labels 0..9", int(labels.max())))
    return labels


def read_idx(path: Path, magic: int) -> np.ndarray:
    """The bytes of an IDX file, gzip or not, as an array of its dimensions. Raises UserError if it is not one."""
    raw = read_bytes(path)
    dimensions = magic % 256
    header = np.frombuffer(raw[: 4 + 4 * dimensions], ">u4") if len(raw) >= 4 + 4 * dimensions else np.zeros(1, ">u4")
    if header[0] != magic:
        given = f"{int.from_bytes(raw[:4], 'big')} in {len(raw):,} bytes"
        raise UserError(unlike(path, f"an IDX file of magic number {magic}", given))
    shape = tuple(int(n) for n in header[1:])
    body = len(raw) - header.nbytes
    if body != math.prod(shape):
        raise UserError(unlike(path, f"{math.prod(shape):,} bytes and a header", f"{body:,}"))
    return np.frombuffer(raw, np.uint8, offset=header.nbytes).reshape(shape)


def read_bytes(path: Path) -> bytes:
    """A file's content, unpacked if it begins as gzip does."""
    raw = path.read_bytes()
    if raw[:2] != b"\x1f\x8b":
        return raw
    try:
        return gzip.decompress(raw)
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(unlike(path, "a whole gzip file", f"one that is cut or damaged ({error})")) from None
