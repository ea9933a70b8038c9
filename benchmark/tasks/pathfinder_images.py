"""Pathfinder images drawn from their scenes: what a paddle or a disc looks like is worked out once."""

from functools import lru_cache

import numpy as np

from benchmark.tasks.pathfinder_scenes import Scenes, scenes
from benchmark.tasks.pathfinder_style import STYLES, Style, unit

CHUNK = 250
"""Images that are made together. A part of what a seed means: with another number the images are others."""
SCALE = 2
"""Shapes are drawn so many times larger, then made smaller by a Lanczos filter."""


def chunk(size: int, contour: int, seed: int, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Images number index * CHUNK and following, whatever else was made before.

    Args:
        size: 32 or 128 pixels a side.
        contour: paddles in a target snake: 6, 9 or 14.
        seed: another one gives other images.
        index: of the chunk.

    Returns:
        Images (CHUNK, size, size) uint8, labels (CHUNK,) int64.

    Source: Linsley et al. 2018 (arXiv:1805.08315), as used by Tay et al. 2021 (arXiv:2011.04006).
    """
    style = STYLES[size]
    made = scenes(np.random.default_rng([seed, size, contour, index]), style, contour, CHUNK)
    return draw(style, made), made.labels


def draw(style: Style, made: Scenes) -> np.ndarray:
    """Images (n, size, size) uint8: at each pixel the brightest of all paddles and both discs."""
    images = np.zeros((len(made.labels), style.side**2), np.uint8)
    paddles = np.concatenate([part.reshape(len(part), -1, 3) for part in (made.targets, made.distractors)], 1)
    for row, column, degrees in np.moveaxis(paddles, (1, 2), (0, 1)):
        print_on(images, style, row, column, paddle_stamps(style)[degrees])
    for row, column in np.moveaxis(made.discs, (1, 2), (0, 1)):
        print_on(images, style, row, column, disc_stamp(style)[None])
    window = slice(style.edge, style.edge + style.size)
    return images.reshape(-1, style.side, style.side)[:, window, window]


def print_on(images: np.ndarray, style: Style, row: np.ndarray, column: np.ndarray, stamps: np.ndarray) -> None:
    """Raise flat images (n, side^2) to square stamps (n or 1, s, s) centred on a pixel each."""
    around = np.arange(stamps.shape[-1]) - stamps.shape[-1] // 2
    place = (row * style.side + column)[:, None, None] + around[:, None] * style.side + around
    rows = np.arange(len(images))[:, None, None]
    images[rows, place] = np.maximum(images[rows, place], stamps)


@lru_cache(maxsize=4)
def paddle_stamps(style: Style) -> np.ndarray:
    """What a paddle of each direction looks like around its end (360, s, s) uint8."""
    pixels, direction = fine_pixels(style), unit(np.arange(360))[:, None, :, None]
    along = -(pixels @ direction)[..., 0] - style.length / 2
    across = (pixels @ (direction[:, :, ::-1] * [[1], [-1]]))[..., 0]
    shape = inside(style.length / 2 - np.abs(along)) * inside(style.thickness / 2 - np.abs(across))
    return grey(style.contrast * shrink(shape))


@lru_cache(maxsize=4)
def disc_stamp(style: Style) -> np.ndarray:
    """What a disc looks like around its centre (s, s) uint8."""
    return grey(shrink(inside(style.marker_radius - np.linalg.norm(fine_pixels(style), axis=-1))))


def inside(depth: np.ndarray) -> np.ndarray:
    """What share of a fine pixel is covered whose centre lies so deep inside an edge, or outside it if negative."""
    return np.clip(SCALE * depth + 0.5, 0, 1)


def fine_pixels(style: Style) -> np.ndarray:
    """Centres (SCALE s, SCALE s, 2) of the pixels of an enlarged stamp, in pixels of the image from its centre."""
    reach = style.length + 3
    centres = (np.arange(SCALE * (2 * reach + 1)) + 0.5) / SCALE - reach - 0.5
    return np.stack(np.meshgrid(centres, centres, indexing="ij"), -1)


def shrink(enlarged: np.ndarray) -> np.ndarray:
    """Images (..., SCALE s, SCALE s) made smaller by a Lanczos filter of three lobes."""
    size = enlarged.shape[-1] // SCALE
    offset = (np.arange(SCALE * size) + 0.5) / SCALE - (np.arange(size) + 0.5)[:, None]
    weights = np.sinc(offset) * np.sinc(offset / 3) * (np.abs(offset) < 3)
    weights /= weights.sum(1, keepdims=True)
    return weights @ enlarged @ weights.T


def grey(values: np.ndarray) -> np.ndarray:
    """Values from 0 to 1 as 8 bits; what lies outside is cut."""
    return np.rint(255 * np.clip(values, 0, 1)).astype(np.uint8)
