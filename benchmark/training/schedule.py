"""Learning rates over the steps of a training."""

import math


def factor(step: int, total: int, warmup: float) -> float:
    """The share of the peak rate at a step: a linear rise over ``warmup`` of all steps, then a cosine to zero.

    >>> [round(factor(step, 10, 0.2), 3) for step in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.038]
    """
    rising = round(total * warmup)
    if step < rising:
        return (step + 1) / rising
    return (1 + math.cos(math.pi * (step - rising) / (total - rising))) / 2
