"""WHAT a layer is, in numpy and the standard library only. ``LAYERS`` is the whole registry."""

from benchmark.spec.base import LayerSpec
from benchmark.spec.errors import Unsupported, UserError, unknown
from benchmark.spec.lru import LRU
from benchmark.spec.rotrnn import RotRNN
from benchmark.spec.s4d import S4D
from benchmark.spec.s5 import S5

LAYERS: dict[str, type[LayerSpec]] = {spec.name: spec for spec in (RotRNN, LRU, S4D, S5)}

__all__ = ["LAYERS", "LRU", "S4D", "S5", "LayerSpec", "RotRNN", "Unsupported", "UserError", "unknown"]
