"""Is a review good or bad, character by character: Long Range Arena's Text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks import invented
from benchmark.tasks.base import Kind, MissingDataError, Split, Splits, Task, Tell, quiet
from benchmark.tasks.paths import CURE, existing, unlike
from benchmark.tasks.progress import Progress
from benchmark.tasks.sizes import check_steps
from benchmark.tasks.vocabulary import BYTE_TOKENS, Encode, byte_tokens, vocabulary

Document = bytes | Path
CLASSES = ("neg", "pos")
PUBLISHED_VOCABULARY, MIN_COUNT = 135, 15
HELD_OUT_SEED = 0


class Corpus(NamedTuple):
    """Texts, or the files that hold them, and their classes (n,) int64."""

    documents: Sequence[Document]
    labels: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Text(Task):
    """Is a film review good or bad?

    ::

        text     I liked it .                            a review, cut after max_length
        input    74 33 109 106 108 102 101 ... 0 0       bytes + 1, then padding
        target   1                                       0 bad, 1 good

    ``tokens``: bytes, as the Long Range Arena has it; or characters, as S4 has it: those of the training
    texts that occur 15 times, at most 135 tokens with padding, unknown and the end that closes each text.
    ``validation``: a fixed stratified tenth of the training set is held out; or the test set chooses the
    epoch, as in both publications, whose figures are so chosen.

    Stand-in: texts of invented words that differ in the order of syllables alone, see
    ``benchmark.tasks.invented.opinions``; ``examples`` of them to train on, ``held_out`` for
    validation and for test each::

        kind 0   kora telavi suni kora bedu rako ...     kora more often than rako
        kind 1   telavi rako suni rako kora bedu ...     rako more often than kora

    Source: Maas et al. 2011 (the reviews); Tay et al. 2021, arXiv:2011.04006 (the task).
    """

    name: ClassVar[str] = "lra-text"
    kinds: ClassVar[tuple[Kind, ...]] = ("real", "stand-in")
    archive: ClassVar[str | None] = "imdb"
    chance = 0.5

    tokens: Literal["bytes", "characters"] = "bytes"
    max_length: int = 4096
    validation: Literal["held-out", "test"] = "held-out"
    examples: int = 8_000
    held_out: int = 1_000

    outputs = 2

    def _check(self) -> None:
        check_steps(self.name, max(self.examples, self.held_out), self.max_length)

    @property
    def seq_len(self) -> int:
        """Tokens of a row."""
        return self.max_length

    @property
    def inputs(self) -> int:
        """Size of the vocabulary, known before any text is read."""
        return BYTE_TOKENS if self.tokens == "bytes" else PUBLISHED_VOCABULARY

    def load(self, kind: Kind, folder: Path | None = None, tell: Tell = quiet) -> Splits:
        """Three splits; inputs (n, max_length) uint16, of characters uint8; labels and lengths (n,) int64.

        Args:
            kind: real or stand-in.
            folder: holds {train,test}/{pos,neg}/*.txt.
            tell: told of texts read.

        Raises:
            MissingDataError: if a folder is absent or empty.
            UserError: for an empty text, or one that is not utf-8 where characters are asked for.
        """
        corpora = self._invented() if kind == "stand-in" else self._reviews(folder)
        encode = self._encoder(corpora[0])
        progress = Progress(tell, sum(len(corpus.labels) for corpus in corpora))
        splits = [self._split(corpus, encode, progress) for corpus in corpora]
        return Splits(splits[0], splits[1], splits[-1])

    def _invented(self) -> list[Corpus]:
        """As many parts as ``_reviews`` has."""
        sizes = [self.examples, self.held_out, self.held_out]
        if self.validation == "test":
            sizes.pop()
        return [Corpus(*invented.opinions(n, self.max_length, seed)) for seed, n in enumerate(sizes)]

    def _reviews(self, folder: Path | None) -> list[Corpus]:
        """Train, validation and test; without the second where the test set validates."""
        train, test = (reviews(folder, part) for part in ("train", "test"))
        if self.validation == "test":
            return [train, test]
        rest, tenth = hold_out(train.labels)
        return [*(Corpus([train.documents[i] for i in rows], train.labels[rows]) for rows in (rest, tenth)), test]

    def _encoder(self, train: Corpus) -> Encode:
        """From a text's bytes to its tokens; characters count as far as texts are read."""
        if self.tokens == "bytes":
            return lambda text: byte_tokens(text[: self.max_length])
        texts = (text.decode()[: self.max_length - 1] for text in contents(train.documents, utf8=True))
        found = vocabulary(texts, PUBLISHED_VOCABULARY, self.name, MIN_COUNT)
        return lambda text: found.encode(text.decode(), self.max_length)

    def _split(self, corpus: Corpus, encode: Encode, progress: Progress) -> Split:
        dtype = np.uint16 if self.tokens == "bytes" else np.uint8
        rows = np.zeros((len(corpus.labels), self.max_length), dtype)
        lengths = np.zeros(len(corpus.labels), np.int64)
        for i, text in enumerate(contents(corpus.documents, utf8=self.tokens == "characters")):
            found = encode(text)
            rows[i, : len(found)], lengths[i] = found, len(found)
            progress.add()
        return Split(rows, corpus.labels, lengths)


def reviews(folder: Path | None, part: str) -> Corpus:
    """The files of one part, bad ones first, by name. Raises MissingDataError if there are none of a class."""
    paths: list[Document] = []
    counts = []
    for place in existing(Text.name, folder, *(f"{part}/{name}" for name in CLASSES)):
        found = sorted(place.glob("*.txt"))
        if not found:
            raise MissingDataError(f"{Text.name}: {place} must hold *.txt, got none; {CURE}")
        paths += found
        counts.append(len(found))
    return Corpus(paths, np.repeat(np.arange(len(CLASSES)), counts))


def contents(documents: Sequence[Document], *, utf8: bool) -> Iterator[bytes]:
    """The bytes of each text. Raises UserError, naming the file, for one that is empty, or not utf-8 if asked for."""
    for document in documents:
        if isinstance(document, bytes):
            yield document
            continue
        text = document.read_bytes()
        if not text:
            raise UserError(unlike(document, "a review", "an empty file"))
        if utf8 and not is_utf8(text):
            raise UserError(f"{document} must be utf-8 for tokens=characters; choose tokens=bytes")
        yield text


def is_utf8(text: bytes) -> bool:
    """Whether bytes are text."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def hold_out(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on, and a tenth of each class, drawn by a fixed seed; both ascending."""
    shuffled = np.random.default_rng(HELD_OUT_SEED).permutation(len(labels))
    tenth = [rows[: (len(rows) + 9) // 10] for rows in (shuffled[labels[shuffled] == c] for c in np.unique(labels))]
    held = np.sort(np.concatenate(tenth))
    return np.setdiff1d(np.arange(len(labels)), held), held
