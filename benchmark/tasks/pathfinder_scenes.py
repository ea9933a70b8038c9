"""What Pathfinder images show: two target snakes, shorter distractors, and a disc at two tips."""

from typing import NamedTuple

import numpy as np

from benchmark.tasks.pathfinder_snakes import Field, blank, extend, fits, mark
from benchmark.tasks.pathfinder_style import Style, unit

ATTEMPTS = 1000
"""Images begun at once. A part of what a seed means."""
DISTRACTOR_TRIES = 5
"""Snakes begun for one distractor before the image goes without it."""
SEED_TRIES = 64
"""Pixels tried for its first paddle: where fewer than 1 % would do, most likely none is found."""


class Scenes(NamedTuple):
    """n images: target paddles (n, 2, contour, 3), distractors (n, d, short, 3), discs (n, 2, 2), labels (n,).

    Paddles are as in pathfinder_style; those of a distractor that found no place are all zero, which is on
    the edge. Label 1: both discs lie at the tips of one target snake.
    """

    targets: np.ndarray
    distractors: np.ndarray
    discs: np.ndarray
    labels: np.ndarray


def scenes(rng: np.random.Generator, style: Style, contour: int, count: int) -> Scenes:
    """Random scenes; those whose target snakes find no place are begun anew.

    Args:
        rng: source of all that is random.
        style: of the image size.
        contour: paddles in a target snake; a distractor has a third of them.
        count: how many scenes.
    """
    field, pair = targets(rng, style, contour, count)
    return Scenes(pair, distractors(rng, style, contour // 3, field), *markers(rng, pair))


def targets(rng: np.random.Generator, style: Style, contour: int, count: int) -> tuple[Field, np.ndarray]:
    """Canvases with two target snakes each, and their paddles (count, 2, contour, 3)."""
    made: list[tuple[Field, np.ndarray]] = []
    while sum(len(pair) for _, pair in made) < count:
        made.append(attempt(rng, style, contour))
    fields, pairs = zip(*made, strict=True)
    field = Field(*(np.concatenate(parts) for parts in zip(*fields, strict=True)))
    return field.only(np.arange(count)), np.concatenate(pairs)[:count]


def attempt(rng: np.random.Generator, style: Style, contour: int) -> tuple[Field, np.ndarray]:
    """Pairs of target snakes, for those of ATTEMPTS images in which both grew to their length.

    The two grow in turn. A snake keeps clear of all paddles but its own newest, from which it goes on. Few make
    it: of 128 pixels and 14 paddles 1 %.
    """
    rows = np.arange(ATTEMPTS)
    field = blank(style, rng.integers(0, len(style.margins), ATTEMPTS))
    pair = roots(rng, style, ATTEMPTS)
    for snakes in pair:
        mark(style, field, rows, snakes[:, -1])
    for turn in range(2 * (contour - 1)):
        mine, other = turn % 2, 1 - turn % 2
        mark(style, field, rows, pair[mine][:, -1], -1)
        found, grown = extend(rng, style, field, rows, pair[mine])
        rows, pair[mine], pair[other] = rows[found], grown, pair[other][found]
        for paddles in (grown[:, -2], grown[:, -1]):
            mark(style, field, rows, paddles)
    return field.only(rows), np.stack(pair, 1)


def roots(rng: np.random.Generator, style: Style, attempts: int) -> list[np.ndarray]:
    """Two snakes of one paddle (n, 1, 3), ``seed_distance`` apart and at least twice that from the border."""
    inner = (style.edge + 2 * style.seed_distance, style.edge + style.size - 2 * style.seed_distance)
    tail = rng.integers(*inner, (attempts, 2))
    beside = np.rint(tail + style.seed_distance * unit(rng.integers(0, 360, attempts))).astype(int)
    directions = rng.integers(0, 360, (2, attempts))
    return [np.column_stack(parts)[:, None] for parts in zip((tail, beside), directions, strict=True)]


def distractors(rng: np.random.Generator, style: Style, length: int, field: Field) -> np.ndarray:
    """Short snakes where there is room (n, d, length, 3); they are marked on the canvases."""
    paddles = np.zeros((len(field.which), style.distractor_paddles // length, length, 3), int)
    for index in range(paddles.shape[1]):
        waiting = np.arange(len(paddles))
        for _ in range(DISTRACTOR_TRIES):
            rows, snakes = grow(rng, style, length, field, waiting)
            paddles[rows, index] = snakes
            waiting = np.setdiff1d(waiting, rows)
    return paddles


def grow(
    rng: np.random.Generator, style: Style, length: int, field: Field, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One try of a snake on each of the canvases ``rows``; those that fail leave no mark.

    Returns:
        The canvases where one grew to its length (found,), and its paddles (found, length, 3).
    """
    rows, snakes = sprout(rng, style, field, rows)
    for _ in range(length - 1):
        found, grown = extend(rng, style, field, rows, snakes)
        mark(style, field, rows, snakes[:, -1])
        for paddles in np.moveaxis(snakes[~found], 1, 0):
            mark(style, field, rows[~found], paddles, -1)
        rows, snakes = rows[found], grown
    mark(style, field, rows, snakes[:, -1])
    return rows, snakes


def sprout(rng: np.random.Generator, style: Style, field: Field, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Snakes of one paddle, of a random direction and at a random place where it fits.

    Returns:
        The canvases where a place was found (found,), and the paddle (found, 1, 3).
    """
    tails = rng.integers(style.edge, style.edge + style.size, (len(rows), SEED_TRIES, 2))
    degrees = rng.integers(0, 360, (len(rows), 1, 1))
    tried = np.concatenate([tails, np.broadcast_to(degrees, (*tails.shape[:2], 1))], -1)
    free = fits(style, field, rows, tried)
    found = free.any(1)
    return rows[found], tried[found, free[found].argmax(1)][:, None]


def markers(rng: np.random.Generator, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Discs (n, 2, 2) and labels (n,): the first tip of one snake, the last tip of the same (1) or of the other (0)."""
    rows = np.arange(len(pair))
    labels = rng.integers(0, 2, len(pair))
    begin = rng.integers(0, 2, len(pair))
    end = np.where(labels == 1, begin, 1 - begin)
    return np.stack([pair[rows, begin, 0, :2], pair[rows, end, -1, :2]], 1), labels
