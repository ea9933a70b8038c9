"""Pathfinder and Path-X of the Long Range Arena: are two discs joined by a dashed contour?"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks.base import Affine, Encoder, Kind, MissingDataError, Split, Splits, Task, Tell, quiet
from benchmark.tasks.pathfinder_files import Entry, entries, read_image
from benchmark.tasks.pathfinder_images import CHUNK, chunk
from benchmark.tasks.permutation import randperm
from benchmark.tasks.sizes import MOST_PIXELS, check_steps

LEVELS = {"14": "curv_contour_length_14", "9": "curv_contour_length_9", "baseline": "curv_baseline"}
CONTOURS = {"14": 14, "9": 9, "baseline": 6}
"""Paddles in a target contour."""
AFFINES = {"centred": (127.5, 127.5), "unit": (0.0, 255.0)}
EMPTY = 1
"""Images that are empty files in the release: number 172 of folder 0, of 32 x 32 pixels and level baseline."""
EVERY = 1000
"""Images read between two reports of progress."""


@dataclass(frozen=True, kw_only=True)
class Pathfinder(Task):
    """Are the two discs of a 32 x 32 image the ends of one dashed contour? Pixels come row by row.

    ::

        o - - _            _ -
                 - _     -         input    0 0 191 96 0 255 ... 0      1,024 grey values, one channel
          - -        - - o         target                        1      1: joined, 0: not

    ``level``: dashes of a contour, 14, 9 or (baseline) 6. ``split``: s4 deals 80, 10 and 10 % at random,
    lra takes them in order. ``pixels``: from -1 to 1 (centred) or from 0 to 1 (unit). ``examples`` counts
    all images; ``draw`` numbers the random draw of generated ones, by the same algorithm.

    Source: Linsley et al. 2018 (arXiv:1805.08315); Tay et al. 2021 (arXiv:2011.04006).
    """

    name: ClassVar[str] = "lra-pathfinder"
    kinds: ClassVar[tuple[Kind, ...]] = ("real", "generated")
    archive: ClassVar[str | None] = "lra/pathfinder32"
    encoder: ClassVar[Encoder] = "linear"
    chance: ClassVar[float] = 0.5
    size: ClassVar[int] = 32
    """Pixels a side."""

    level: Literal["14", "9", "baseline"] = "14"
    split: Literal["s4", "lra"] = "s4"
    pixels: Literal["centred", "unit"] = "centred"
    examples: int = 200_000
    draw: int = 1

    inputs = 1
    outputs = 2

    def serves(self, kind: Kind) -> bool:
        """The published images are so many, and of one draw."""
        usual = {field.name: field.default for field in fields(self)}
        return kind != "real" or all(getattr(self, name) == usual[name] for name in ("examples", "draw"))

    def _check(self) -> None:
        if self.examples < 10:
            raise UserError(f"{self.name}: examples must be at least 10, to be dealt 8 : 1 : 1, got {self.examples}")
        check_steps(self.name, self.examples, self.seq_len, MOST_PIXELS)

    @property
    def _level(self) -> str:
        return f"pathfinder{self.size}/{LEVELS[self.level]}"

    @property
    def seq_len(self) -> int:
        """The pixels."""
        return self.size**2

    def lacks(self, folder: Path) -> list[str]:
        """The folder of the level, if it is not there."""
        return [] if (folder / self._level).is_dir() else [self._level]

    def load(self, kind: Kind, folder: Path | None = None, tell: Tell = quiet) -> Splits:
        """Three splits; inputs (n, seq_len, 1) uint8, labels (n,) int64.

        Args:
            kind: real, from ``folder/pathfinder32/curv_contour_length_14`` or the like, or generated.
            folder: of the unpacked archive.
            tell: told how many images there are.

        Raises:
            MissingDataError: if the level is not in the folder.
            UserError: for a file that is not as published, or a number of images other than ``examples``.
        """
        images, labels = self._read(folder, tell) if kind == "real" else self._generate(tell)
        ends = split_ends(len(labels), self.split)
        parts = zip(np.split(images[..., None], ends), np.split(labels, ends), strict=True)
        train, validation, test = (Split(*part) for part in parts)
        return Splits(train, validation, test, Affine(*(np.array([x], np.float32) for x in AFFINES[self.pixels])))

    def _read(self, folder: Path | None, tell: Tell) -> tuple[np.ndarray, np.ndarray]:
        """Images (n, seq_len) and labels (n,), in the order in which the splits are cut off."""
        if self.draw != 1:
            raise UserError(f"{self.name}: draw={self.draw} is of generated data; leave it out for the published files")
        found = self._entries(folder)
        found = [found[source] for source in order(len(found), self.split)]
        images = np.empty((len(found), self.seq_len), np.uint8)
        for row, entry in enumerate(found):
            images[row] = read_image(entry.path, self.size).ravel()
            if row % EVERY == 0:
                tell(row, len(found))
        tell(len(found), len(found))
        return images, np.array([entry.label for entry in found], np.int64)

    def _entries(self, folder: Path | None) -> list[Entry]:
        """All published images but an empty file, of which the release has one."""
        path = Path(folder or "", self._level)
        if folder is None or not path.is_dir():
            raise MissingDataError(f"{self.name} needs the folder {path}, which is not there; get {self.archive}")
        found = entries(path)
        if len(found) != self.examples:
            raise UserError(
                f"{path / 'metadata'} must name {self.examples:,} images, got {len(found):,}; "
                f"unpack the archive anew, or give that number as examples"
            )
        empty = [entry for entry in found if not entry.path.stat().st_size]
        if len(empty) > EMPTY:
            raise UserError(
                f"{empty[0].path} must be an image, got an empty file, as are {len(empty) - 1:,} more; "
                f"unpack the archive anew"
            )
        return [entry for entry in found if entry not in empty]

    def _generate(self, tell: Tell) -> tuple[np.ndarray, np.ndarray]:
        """As ``_read``."""
        images = np.empty((self.examples, self.seq_len), np.uint8)
        labels = np.empty(self.examples, np.int64)
        rows = np.argsort(order(self.examples, self.split))
        for start in range(0, self.examples, CHUNK):
            into = rows[start : start + CHUNK]
            made, answers = chunk(self.size, CONTOURS[self.level], self.draw, start // CHUNK)
            images[into], labels[into] = made.reshape(CHUNK, -1)[: len(into)], answers[: len(into)]
            tell(start + len(into), self.examples)
        return images, labels


@dataclass(frozen=True, kw_only=True)
class PathX(Pathfinder):
    """Are the two discs of a 128 x 128 image the ends of one dashed contour? Pixels come row by row.

    ::

        input    0 0 0 191 255 96 0 ... 0      16,384 grey values, one channel
        target                          1      1: joined, 0: not

    The image, the options and the source are those of lra-pathfinder.
    """

    name: ClassVar[str] = "lra-pathx"
    archive: ClassVar[str | None] = "lra/pathfinder128"
    size: ClassVar[int] = 128


def order(n: int, split: str) -> np.ndarray:
    """Which image comes where (n,) before the three parts are cut off."""
    return randperm(n, seed=42) if split == "s4" else np.arange(n)


def split_ends(n: int, split: str) -> list[int]:
    """Where training and validation end: at 80 and 90 %, rounded as each code does."""
    return [n - 2 * (n // 10), n - n // 10] if split == "s4" else [round(0.8 * n), round(0.9 * n)]
