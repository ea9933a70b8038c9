"""Which of 35 words is spoken, sample by sample: Speech Commands."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from benchmark.spec.errors import UserError, short, unknown
from benchmark.tasks.base import Affine, Encoder, Extra, Kind, Split, Splits, Task, Tell, quiet
from benchmark.tasks.clips import RATE_HZ, SAMPLES, clips, read_clip
from benchmark.tasks.progress import Progress
from benchmark.tasks.sizes import check_steps
from benchmark.tasks.tones import tones

WORDS = tuple(
    "bed cat down five forward go house left marvin no on right sheila "  # noqa: SIM905 - three lines, not 35
    "tree up visual yes backward bird dog eight follow four happy learn "
    "nine off one seven six stop three two wow zero".split()
)
"""In the order of S4's classes."""

FULL_SCALE = 32_768
EPSILON = 1e-5 * FULL_SCALE
"""Added to each deviation: 1e-5 where samples reach from -1 to 1."""

ROWS_AT_ONCE = 256


@dataclass(frozen=True, kw_only=True)
class SpeechCommands(Task):
    r"""Which of 35 words is spoken, from the 16,000 samples of a second?

    ::

        input    -3 5 12 ... 1860 2011 ... 0 0      samples of 16 bits at 16 kHz, filled up with 0, standardised
        target   16                                 0 bed .. 16 yes .. 34 zero

    ``standardise``: by mean and deviation (of the population, + 1e-5 of samples between -1 and 1) of the
    training set, at each position, as in S4; or global. S4's code divides samples by 2^15 twice, so that 1e-5
    outweighs their deviation; here they are divided once. The test set at 8 kHz is every second sample,
    without a filter, as published.

    ``words``: all, or some with commas between, for a part of the archive: another, easier task. ``stride`` 16 keeps
    every sixteenth sample, without a filter, for small runs: a reduction that no publication has.

    Stand-in: 35 tones, see ``benchmark.tasks.tones``; ``examples`` of them to train on, ``held_out`` for
    validation and for test each::

        bed .. house      steady, 90 to 300 Hz      ~~~~~~~~
        left .. tree      rising by a fifth         ..~~~///
        up .. eight       falling by a fifth        \\\~~~..
        follow .. one     trembling                 ~ ~ ~ ~
        seven .. zero     a fifth up, half way      ____----

    Source: Warden 2018, arXiv:1804.03209 (the recordings); Gu et al. 2022, arXiv:2111.00396 (the task).
    """

    name: ClassVar[str] = "speech-commands"
    kinds: ClassVar[tuple[Kind, ...]] = ("real", "stand-in")
    archive: ClassVar[str | None] = "speech-commands"
    encoder: ClassVar[Encoder] = "linear"
    chance = 1 / len(WORDS)

    standardise: Literal["position", "global"] = "position"
    words: str = "all"
    stride: int = 1
    examples: int = 3_500
    held_out: int = 700

    inputs = 1

    def _check(self) -> None:
        if self.stride > SAMPLES // 2:
            raise UserError(f"{self.name}: stride must be at most {SAMPLES // 2:,}, got {self.stride:,}")
        object.__setattr__(self, "words", ordered(self.name, self.words))
        check_steps(self.name, max(self.examples, self.held_out), self.seq_len)

    @property
    def classes(self) -> tuple[str, ...]:
        """The words, in S4's order."""
        return WORDS if self.words == "all" else tuple(self.words.split(","))

    @property
    def seq_len(self) -> int:
        """Samples of a row."""
        return len(range(0, SAMPLES, self.stride))

    @property
    def outputs(self) -> int:
        """Words."""
        return len(self.classes)

    def load(self, kind: Kind, folder: Path | None = None, tell: Tell = quiet) -> Splits:
        """Three splits and the test set at half the rate; inputs (n, samples, 1) int16, labels (n,) int64.

        Args:
            kind: real or stand-in.
            folder: holds a folder for each word, validation_list.txt and testing_list.txt.
            tell: told of recordings read.

        Raises:
            MissingDataError: if a word, a list, or a file named in a list is absent.
            UserError: for a file that is not a recording of a second at 16 kHz, or a list that is none.
        """
        parts = self._drawn(tell) if kind == "stand-in" else self._recorded(folder, tell)
        affine = moments(parts[0].inputs, self.standardise)
        slower = Extra(Split(parts[2].inputs[:, ::2], parts[2].labels), every_second(affine), 2.0)
        return Splits(*parts, affine, {f"{RATE_HZ / 2000 / self.stride:g}khz": slower})

    def _recorded(self, folder: Path | None, tell: Tell) -> tuple[Split, Split, Split]:
        found = clips(self.name, folder, self.classes)
        progress = Progress(tell, sum(map(len, found)))
        train, validation, test = (self._read(paths, progress) for paths in found)
        return train, validation, test

    def _read(self, paths: list[Path], progress: Progress) -> Split:
        inputs = np.zeros((len(paths), self.seq_len, 1), np.int16)
        for row, path in zip(inputs, paths, strict=True):
            samples = read_clip(path)[:: self.stride]
            row[: len(samples), 0] = samples
            progress.add()
        labels = [self.classes.index(path.parent.name) for path in paths]
        return Split(inputs, np.array(labels, np.int64))

    def _drawn(self, tell: Tell) -> tuple[Split, Split, Split]:
        progress = Progress(tell, self.examples + 2 * self.held_out)
        sizes = (self.examples, self.held_out, self.held_out)
        train, validation, test = (self._sing(n, seed, progress) for seed, n in enumerate(sizes))
        return train, validation, test

    def _sing(self, count: int, seed: int, progress: Progress) -> Split:
        """Each word equally often, in random order."""
        rng = np.random.default_rng([seed])
        labels = np.argsort(rng.random(count)) % self.outputs
        words = np.array([WORDS.index(word) for word in self.classes])
        sounds = tones(words[labels], np.arange(0, SAMPLES, self.stride) / RATE_HZ, rng)
        progress.add(count)
        return Split(sounds[:, :, None], labels.astype(np.int64))


