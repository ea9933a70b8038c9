"""Are two documents related, character by character: Long Range Arena's Retrieval."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks import invented
from benchmark.tasks.base import Kind, Split, Splits, Task, Tell, quiet
from benchmark.tasks.pairs import Pair, decoded, pairs, survey
from benchmark.tasks.paths import existing
from benchmark.tasks.progress import Progress
from benchmark.tasks.sizes import check_steps
from benchmark.tasks.vocabulary import BYTE_TOKENS, SPECIALS, byte_tokens, vocabulary

PUBLISHED_CHARACTERS = 98
FILES = tuple(f"tsv_data/new_aan_pairs.{part}.tsv" for part in ("train", "eval", "test"))

Read = Callable[[], Iterable[Pair]]
"""Starts reading a part from its beginning."""

Encode = Callable[[Pair], list[np.ndarray]]
"""The tokens of both documents."""


@dataclass(frozen=True, kw_only=True)
class Retrieval(Task):
    r"""Does one paper cite the other?

    ::

        documents   On parsing ...      Parsing revisited ...     two papers, each cut after max_length
        input       80 111 33 ... 0     81 98 115 ... 0           bytes + 1, then padding
        target      1                                             1 cites or is cited, 0 not

    ``tokens``: bytes, of the documents themselves; or raw, as S4 reads the files: characters as they stand
    there, ``b'..\n..'`` for a document with line breaks, and an end that closes each document. A row that lacks
    a document is left out.

    Stand-in: pairs of texts of invented words from one source or two, where each of 16 sources has favourite
    words of its own, see ``benchmark.tasks.invented.source_pairs``; ``examples`` pairs to train on, ``held_out``
    for validation and for test each::

        documents   neka kedo neka fepo ...   kedo neka sivi neka ...   both favour neka and kedo: target 1
        documents   neka kedo neka fepo ...   fepo lovo zesi lovo ...   other favourites: target 0

    Source: Radev et al. 2013 (the papers); Tay et al. 2021, arXiv:2011.04006 (the task).
    """

    name: ClassVar[str] = "lra-retrieval"
    kinds: ClassVar[tuple[Kind, ...]] = ("real", "stand-in")
    archive: ClassVar[str | None] = "lra/retrieval"
    documents: ClassVar[int] = 2
    chance = 0.5

    tokens: Literal["raw", "bytes"] = "raw"
    max_length: int = 4000
    examples: int = 8_000
    held_out: int = 1_000

    outputs = 2

    def _check(self) -> None:
        check_steps(self.name, max(self.examples, self.held_out), 2 * self.max_length)

    @property
    def seq_len(self) -> int:
        """Tokens of one document."""
        return self.max_length

    @property
    def inputs(self) -> int:
        """Size of the vocabulary, known before any document is read."""
        return BYTE_TOKENS if self.tokens == "bytes" else PUBLISHED_CHARACTERS + SPECIALS

    def load(self, kind: Kind, folder: Path | None = None, tell: Tell = quiet) -> Splits:
        """Three splits; inputs (n, 2, max_length) uint8, of bytes uint16; labels (n,), lengths (n, 2) int64.

        The files are read twice, as they are too large to be kept: to count, then to fill.

        Args:
            kind: real or stand-in.
            folder: holds tsv_data/new_aan_pairs.{train,eval,test}.tsv.
            tell: told of pairs read.

        Raises:
            MissingDataError: naming the files that are absent.
            UserError: for a file of another format, naming the line.
        """
        parts = self._invented() if kind == "stand-in" else [_file(p) for p in existing(self.name, folder, *FILES)]
        encode = self._encoder(parts[0][0])
        progress = Progress(tell, sum(count for _, count in parts))
        train, validation, test = (self._split(read(), count, encode, progress) for read, count in parts)
        return Splits(train, validation, test)

    def _invented(self) -> list[tuple[Read, int]]:
        sizes = (self.examples, self.held_out, self.held_out)
        return [_stand_in(n, self.max_length, seed) for seed, n in enumerate(sizes)]

    def _encoder(self, read: Read) -> Encode:
        """From a pair to its tokens; characters count as far as documents are read."""
        if self.tokens == "bytes":
            return lambda pair: [byte_tokens(decoded(text, self.max_length)) for text in pair.texts]
        texts = (text[: self.max_length - 1] for pair in read() for text in characters(pair))
        found = vocabulary(texts, PUBLISHED_CHARACTERS + SPECIALS, self.name)
        return lambda pair: [found.encode(text, self.max_length) for text in characters(pair)]

    def _split(self, read: Iterable[Pair], count: int, encode: Encode, progress: Progress) -> Split:
        dtype = np.uint16 if self.tokens == "bytes" else np.uint8
        rows = np.zeros((count, 2, self.max_length), dtype)
        lengths = np.zeros((count, 2), np.int64)
        labels = np.zeros(count, np.int64)
        for i, pair in enumerate(read):
            for document, found in enumerate(encode(pair)):
                rows[i, document, : len(found)], lengths[i, document] = found, len(found)
            labels[i] = pair.label
            progress.add()
        return Split(rows, labels, lengths)


def characters(pair: Pair) -> list[str]:
    """Both texts as characters. Raises UserError, naming the line, if they are not utf-8."""
    try:
        return [text.decode() for text in pair.texts]
    except UnicodeDecodeError:
        raise UserError(f"{pair.place} must be utf-8 for tokens=raw; choose tokens=bytes") from None


def _file(path: Path) -> tuple[Read, int]:
    """The complete rows of a file, and how many they are."""

    def complete() -> Iterator[Pair]:
        return (pair for pair in pairs(path) if pair is not None)

    return complete, survey(path).kept


def _stand_in(count: int, max_length: int, seed: int) -> tuple[Read, int]:
    texts, labels = invented.source_pairs(count, max_length, seed)
    drawn = [Pair(f"pair {i}", int(label), pair) for i, (pair, label) in enumerate(zip(texts, labels, strict=True))]
    return lambda: drawn, count
