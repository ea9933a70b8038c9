"""The layers in PyTorch. ``layers_jax`` is the twin; tests hold the two to the same names.

>>> import numpy as np
>>> import layers_torch as lt
>>> from benchmark.spec import LAYERS
>>> spec = LAYERS["lru"](d_model=8, d_state=4)
>>> lt.apply(spec, spec.init(seed=0), np.zeros((2, 16, 8), np.float32)).shape
torch.Size([2, 16, 8])
"""

from layers_torch.array import to_numpy
from layers_torch.recurrence import Layer, apply, coefficients, resolve_algorithm, step, vjp
from layers_torch.scan import scan

__all__ = ["Layer", "apply", "coefficients", "resolve_algorithm", "scan", "step", "to_numpy", "vjp"]
