"""How Pathfinder images are made: their published parameters, and the tables of geometry that follow from them.

A paddle is (row, column, degrees): one end, which is a pixel, and the direction (sin, cos) that points out of
the paddle there; the rest lies ``length`` pixels back. So what it covers, and how a snake can go on from it,
is the same everywhere, and is worked out once for each of the 360 directions. Canvases are flat and have an edge
all around, so that nothing reaches beyond them.

Letters of shapes: w candidates, k pixels, m margins of a style.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

RIM = 0.4
"""What a paddle takes is that much smaller than its outline: there its grey value, of 1 at most, is .9."""


class Style(NamedTuple):
    """The published parameters of one image size, in pixels; an image has one of the ``margins``."""

    size: int
    length: int
    thickness: float
    margins: tuple[int, ...]
    seed_distance: int
    marker_radius: float
    continuity: float
    contrast: float
    distractor_paddles: int
    padding: int = 1

    @property
    def edge(self) -> int:
        """Width of the edge: as far as a paddle, or one that follows it, can reach with what is around it."""
        return self.length + 2 * max(self.margins) + 2

    @property
    def side(self) -> int:
        """Pixels of a canvas's side, both edges included."""
        return self.size + 2 * self.edge


STYLES = {
    32: Style(32, 2, 0.5, (1,), 7, 1.5, 1.0, 2 * 0.75, 20),
    128: Style(128, 5, 1.5, (2, 3), 20, 3.0, 1.8, 0.9 * 1.0, 35),
}


class Moves(NamedTuple):
    """Candidates (2, m, 360, w, 3), as paddles relative to the last one, and weights (2, m, 360, w).

    The first index is 1 for a snake of one paddle, which goes on from the far end of it. Where candidates are
    fewer than w, the last paddle itself stands in, without weight.
    """

    candidates: np.ndarray
    weights: np.ndarray


def unit(degrees: np.ndarray) -> np.ndarray:
    """(row, column) of the unit vector in a direction, rounded so that halves fall alike whatever computes the sine."""
    angle = np.radians(degrees)
    return np.round(np.stack([np.sin(angle), np.cos(angle)], -1), 12)


def square(reach: int) -> np.ndarray:
    """The pixels (k, 2) up to so many rows and columns away."""
    steps = np.arange(-reach, reach + 1)
    return np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)


@lru_cache(maxsize=4)
def footprints(style: Style) -> np.ndarray:
    """Flat offsets (m, 360, k) from a paddle's end to the pixels that it takes, its margin included."""
    pixels, direction = square(style.edge), unit(np.arange(360))
    along = np.clip(-pixels @ direction.T, 0, style.length)
    distance = np.linalg.norm(pixels[:, None] + along[..., None] * direction, axis=-1).T
    radius = style.thickness / 2 + np.array(style.margins) - RIM
    return flat_offsets(style, pixels, distance <= radius[:, None, None])


@lru_cache(maxsize=4)
def discs(style: Style) -> np.ndarray:
    """Flat offsets (m, k) to the pixels within a margin of a pixel."""
    pixels = square(max(style.margins))
    return flat_offsets(style, pixels, np.linalg.norm(pixels, axis=1) <= np.array(style.margins)[:, None])


def flat_offsets(style: Style, pixels: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Offsets (..., most) of the pixels (k, 2) chosen by masks (..., k).

    Rows are filled up with repetitions, which neither a look-up nor a mark minds.
    """
    most = chosen.sum(-1).max()
    rows = [np.resize(np.flatnonzero(mask), most) for mask in chosen.reshape(-1, chosen.shape[-1])]
    return (pixels @ [style.side, 1])[np.array(rows)].reshape(*chosen.shape[:-1], most)


@lru_cache(maxsize=4)
def moves(style: Style) -> Moves:
    """How snakes go on, in either case."""
    candidates, weights = (np.stack(parts) for parts in zip(onward(style, False), onward(style, True), strict=True))
    most = np.count_nonzero(weights, axis=-1).max()
    heaviest = np.argsort(-weights, axis=-1, kind="stable")[..., :most]
    weights = np.take_along_axis(weights, heaviest, -1)
    candidates = np.take_along_axis(candidates, heaviest[..., None], -2)
    return Moves(np.where(weights[..., None] > 0, candidates, 0), weights)


def onward(style: Style, first: bool) -> tuple[np.ndarray, np.ndarray]:
    """Paddles (m, 360, k, 3) that end on any pixel around, and their weights (m, 360, k), most of them 0.

    A margin beyond the tip lies the pivot. Candidates end on the pixels of the circle of radius length + margin
    around it; their weights fall as cos^2 with the turn, times ``continuity``, and are 0 from a right angle on.
    """
    ends = square(2 * (style.length + max(style.margins)) + 1)
    margin = np.array(style.margins)[:, None, None]
    heading = np.arange(360) + 180 * first
    pivot = (style.length * first + margin) * unit(heading)
    away = ends - pivot[:, :, None]
    towards = np.degrees(np.arctan2(away[..., 0], away[..., 1]))
    turn = style.continuity * np.abs((towards - heading[:, None] + 180) % 360 - 180)
    reached = on_circle(away, style.length + margin) & (turn < 90)
    paddles = np.concatenate([np.broadcast_to(ends, away.shape), np.rint(towards)[..., None] % 360], -1)
    return paddles.astype(int), np.cos(np.radians(turn)) ** 2 * reached


def on_circle(away: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Whether the circle passes through the pixel whose centre lies ``away`` (..., 2) from its own."""
    rows, columns = np.moveaxis(np.abs(away), -1, 0)
    nearest = np.hypot(np.maximum(rows - 0.5, 0), np.maximum(columns - 0.5, 0))
    return (nearest <= radius) & (radius < np.hypot(rows + 0.5, columns + 0.5))
