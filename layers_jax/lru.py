"""LRU: coefficients of the recurrence. The mathematics is in benchmark/spec/lru.py."""

import jax.numpy as jnp
from jax import lax

from benchmark.spec import formulas
from benchmark.spec.lru import LRU
from layers_jax.array import Params
from layers_jax.recurrence import Coefficients


def coefficients(spec: LRU, params: Params) -> Coefficients:
    """Lam in exponential polar form; the gain of each state is folded into its row of B."""
    B = lax.complex(params["B_re"], params["B_im"])
    if spec.gamma == "learned":
        B = jnp.exp(params["gamma_log"])[:, None] * B
    elif spec.gamma == "recomputed":
        B = formulas.unit_gain(jnp, params["nu_log"])[:, None] * B
    return Coefficients(
        lam=formulas.decay(jnp, params["nu_log"]) * jnp.exp(1j * jnp.exp(params["theta_log"])),
        B=B,
        C=lax.complex(params["C_re"], params["C_im"]),
        D=params["D"],
        C2=lax.complex(params["C2_re"], params["C2_im"]) if spec.bidirectional else None,
    )
