"""The files of Speech Commands: one-second recordings in a folder for each word, and lists of those held out."""

import wave
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks.base import MissingDataError
from benchmark.tasks.paths import CURE, existing, listed, unlike

RATE_HZ = 16_000
SAMPLES = 16_000
"""One second. Shorter recordings are filled up with zeros at the end."""

LISTS = ("validation_list.txt", "testing_list.txt")


class Clips(NamedTuple):
    """Files such as ``bed/0a7c2a8d_nohash_0.wav`` of each split."""

    train: list[Path]
    validation: list[Path]
    test: list[Path]


def clips(owner: str, folder: Path | None, words: tuple[str, ...]) -> Clips:
    """The recordings of some words: those in the two lists are for validation and test, the others for training.

    Raises:
        MissingDataError: if a word's folder, a list or a file named in a list is absent, or a split is empty.
        UserError: if a list is none.
    """
    paths = existing(owner, folder, *LISTS, *words)
    root, lists = paths[0].parent, paths[: len(LISTS)]
    found = [f"{word}/{clip.name}" for word in words for clip in sorted((root / word).glob("*.wav"))]
    validation, test = (_held_out(owner, path, words, set(found)) for path in lists)
    held_out = {*validation, *test}
    train = [name for name in found if name not in held_out]
    for part, names in (("training", train), ("validation", validation), ("test", test)):
        if not names:
            raise MissingDataError(f"{owner}: {root} must hold recordings for {part}, got none; {CURE}")
    return Clips(*([root / name for name in names] for names in (train, validation, test)))


def _held_out(owner: str, path: Path, words: tuple[str, ...], found: set[str]) -> list[str]:
    """What a list names. Raises MissingDataError for what it names in vain."""
    names = read_list(path, words)
    missing = sorted(set(names) - found)
    if missing:
        absent = f"{len(missing):,} of {len(names):,} are missing: {listed(missing, 3)}"
        raise MissingDataError(f"{owner}: the files that {path} names must be there, {absent}; {CURE}")
    return names


def read_list(path: Path, words: tuple[str, ...]) -> list[str]:
    """The entries of a list that belong to some words. Raises UserError, naming the line, for one that is no entry."""
    names = []
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        word, _, name = line.strip().partition("/")
        if line.strip() and (not word or not name.endswith(".wav") or "/" in name):
            raise UserError(unlike(path, "a list of WORD/FILE.wav", f"line {number}: {line[:40]!r}"))
        if word in words:
            names.append(f"{word}/{name}")
    return names


def read_clip(path: Path) -> np.ndarray:
    """The samples of one recording, (n,) int16 with n from 1 to 16,000.

    Raises:
        UserError: for a file that is no RIFF wave file of one channel of 16 bits at 16 kHz, is longer than a
            second, or cut.
    """
    try:
        with wave.open(str(path)) as file:
            params = file.getparams()
            data = file.readframes(params.nframes)
    except (wave.Error, EOFError) as error:
        reason = str(error) or "it ends early"
        raise UserError(unlike(path, "a RIFF wave file", f"one that is not ({reason})")) from None
    for given, must, what in (
        (params.nchannels, 1, "channel"),
        (8 * params.sampwidth, 16, "bits a sample"),
        (params.framerate, RATE_HZ, "samples a second"),
    ):
        if given != must:
            raise UserError(unlike(path, f"a recording of {must:,} {what}", f"{given:,}"))
    if not 1 <= params.nframes <= SAMPLES:
        raise UserError(unlike(path, f"a recording of 1 to {SAMPLES:,} samples", f"{params.nframes:,}"))
    if len(data) != 2 * params.nframes:
        raise UserError(unlike(path, f"whole, with {params.nframes:,} samples", f"{len(data) // 2:,}"))
    return np.frombuffer(data, "<i2")
