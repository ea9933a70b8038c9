"""Handwritten digits, pixel by pixel: the task that needs no download."""

import gzip
from importlib.resources import files
from typing import ClassVar, Literal

import numpy as np

from benchmark.tasks.base import Split, Splits

VALIDATION, TEST = 180, 360


class Digits:
    """Which digit is it, from the 64 pixels of an 8 x 8 image, row by row.

    ::

        input    0.0 0.0 5.0 13.0 9.0 1.0 ... 0.0      pixels 0..16, scaled to -1..1, one channel
        target                                   0      0..9

    The split of the 1,797 images is fixed and stratified: 1257 for training, 180 for validation,
    360 for test. Source: scikit-learn's digits, see data/README.md.
    """

    name: ClassVar[str] = "digits"
    encoder: ClassVar[Literal["linear", "tokens"]] = "linear"
    inputs: ClassVar[int] = 1
    outputs: ClassVar[int] = 10
    seq_len: ClassVar[int] = 64
    chance: ClassVar[float] = 37 / 360
    data: ClassVar[Literal["real", "generated", "stand-in"]] = "real"

    @staticmethod
    def load() -> Splits:
        """Three splits; inputs (n, 64, 1) float32, labels (n,) int64."""
        packed = files("benchmark.tasks").joinpath("data/digits.csv.gz").read_bytes()
        table = np.loadtxt(gzip.decompress(packed).decode().splitlines(), delimiter=",")
        inputs = (table[:, :64, None] / 8 - 1).astype(np.float32)
        labels = table[:, 64].astype(np.int64)
        train, validation, test = stratified(labels)
        return Splits(*(Split(inputs[rows], labels[rows]) for rows in (train, validation, test)))


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
