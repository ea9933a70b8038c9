"""The installed frameworks, for tests that run in each of them."""

from contextlib import contextmanager

import numpy as np

from benchmark import backends

INSTALLED = backends.installed()


def layers(framework):
    return backends.layers(framework)


@contextmanager
def precision(framework, dtype):
    """float64 needs jax's x64 flag, which is on only inside this context."""
    if framework == "jax" and dtype == "float64":
        import jax

        with jax.enable_x64(True):
            yield
    else:
        yield


def relative(found, expected):
    return np.linalg.norm(np.asarray(found) - expected) / np.linalg.norm(expected)
