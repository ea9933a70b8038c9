"""Texts of invented words: the stand-ins of text and retrieval, drawn in seconds without a download.

A word is two or three syllables of a consonant and a vowel. How often words occur falls with their
rank, as in Zipf's law.
"""

from typing import NamedTuple

import numpy as np

SYLLABLES = [f"{consonant}{vowel}".encode() for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
SHORTEST_WORD = 5
"""Two syllables and a blank."""

LANGUAGE_SEED, TEXT_SEED = 0, 1
"""The words are the same in every split, the texts are not."""

NEUTRAL_WORDS, OPINION_WORDS = 200, 12
OPINION_SHARE, AGREEING_SHARE = 0.3, 0.75
SOURCES, SOURCE_WORDS = 16, 150


class Lexicon(NamedTuple):
    """Words, each with a blank behind it, as rows of bytes filled up with 0, (words, longest) uint8."""

    letters: np.ndarray

    def text(self, words: np.ndarray, length: int) -> bytes:
        """The words in their order, cut after ``length`` bytes."""
        rows = self.letters[words]
        return rows[rows > 0][:length].tobytes()


def lexicon(words: list[bytes]) -> Lexicon:
    """Words as a table."""
    longest = max(map(len, words)) + 1
    padded = b"".join((word + b" ").ljust(longest, b"\0") for word in words)
    return Lexicon(np.frombuffer(padded, np.uint8).reshape(len(words), longest))


def invent(rng: np.random.Generator, count: int, syllables: tuple[int, ...] = (2, 3)) -> list[bytes]:
    """Distinct words; in none a syllable comes twice, so that turning its syllables round changes it."""
    words: dict[bytes, None] = {}
    while len(words) < count:
        size = syllables[int(rng.random() * len(syllables))]
        words[b"".join(SYLLABLES[i] for i in np.argsort(rng.random(len(SYLLABLES)))[:size])] = None
    return list(words)


def ranks(rng: np.random.Generator, words: int, count: int) -> np.ndarray:
    """Ranks from 0 in a lexicon, drawn in proportion to 1 / (rank + 1), (count,) int64."""
    shares = np.cumsum(1 / np.arange(1, words + 1))
    return np.searchsorted(shares, rng.random(count) * shares[-1])


def labels_and_lengths(
    rng: np.random.Generator, count: int, documents: int, max_length: int
) -> tuple[np.ndarray, np.ndarray]:
    """As many 0 as 1, (count,) int64; lengths that do not hang on them, (count, documents) int64."""
    labels = (np.argsort(rng.random(count)) % 2).astype(np.int64)
    shortest = (max_length + 1) // 2
    lengths = shortest + (rng.random((count, documents)) * (max_length + 1 - shortest)).astype(np.int64)
    return labels, lengths


def opinions(count: int, max_length: int, seed: int) -> tuple[list[bytes], np.ndarray]:
    """Texts of two kinds, which differ in the order of syllables alone.

    Three words in ten are opinions; of these three quarters are of the text's own kind, such as
    ``kora``, and the others of the other kind: the same syllables turned round, ``rako``. So both
    kinds hold every byte equally often.

    Args:
        count: of texts, half of each kind.
        max_length: bytes; a text has between half of it and all of it.
        seed: of the texts.

    Returns:
        The texts; their kinds (count,) int64.
    """
    letters = opinion_lexicon()
    rng = np.random.default_rng([TEXT_SEED, seed])
    labels, lengths = labels_and_lengths(rng, count, 1, max_length)
    texts = []
    for label, length in zip(labels, lengths[:, 0], strict=True):
        size = int(length) // SHORTEST_WORD + 1
        kind = label ^ (rng.random(size) >= AGREEING_SHARE)
        opinion = NEUTRAL_WORDS + kind * OPINION_WORDS + (rng.random(size) * OPINION_WORDS).astype(np.int64)
        words = np.where(rng.random(size) < OPINION_SHARE, opinion, ranks(rng, NEUTRAL_WORDS, size))
        texts.append(letters.text(words, int(length)))
    return texts, labels


def opinion_lexicon() -> Lexicon:
    """Neutral words, then the opinions of kind 0, then the same turned round."""
    rng = np.random.default_rng(LANGUAGE_SEED)
    own: list[bytes] = []
    for word in invent(rng, 2 * OPINION_WORDS, (2,)):
        if turned(word) not in own:
            own.append(word)
    own = own[:OPINION_WORDS]
    other = [turned(word) for word in own]
    neutral = [word for word in invent(rng, NEUTRAL_WORDS + 2 * OPINION_WORDS) if word not in own + other]
    return lexicon(neutral[:NEUTRAL_WORDS] + own + other)


def turned(word: bytes) -> bytes:
    """The second syllable before the first.

    >>> turned(b"kora")
    b'rako'
    """
    return word[2:] + word[:2]


def source_pairs(count: int, max_length: int, seed: int) -> tuple[list[tuple[bytes, bytes]], np.ndarray]:
    """Pairs of texts from one source (label 1) or from two (label 0).

    All sources share their words; which of them are frequent is each source's own.

    Args:
        count: of pairs, half of each kind.
        max_length: bytes; a text has between half of it and all of it.
        seed: of the texts.

    Returns:
        The pairs; their labels (count,) int64.
    """
    language = np.random.default_rng(LANGUAGE_SEED)
    letters = lexicon(invent(language, SOURCE_WORDS))
    order = np.argsort(language.random((SOURCES, SOURCE_WORDS)), axis=1)
    rng = np.random.default_rng([TEXT_SEED, seed])
    labels, lengths = labels_and_lengths(rng, count, 2, max_length)
    first = (rng.random(count) * SOURCES).astype(np.int64)
    shift = 1 + (rng.random(count) * (SOURCES - 1)).astype(np.int64)
    second = (first + np.where(labels == 1, 0, shift)) % SOURCES

    def text(source: np.ndarray, length: np.ndarray) -> bytes:
        words = ranks(rng, SOURCE_WORDS, int(length) // SHORTEST_WORD + 1)
        return letters.text(order[source, words], int(length))

    pairs = [(text(a, n[0]), text(b, n[1])) for a, b, n in zip(first, second, lengths, strict=True)]
    return pairs, labels
