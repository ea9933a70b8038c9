"""Texts to tokens: bytes as they are, or the characters that occur in a training set. Padding is 0."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from benchmark.spec.errors import UserError

PAD, UNKNOWN, END = 0, 1, 2
SPECIALS = 3
BYTE_TOKENS = 257
"""Padding and the 256 bytes."""

CODE_POINTS = 0x110000

Encode = Callable[[bytes], np.ndarray]
"""From a text to its tokens, no longer than a row."""


def byte_tokens(text: bytes) -> np.ndarray:
    """Tokens 1..256 of bytes 0..255, (n,) uint16.

    >>> byte_tokens(b"ab").tolist()
    [98, 99]
    """
    return np.frombuffer(text, np.uint8).astype(np.uint16) + np.uint16(1)


def code_points(text: str) -> np.ndarray:
    """The Unicode number of each character, (n,) uint32."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


@dataclass(frozen=True)
class Vocabulary:
    """Characters with a token of their own, from 3 on; 1 stands for any other one, 2 ends a text.

    ``tokens`` maps code points to tokens, (1114112,) uint8.
    """

    tokens: np.ndarray
    size: int

    def encode(self, text: str, max_length: int) -> np.ndarray:
        """The tokens of the first max_length - 1 characters and END, (n,) uint8."""
        return np.append(self.tokens[code_points(text[: max_length - 1])], np.uint8(END))


def vocabulary(texts: Iterable[str], capacity: int, owner: str, min_count: int = 1) -> Vocabulary:
    """The characters that occur at least ``min_count`` times, the most frequent first, ties by code point.

    Args:
        texts: of the training set, read once.
        capacity: the largest size, special tokens included, up to 256.
        owner: the task's name, for the message.
        min_count: rarer characters become UNKNOWN.

    Raises:
        UserError: if more characters qualify than the capacity holds.
    """
    counts = np.zeros(CODE_POINTS, np.int64)
    for text in texts:
        found = np.bincount(code_points(text))
        counts[: len(found)] += found
    order = np.argsort(-counts, kind="stable")
    size = SPECIALS + int((counts >= min_count).sum())
    if size > capacity:
        cure = "these are not the published texts; choose tokens=bytes"
        raise UserError(f"{owner}: the vocabulary must fit {capacity} tokens, got {size}; {cure}")
    tokens = np.full(CODE_POINTS, UNKNOWN, np.uint8)
    tokens[order[: size - SPECIALS]] = np.arange(SPECIALS, size)
    return Vocabulary(tokens, size)
