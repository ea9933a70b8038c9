"""The layers in JAX. ``layers_torch`` is the twin; tests hold the two to the same names.

>>> import numpy as np
>>> import layers_jax as lj
>>> from benchmark.spec import LAYERS
>>> spec = LAYERS["lru"](d_model=8, d_state=4)
>>> lj.apply(spec, spec.init(seed=0), np.zeros((2, 16, 8), np.float32)).shape
(2, 16, 8)
"""

from layers_jax.array import to_numpy
from layers_jax.recurrence import Layer, apply, coefficients, resolve_algorithm, step, vjp
from layers_jax.scan import scan

__all__ = ["Layer", "apply", "coefficients", "resolve_algorithm", "scan", "step", "to_numpy", "vjp"]
