"""Where the paddles of Pathfinder images lie: snakes grown paddle by paddle, on many canvases at once.

Paddles are (row, column, degrees) as in pathfinder_style. Letters of shapes: n snakes, p paddles of a snake,
t tries, w candidates, k pixels.
"""

from typing import NamedTuple

import numpy as np

from benchmark.tasks.pathfinder_style import Style, discs, footprints, moves

TRIES = 3
"""Draws of a paddle before its snake is given up."""
DEAD_END = 1e-4
"""A snake whose candidates weigh less together is given up."""


class Field(NamedTuple):
    """Canvases (n, side^2): by how many paddles, with a margin around them, a pixel is taken; and which margin (n,)."""

    taken: np.ndarray
    which: np.ndarray

    def only(self, rows: np.ndarray) -> "Field":
        """Copies of some of them."""
        return Field(*(part[rows] for part in self))


def blank(style: Style, which: np.ndarray) -> Field:
    """Empty canvases: the edge and the padding are taken."""
    place = np.arange(style.side)
    depth = np.minimum(place, place[::-1])
    border = np.minimum(depth[:, None], depth).ravel() < style.edge + style.padding
    return Field(np.tile(border.astype(np.int8), (len(which), 1)), which)


def covered(style: Style, which: np.ndarray, paddles: np.ndarray) -> np.ndarray:
    """Flat pixels (..., k) that paddles (..., 3) take."""
    ends = paddles[..., 0] * style.side + paddles[..., 1]
    return ends[..., None] + footprints(style)[which, paddles[..., 2]]


def fits(style: Style, field: Field, rows: np.ndarray, paddles: np.ndarray) -> np.ndarray:
    """Whether each of the paddles (n, t, 3) is clear, with a margin around it, of all that is taken (n, t)."""
    pixels = covered(style, field.which[rows, None], paddles)
    return ~field.taken[rows[:, None, None], pixels].any(-1)


def mark(style: Style, field: Field, rows: np.ndarray, paddles: np.ndarray, times: int = 1) -> None:
    """Put paddles (n, 3) on the canvases ``rows``, or with times -1 lift them."""
    field.taken[rows[:, None], covered(style, field.which[rows], paddles)] += np.int8(times)


def extend(
    rng: np.random.Generator, style: Style, field: Field, rows: np.ndarray, snakes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Snakes with one more paddle, which is clear of all that is taken.

    Args:
        rng: source of the draws.
        style: of the images.
        field: canvases, without the newest paddles of these snakes.
        rows: the snakes' canvases (n,).
        snakes: their paddles (n, p, 3).

    Returns:
        Which of the snakes can go on (n,), and those with their new paddle (found, p + 1, 3).
    """
    candidates, weights = choices(style, field, rows, snakes)
    alive = np.flatnonzero(weights.sum(1) >= DEAD_END)
    tried = draw(rng, candidates[alive], weights[alive])
    free = fits(style, field, rows[alive], tried)
    found = np.zeros(len(rows), bool)
    found[alive] = free.any(1)
    paddles = tried[np.arange(len(alive)), free.argmax(1)][free.any(1)]
    return found, np.concatenate([snakes[found], paddles[:, None]], 1)


def choices(style: Style, field: Field, rows: np.ndarray, snakes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Candidates for the next paddle (n, w, 3) and their weights (n, w), 0 near what is taken."""
    newest, which = snakes[:, -1], field.which[rows]
    place = int(snakes.shape[1] == 1), which, newest[:, 2]
    candidates, weights = (table[place] for table in moves(style))
    candidates[..., :2] += newest[:, None, :2]
    ends = candidates[..., 0] * style.side + candidates[..., 1]
    around = ends[..., None] + discs(style)[which, None]
    return candidates, weights * ~field.taken[rows[:, None, None], around].any(-1)


def draw(rng: np.random.Generator, candidates: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """TRIES of the candidates by weight (n, TRIES, 3)."""
    sums = np.cumsum(weights, 1)
    marks = rng.random((len(sums), TRIES)) * sums[:, -1:]
    picks = (sums[:, None] <= marks[..., None]).sum(-1)
    return candidates[np.arange(len(sums))[:, None], np.minimum(picks, weights.shape[1] - 1)]
