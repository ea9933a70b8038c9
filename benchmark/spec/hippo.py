"""The normal part of the HiPPO-LegS matrix, which initialises S5 and S4D-LegS.

Source: Gu et al. 2022, arXiv:2206.11893; Smith et al. 2023, arXiv:2208.04933, appendix B.
"""

import numpy as np


def normal_eigensystem(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (size,) and unit eigenvectors (size, size) of HiPPO-N, by ascending imaginary part.

    HiPPO-N = A_LegS + p p^T with p_n = sqrt(n + 1/2); it equals -1/2 plus a skew-symmetric
    matrix, so its eigenvectors V are unitary. An eigenvector is fixed only up to a phase, and
    each LAPACK picks its own; here V^H p is real and positive, so that initial values agree on
    every machine.
    """
    p = np.sqrt(np.arange(size) + 0.5)
    outer = p[:, None] * p[None, :]
    skew = np.triu(outer, 1) - np.tril(outer, -1)
    imag, V = np.linalg.eigh(-1j * skew)
    overlap = V.conj().T @ p
    V = V * (overlap / np.abs(overlap))
    return -0.5 + 1j * imag, V