def ordered(owner: str, words: object) -> str:
    """Words in S4's order and without repeats, ``all`` for all of them: what is the same task has one spelling.

    >>> ordered("speech-commands", "yes, bed,yes")
    'bed,yes'

    Raises:
        UserError: for anything but ``all`` or two or more of the words, with commas between.
    """
    if not isinstance(words, str):
        raise UserError(f"{owner}: words must be all, or names with commas between, got {short(words)}")
    given = {word.strip() for word in words.split(",")}
    if "all" in given:
        return "all"
    if strange := sorted(given - {*WORDS}):
        raise unknown(f"{owner} word", strange[0], ["all", *WORDS])
    if len(given) < 2:
        raise UserError(f"{owner}: words must be two or more, got {words}; or say all")
    return "all" if len(given) == len(WORDS) else ",".join(word for word in WORDS if word in given)


def moments(inputs: np.ndarray, standardise: str) -> Affine:
    """Mean and deviation + EPSILON of int16 samples, exact sums, a few rows at a time.

    Args:
        inputs: (n, samples, 1) int16.
        standardise: position, for arrays (samples, 1), or global, for arrays (1, 1).

    Returns:
        Both float32, in units of a sample.
    """
    total, squares = np.zeros((2, *inputs.shape[1:]), np.int64)
    for first in range(0, len(inputs), ROWS_AT_ONCE):
        rows = inputs[first : first + ROWS_AT_ONCE].astype(np.int64)
        total += rows.sum(0)
        squares += (rows * rows).sum(0)
    count = len(inputs)
    if standardise == "global":
        total, squares, count = total.sum(0, keepdims=True), squares.sum(0, keepdims=True), inputs.size
    mean = total / count
    sd = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
    return Affine(mean.astype(np.float32), (sd + EPSILON).astype(np.float32))


def every_second(affine: Affine) -> Affine:
    """The same for every second sample."""
    return Affine(affine.mean[::2], affine.sd[::2])
