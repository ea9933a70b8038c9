"""Tones in place of spoken words: the stand-in of Speech Commands, drawn in seconds without a download.

A word is one of seven pitches sung in one of five ways. All tones lie below 500 Hz, so that a small run
can leave out 15 of 16 samples.
"""

import numpy as np

PITCHES_HZ = np.geomspace(90.0, 300.0, 7)
MANNERS = ("steady", "rising", "falling", "trembling", "broken")
INTERVAL = 1.5
"""A fifth: from where a rising tone begins to where it ends, or between the halves of a broken one."""

TREMBLING_HZ = 6.0
DETUNING = 0.06
"""Of the pitch, either way; neighbouring pitches differ by 22 %."""

LOUDNESS = (1000.0, 8000.0)
NOISE = 3000.0
"""Standard deviation, of samples that reach from -32,768 to 32,767."""

WORDS = len(PITCHES_HZ) * len(MANNERS)


def tones(words: np.ndarray, times_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One recording of each word, with a phase, loudness, detuning and noise of its own.

    Args:
        words: (n,) from 0 to 34.
        times_s: (samples,) from 0 to 1.
        rng: draws the recordings.

    Returns:
        Samples (n, samples) int16.
    """
    sounds = np.empty((len(words), len(times_s)), np.int16)
    for sound, word in zip(sounds, words.tolist(), strict=True):
        phase, loudness, detuning = rng.random(3)
        pitch_hz = PITCHES_HZ[word % len(PITCHES_HZ)] * (1 + DETUNING * (2 * detuning - 1))
        cycles, swell = sung(MANNERS[word // len(PITCHES_HZ)], times_s)
        low, high = LOUDNESS
        tone = (low + (high - low) * loudness) * swell * np.sin(2 * np.pi * (pitch_hz * cycles + phase))
        sound[:] = tone + NOISE * rng.standard_normal(len(times_s), np.float32)
    return sounds


def sung(manner: str, times_s: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
    """Cycles since the beginning of a tone of 1 Hz, and how loud it is from 0 to 1, at each time.

    >>> cycles, swell = sung("rising", np.array([0.0, 1.0]))
    >>> cycles.tolist(), swell
    ([0.0, 1.25], 1.0)
    """
    more = INTERVAL - 1
    match manner:
        case "steady":
            return times_s, 1.0
        case "rising":
            return times_s + more * times_s**2 / 2, 1.0
        case "falling":
            return INTERVAL * times_s - more * times_s**2 / 2, 1.0
        case "trembling":
            return times_s, 0.5 + 0.5 * np.sin(2 * np.pi * TREMBLING_HZ * times_s)
        case _:
            return times_s + more * np.maximum(times_s - 0.5, 0.0), 1.0
