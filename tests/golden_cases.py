"""The golden files as (spec, params, u, y)."""

from pathlib import Path

import numpy as np

from benchmark.spec import LAYERS

FOLDER = Path(__file__).parent / "golden"
NOT_PARAMETERS = {"u", "y", "states", "kernel"}

OPTIONS = {
    "rotrnn": ("rotrnn", {"heads": 4}),
    "rotrnn_bidirectional": ("rotrnn", {"heads": 4, "bidirectional": True}),
    "rotrnn_exact": ("rotrnn", {"heads": 4, "normalizer": "exact"}),
    "rotrnn_onehead": ("rotrnn", {"heads": 1, "d_state": 8}),
    "lru": ("lru", {}),
    "s4d": ("s4d", {}),
    "s4d_bidirectional": ("s4d", {"bidirectional": True}),
    "s5_zoh": ("s5", {}),
    "s5_bilinear": ("s5", {"discretization": "bilinear"}),
    "s5_bidirectional_blocks": ("s5", {"blocks": 2, "bidirectional": True}),
    "s5_no_conj_sym_rescaled": ("s5", {"conj_sym": False, "step_rescale": 2.0, "C_init": "complex_normal"}),
}


def load(name):
    layer, options = OPTIONS[name]
    spec = LAYERS[layer](**({"d_model": 8, "d_state": 16} | options))
    with np.load(FOLDER / f"{name}.npz") as arrays:
        found = {key: arrays[key] for key in arrays.files}
    return spec, {k: v for k, v in found.items() if k not in NOT_PARAMETERS}, found["u"][None], found["y"][None]
