"""What a ListOps tree is: from its levels to its tokens and its value.

A level lists the nodes of one depth, tree by tree; the children of its operators follow each other in the
same order on the next level, so that whatever is asked of siblings is one ``reduceat``.
"""

from typing import NamedTuple

import numpy as np

PAD, UNKNOWN, EOS = 0, 1, 2
OPERATORS = ("[MIN", "[MAX", "[MED", "[SM")
VOCABULARY = ("<pad>", "<unk>", "<eos>", *"0123456789", *OPERATORS, "]")
DIGIT, OPERATOR, CLOSE = 3, 13, 17
"""The tokens of 0, of [MIN and of ]."""


class Trees(NamedTuple):
    """Tokens (n, width) uint8, zero padded; lengths (n,) int32; values (n,) int64 in 0..9."""

    tokens: np.ndarray
    lengths: np.ndarray
    values: np.ndarray


class Level(NamedTuple):
    """Nodes of one depth: their tree (m,); kind (m,), of OPERATORS; children (m,), 0 for a leaf; digit (m,)."""

    tree: np.ndarray
    kind: np.ndarray
    children: np.ndarray
    digit: np.ndarray


def write(levels: list[Level], lengths: np.ndarray, width: int) -> Trees:
    """Sizes and values of all nodes from the leaves up, then their tokens from the root down."""
    sizes, values = measure(levels)
    tokens = np.zeros((len(lengths), width), np.uint8)
    start = np.zeros(len(lengths), np.int64)
    for depth, level in enumerate(levels):
        branching = level.children > 0
        token = np.where(branching, OPERATOR + level.kind, DIGIT + level.digit)
        tokens[level.tree, start] = token
        tokens[level.tree[branching], (start + sizes[depth] - 1)[branching]] = CLOSE
        if depth + 1 < len(levels):
            start = child_starts(start[branching], level.children[branching], sizes[depth + 1])
    return Trees(tokens, lengths.astype(np.int32), values[0].astype(np.int64))


def child_starts(start: np.ndarray, children: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Where each child begins: behind its parent's opener and its elder siblings."""
    before = np.cumsum(sizes) - sizes
    return before + np.repeat(start + 1 - before[first(children)], children)


def first(children: np.ndarray) -> np.ndarray:
    """The place of each operator's first child on the next level."""
    return np.cumsum(children) - children


def measure(levels: list[Level]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Tokens and values of every node, level by level."""
    sizes, values = [], []
    below = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for level in reversed(levels):
        size, value = np.ones(len(level.tree), np.int64), level.digit.astype(np.int64)
        branching = level.children > 0
        if branching.any():
            children = level.children[branching]
            size[branching] = 2 + np.add.reduceat(below[0], first(children))
            value[branching] = evaluate(level.kind[branching], children, below[1])
        below = size, value
        sizes.append(size)
        values.append(value)
    return sizes[::-1], values[::-1]


def evaluate(kind: np.ndarray, children: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values (m,) of operators from the values of all their children, in order."""
    begin = first(children)
    low, high, total = (f.reduceat(values, begin) for f in (np.minimum, np.maximum, np.add))
    return np.choose(kind, [low, high, medians(children, values), total % 10])


def medians(children: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Median digit of each group of siblings; of an even count the mean of the middle two, rounded down."""
    group = np.repeat(np.arange(len(children)), children)
    ranked = np.sort(group * 10 + values) % 10
    begin = first(children)
    return (ranked[begin + (children - 1) // 2] + ranked[begin + children // 2]) // 2
