"""Random ListOps trees, many at a time: their shapes grow level by level from the root."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks.base import Tell, quiet
from benchmark.tasks.listops_tokens import OPERATORS, Level, Trees, write

BRANCHING = 0.25
"""The chance that a node above the deepest level is an operator."""
BATCH = 20_000
"""Trees begun at once. A part of what the seed means: with another number the trees are others."""
PATIENCE = 50
"""Batches without a new tree after which there are taken to be none."""


class Bounds(NamedTuple):
    """Which trees are kept: min_length < tokens < max_length, parentheses not counted."""

    min_length: int
    max_length: int
    max_depth: int
    max_args: int


def longest(bounds: Bounds) -> int:
    """Tokens of the largest tree of that depth and arity, counted no further than max_length."""
    tokens = 1
    for _ in range(bounds.max_depth - 1):
        tokens = 2 + bounds.max_args * tokens
        if tokens >= bounds.max_length:
            return bounds.max_length
    return tokens


def generate(count: int, bounds: Bounds, seed: int, tell: Tell = quiet) -> Trees:
    """Distinct random trees, the same for the same arguments.

    Args:
        count: how many.
        bounds: which trees are kept.
        seed: another one gives other trees.
        tell: told how many trees there are.

    Returns:
        Trees of width max_length - 1, in the order of drawing.

    Raises:
        UserError: if the bounds leave too few distinct trees.

    Source: Nangia and Bowman 2018 (arXiv:1804.06028); lengths, depth and arity by Tay et al. 2021 (arXiv:2011.04006).
    """
    found = Trees(np.zeros((count, bounds.max_length - 1), np.uint8), np.zeros(count, np.int32), np.zeros(count, int))
    seen: set[bytes] = set()
    filled = idle = 0
    for batch in batches(bounds, seed):
        fresh = unseen(batch, seen)[: count - filled]
        for target, part in zip(found, batch, strict=True):
            target[filled : filled + len(fresh)] = part[fresh]
        filled += len(fresh)
        idle = 0 if fresh else idle + 1
        tell(filled, count)
        if filled == count:
            break
        if idle == PATIENCE:
            raise UserError(
                f"lra-listops: {count:,} distinct expressions were asked for, but only {filled:,} were found with "
                f"{bounds.min_length} < length < {bounds.max_length}; ask for fewer, or widen the bounds"
            )
    return found


def unseen(trees: Trees, seen: set[bytes]) -> list[int]:
    """Rows of the trees whose digests are not in ``seen``; they are added to it."""
    rows = []
    for row, (tokens, length) in enumerate(zip(trees.tokens, trees.lengths, strict=True)):
        key = blake2b(tokens[:length], digest_size=16).digest()
        if key not in seen:
            seen.add(key)
            rows.append(row)
    return rows


def batches(bounds: Bounds, seed: int) -> Iterator[Trees]:
    """The trees kept of one batch after another, without end; batch i hangs on (seed, i) alone."""
    index = 0
    while True:
        levels, lengths = grow(np.random.default_rng([seed, index]), BATCH, bounds)
        yield write(*keep(levels, lengths, bounds), bounds.max_length - 1)
        index += 1


def grow(rng: np.random.Generator, trees: int, bounds: Bounds) -> tuple[list[Level], np.ndarray]:
    """Shapes of random trees, each left unfinished once its length reaches max_length.

    Returns:
        The levels, and the lengths (trees,), exact for those below max_length.
    """
    lengths = np.ones(trees, np.int64)
    tree = np.arange(trees)
    levels = []
    for depth in range(1, bounds.max_depth + 1):
        level = draw_level(rng, tree, depth < bounds.max_depth, bounds.max_args)
        levels.append(level)
        branching = level.children > 0
        added = np.bincount(level.tree[branching], level.children[branching] + 1, trees)
        lengths += added.astype(np.int64)
        going_on = lengths[level.tree] < bounds.max_length
        tree = np.repeat(level.tree, level.children * going_on)
        if not len(tree):
            break
    return levels, lengths


def draw_level(rng: np.random.Generator, tree: np.ndarray, may_branch: bool, max_args: int) -> Level:
    """Operators of 2..max_args children with probability BRANCHING, else digits, all uniform."""
    size = len(tree)
    branching = rng.random(size) <= BRANCHING if may_branch else np.zeros(size, bool)
    children = np.zeros(size, np.int64)
    children[branching] = rng.integers(2, max_args + 1, np.count_nonzero(branching))
    kind = rng.integers(0, len(OPERATORS), size, np.uint8)
    return Level(tree, kind, children, rng.integers(0, 10, size, np.uint8))


def keep(levels: list[Level], lengths: np.ndarray, bounds: Bounds) -> tuple[list[Level], np.ndarray]:
    """The levels and lengths of the trees within bounds alone, renumbered."""
    kept = (bounds.min_length < lengths) & (lengths < bounds.max_length)
    number = np.cumsum(kept) - 1
    chosen = [Level(*(part[kept[level.tree]] for part in level)) for level in levels]
    return [level._replace(tree=number[level.tree]) for level in chosen], lengths[kept]
