"""p-values of many comparisons at once."""

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p: among all comparisons any false one comes with at most the level's probability.

    Needs no independence. In the order given.

    Source: Holm (1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _in_place(np.minimum(raised, 1.0), order)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p: of the comparisons called significant at most the level's share is false on average.

    For independent or positively dependent comparisons; weaker than Holm's, for exploring. In the order given.

    Source: Benjamini and Hochberg (1995).

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")[::-1]
    lowered = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return _in_place(np.minimum(lowered, 1.0), order)


def _in_place(values: np.ndarray, order: np.ndarray) -> list[float]:
    found = np.empty(len(values))
    found[order] = values
    return [float(value) for value in found]
