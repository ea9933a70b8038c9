"""The published files of ListOps: a header, then one expression and its value a line."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from benchmark.spec.errors import UserError, short
from benchmark.tasks.listops_tokens import CLOSE, DIGIT, OPERATOR, VOCABULARY, Trees

HEADER = b"Source\tTarget"
TOKENS = {word.encode(): token for token, word in enumerate(VOCABULARY) if token >= DIGIT}
EVERY = 1000
"""Lines between two reports of progress."""


def read_tsv(path: Path, rows: int, width: int, tell: Callable[[int], object] = lambda _: None) -> Trees:
    """The expressions of one file.

    Args:
        path: of the file.
        rows: how many expressions it must hold.
        width: the most tokens that one may have.
        tell: told, now and then, how many are read.

    Raises:
        UserError: naming file and line, for what is not as published.
    """
    trees = Trees(np.zeros((rows, width), np.uint8), np.zeros(rows, np.int32), np.zeros(rows, np.int64))
    count = 0
    with path.open("rb") as file:
        check_header(path, file.readline())
        for count, line in enumerate(file, 1):
            tokens, value = parse(line, width, f"{path}, line {count + 1}")
            if count <= rows:
                trees.tokens[count - 1, : len(tokens)] = tokens
                trees.lengths[count - 1], trees.values[count - 1] = len(tokens), value
            if count % EVERY == 0:
                tell(count)
    tell(count)
    if count != rows:
        raise UserError(
            f"{path} must hold {rows:,} expressions, got {count:,}; get it anew, or give that number as option"
        )
    return trees


def check_header(path: Path, line: bytes) -> None:
    """Raise UserError unless the file begins as published."""
    if line.lstrip().startswith(b"<"):
        raise UserError(f"{path}, line 1: the file is a web page, not a table of expressions; get it anew")
    if line.rstrip(b"\r\n") != HEADER:
        raise UserError(f"{path}, line 1: the header must be Source, tab, Target, got {quoted(line)}; get it anew")


def parse(line: bytes, width: int, place: str) -> tuple[list[int], int]:
    """Tokens and value of a line. Raises UserError, which begins with the place, if it is not as published."""
    if not line.endswith(b"\n"):
        raise UserError(f"{place}: the last line must end with a line break, so the file is cut off; get it anew")
    columns = line.rstrip(b"\r\n").split(b"\t")
    if len(columns) != 2:
        raise UserError(f"{place}: there must be 2 columns, Source and Target, got {len(columns)}; get the file anew")
    source, target = columns
    if len(target) != 1 or not target.isdigit():
        raise UserError(f"{place}: the target must be one of 0..9, got {quoted(target)}; get the file anew")
    tokens = encode(source, place)
    if not 1 <= len(tokens) <= width:
        raise UserError(f"{place}: an expression must have 1..{width:,} tokens, got {len(tokens):,}; get the file anew")
    return tokens, int(target)


def encode(source: bytes, place: str) -> list[int]:
    """Token numbers of an expression; parentheses say nothing and are left out."""
    try:
        return [TOKENS[word] for word in source.translate(None, b"()").split()]
    except KeyError as error:
        known = " ".join(VOCABULARY[DIGIT:])
        raise UserError(f"{place}: unknown token {quoted(error.args[0])}; known: {known}; get the file anew") from None


def quoted(text: bytes) -> str:
    """Bytes of a file as they stand in a message."""
    return short(text.decode(errors="replace"))


def write_tsv(path: Path, trees: Trees) -> None:
    """Write expressions as a file of the published format, line ends and parentheses included."""
    rows = zip(trees.tokens, trees.lengths, trees.values, strict=True)
    lines = [HEADER.decode(), *(f"{nest(tokens[:length])}\t{value}" for tokens, length, value in rows)]
    path.write_text("".join(f"{line}\r\n" for line in lines), newline="")


def nest(tokens: Iterable[int]) -> str:
    """An expression as it is published: every list as pairs, nested to the left.

    >>> nest([TOKENS[word] for word in b"[MAX 2 9 ]".split()])
    '( ( ( [MAX 2 ) 9 ) ] )'
    """
    words: list[str] = []
    openers: list[int] = []
    for token in tokens:
        words.append(VOCABULARY[token])
        if OPERATOR <= token < CLOSE:
            openers.append(len(words) - 1)
            continue
        if token == CLOSE:
            pair(words, openers.pop())
        if openers:
            pair(words, openers[-1])
    return " ".join(words)


def pair(words: list[str], opener: int) -> None:
    """Put everything from the operator on between parentheses."""
    words[opener] = f"( {words[opener]}"
    words.append(")")
