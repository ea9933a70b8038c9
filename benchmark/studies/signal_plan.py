"""What a signal study computes: widths, depths and simulations, checked before anything runs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from benchmark.spec.errors import UserError, short
from benchmark.studies.signal import check_sizes

ENSEMBLES, WIRINGS = ("complex", "real"), ("recurrent", "feedforward")

FEEDFORWARD_C = (0.25, 0.75)
"""Depths of feedforward networks over their width: there the scale is n, not sqrt(n)."""

MOST_SIMULATED_C = 4.0
"""Beyond it so few matrices carry the mean that no sample shows it; far beyond, float32 overflows."""

COLUMN_ENTRIES, CHUNK_ENTRIES, LARGEST_CHUNK = 1 << 14, 1 << 22, 32
"""Entries of the block of vectors that a matrix is averaged over; of matrices drawn at once; most samples at once."""

MOST_SIMULATED_WIDTH, MOST_SAMPLES, MOST_C, MOST_VALUES = 4096, 10**6, 1e6, 1000


@dataclass(frozen=True)
class Settings:
    """One study. Depths are c sqrt(n) for every c of ``depth_c``, and ``depths`` themselves."""

    widths: tuple[int, ...]
    depth_c: tuple[float, ...]
    depths: tuple[int, ...] = ()
    simulated_widths: tuple[int, ...] = ()
    samples: int = 0
    ensembles: tuple[str, ...] = ENSEMBLES
    seed: int = 0
    layers: tuple[str, ...] = ()
    d_model: int = 16
    state: int = 256
    seq_len: int = 1024

    def __post_init__(self) -> None:
        """Check every range. Raises UserError."""
        for n in self.widths:
            for depth in self.depths_of(n):
                check_sizes(n, depth)
        if not 0 <= self.samples <= MOST_SAMPLES or self.samples == 1:
            raise UserError(f"signal: samples must be 0, for none, or 2 to {MOST_SAMPLES:,}, got {short(self.samples)}")
        for n in self.simulated_widths:
            if n > MOST_SIMULATED_WIDTH:
                raise UserError(f"signal: a simulated width must be at most {MOST_SIMULATED_WIDTH:,}, got {short(n)}")

    def depths_of(self, n: int) -> tuple[int, ...]:
        """The depths at a width, rising."""
        return tuple(sorted({*(scaled_depth(c, math.sqrt(n)) for c in self.depth_c), *self.depths}))

    def as_json(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return asdict(self)


def scaled_depth(c: float, scale: float) -> int:
    """The whole number of steps nearest to c times the scale, at least 1."""
    return max(1, round(c * scale))


class Run(NamedTuple):
    """One simulated point: matrices of their own, so that points are independent of each other."""

    ensemble: str
    wiring: str
    n: int
    c: float
    depth: int

    @property
    def layers(self) -> int:
        """Matrices of one sample."""
        return self.depth if self.wiring == "feedforward" else 1

    @property
    def columns(self) -> int:
        """Vectors that each sample is averaged over: all n where that is cheap, which gives the Frobenius norm.

        A feedforward network is simulated with one: its mean is 1 anyway, and how far a single vector strays
        is what is asked.
        """
        return 1 if self.wiring == "feedforward" else min(self.n, max(1, COLUMN_ENTRIES // self.n))

    @property
    def chunk(self) -> int:
        """Samples drawn at once. It hangs on the point alone, as the draws hang on it."""
        return max(1, min(LARGEST_CHUNK, CHUNK_ENTRIES // (self.layers * self.n**2)))

    def seeds(self, seed: int, chunk: int) -> list[int]:
        """The entropy of one chunk: the same matrices in either framework, whatever else is simulated."""
        kind = len(WIRINGS) * ENSEMBLES.index(self.ensemble) + WIRINGS.index(self.wiring)
        return [seed, self.n, len(ENSEMBLES) * len(WIRINGS) * self.depth + kind, chunk]


def runs(settings: Settings) -> list[Run]:
    """The points to simulate, smallest first."""
    if not settings.samples:
        return []
    recurrent = [("recurrent", c, math.sqrt) for c in settings.depth_c if 0 < c <= MOST_SIMULATED_C]
    feedforward = [("feedforward", c, float) for c in FEEDFORWARD_C]
    found = [
        Run(ensemble, wiring, n, c, scaled_depth(c, scale(n)))
        for n in settings.simulated_widths
        for wiring, c, scale in (*recurrent, *feedforward)
        for ensemble in settings.ensembles
    ]
    return sorted({(r.ensemble, r.wiring, r.n, r.depth): r for r in found}.values(), key=lambda r: r.n**2 * r.depth)


def reals(name: str, values: Iterable[str]) -> tuple[float, ...]:
    """Numbers of at least 0 from lists and ranges START:STOP or START:STOP:+STEP, stop included, rising.

    >>> reals("depth-c", ["0:2", "0.5,3:4:+0.5"])
    (0.0, 0.5, 1.0, 2.0, 3.0, 3.5, 4.0)

    Raises:
        UserError: for anything else.
    """
    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    found = sorted({number for word in words for number in _range(name, word)})
    if not found:
        raise UserError(f"{name} needs at least one number, such as 1:5")
    return tuple(found)


def _range(name: str, word: str) -> Sequence[float]:
    parts = word.split(":")
    try:
        start, stop = float(parts[0]), float(parts[min(1, len(parts) - 1)])
        step = float(parts[2].removeprefix("+")) if len(parts) > 2 else 1.0
    except ValueError:
        start = stop = step = math.nan
    if len(parts) > 3 or not (0 <= start <= stop <= MOST_C and 0 < step < math.inf):
        raise UserError(f"{name} reads 0.5, 1:5 or 1:5:+0.5, from 0 to {MOST_C:g} and rising, got {short(word)}")
    count = math.floor((stop - start) / step * (1 + 1e-12)) + 1
    if count > MOST_VALUES:
        raise UserError(f"{name}: {short(word)} has more than {MOST_VALUES:,} values; take a larger step")
    return [round(start + i * step, 12) for i in range(count)]
