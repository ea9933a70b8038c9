"""The random order in which the published splits were drawn, without the framework that drew it."""

import numpy as np

LARGEST = (1 << 32) // 20
"""Beyond it torch draws 64 bits a step."""


def randperm(n: int, seed: int = 42) -> np.ndarray:
    """torch.randperm(n, generator=torch.Generator().manual_seed(seed)) on a CPU, in numpy.

    Step i swaps entry i with entry i + r mod (n - i), where r is the next word of a Mersenne Twister.

    Args:
        n: entries, fewer than 2^32 / 20.
        seed: below 2^32.

    Returns:
        A permutation of 0..n-1, int64.
    """
    assert 0 <= n < LARGEST
    words = np.random.RandomState(seed).randint(0, 1 << 32, max(n - 1, 0), dtype=np.uint32)
    steps = np.arange(len(words))
    order = list(range(n))
    for i, j in enumerate((steps + words % (n - steps)).tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)
