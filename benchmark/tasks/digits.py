"""Handwritten digits, pixel by pixel: the task that needs no download."""

import gzip
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmark.tasks.base import Encoder, Kind, Split, Splits, Task, Tell, quiet

VALIDATION, TEST = 180, 360


@dataclass(frozen=True, kw_only=True)
class Digits(Task):
    """Which digit is it, from the 64 pixels of an 8 x 8 image, row by row.

    ::

        input    0.0 0.0 5.0 13.0 9.0 1.0 ... 0.0      pixels 0..16, scaled to -1..1, one channel
        target                                   0      0..9

    The split of the 1,797 images is fixed and stratified: 1257 for training, 180 for validation,
    360 for test. ``permuted`` puts the pixels into a fixed random order. Source: scikit-learn's
    digits, see data/README.md.
    """

    name: ClassVar[str] = "digits"
    kinds: ClassVar[tuple[Kind, ...]] = ("real",)
    cached: ClassVar[bool] = False
    encoder: ClassVar[Encoder] = "linear"

    permuted: bool = False

    seq_len = 64
    inputs = 1
    outputs = 10
    chance = 37 / 360

    def load(self, kind: Kind = "real", folder: Path | None = None, tell: Tell = quiet) -> Splits:  # noqa: ARG002
        """Three splits; inputs (n, 64, 1) float32, labels (n,) int64."""
        packed = files("benchmark.tasks").joinpath("data/digits.csv.gz").read_bytes()
        table = np.loadtxt(gzip.decompress(packed).decode().splitlines(), delimiter=",")
        inputs = (table[:, :64, None] / 8 - 1).astype(np.float32)
        if self.permuted:
            inputs = inputs[:, np.random.default_rng(0).permutation(64)]
        labels = table[:, 64].astype(np.int64)
        train, validation, test = (Split(inputs[rows], labels[rows]) for rows in stratified(labels))
        return Splits(train, validation, test)


def stratified(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of train, validation and test.

    The rows are sorted by label and shuffled within each by seed 0; evenly spaced ones are held
    out, and every third of these is for validation.
    """
    shuffled = np.random.default_rng(0).permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    steps = np.arange(len(labels) + 1) * (VALIDATION + TEST) // len(labels)
    held_out = order[np.diff(steps) > 0]
    third = np.arange(len(held_out)) % 3 == 0
    return order[np.diff(steps) == 0], held_out[third], held_out[~third]
