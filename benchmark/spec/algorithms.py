"""Names of the ways to run the recurrence, and the lengths they work in."""

from typing import TYPE_CHECKING

from benchmark.spec.errors import Unsupported, unknown

if TYPE_CHECKING:
    from benchmark.spec.base import LayerSpec

SCANS = ("sequential", "associative", "chunked", "fft", "fused")
"""Algorithms of the bare scan, and of every layer; fused is compiled code, and needs a compiler."""

VANDERMONDE = "vandermonde"
"""The published form of S4D: its kernel from a whole Vandermonde matrix, then an FFT."""

CHUNK = 128
"""Longest chunk of the chunked scan of states."""

FEW_MODES, STEPS_A_MODE = 64, 4
"""Modes of a channel up to which compiled code beats an FFT, whose work does not grow with them but with the logarithm
of the length: so short sequences must have fewer, one for so many steps."""

CHANNEL_CHUNK = 64
"""Longest chunk of S4D's chunked convolution, whose work inside a chunk grows with its length."""


def algorithms_of(spec: "LayerSpec") -> tuple[str, ...]:
    """The algorithms that serve a layer, without ``auto``."""
    return (*SCANS, VANDERMONDE) if spec.per_channel else SCANS


def check_algorithm(algorithm: str, known: tuple[str, ...], owner: str) -> None:
    """Raise UserError for a word that names no algorithm, Unsupported for one of another layer."""
    if algorithm in (*known, "auto"):
        return
    if algorithm == VANDERMONDE:
        raise Unsupported(f"{owner} has no algorithm 'vandermonde', which is S4D's; it has: auto, {', '.join(known)}")
    raise unknown("algorithm", algorithm, ("auto", *known))


def chunks(seq_len: int, longest: int) -> tuple[int, int]:
    """``(count, length)`` of the equal chunks that cover ``seq_len`` steps with the least padding.

    >>> chunks(130, 128)
    (2, 65)
    """
    count = -(-seq_len // longest)
    return count, -(-seq_len // count)


def fft_length(seq_len: int) -> int:
    """The least length of the form 2^a 3^b 5^c that holds a linear convolution of two sequences.

    >>> fft_length(50)
    100
    """
    needed = 2 * seq_len - 1
    best = 1 << (needed - 1).bit_length()
    odd = 1
    while odd < best:
        for factor in (odd, 3 * odd, 9 * odd):
            if factor < best:
                quotient = -(-needed // factor)
                best = min(best, factor << (quotient - 1).bit_length())
        odd *= 5
    return best


def has_few_modes(modes: int, seq_len: int | None) -> bool:
    """Whether S4D's compiled code beats an FFT at this length, or where none is given at long ones."""
    return modes <= FEW_MODES and (seq_len is None or STEPS_A_MODE * modes <= seq_len)
