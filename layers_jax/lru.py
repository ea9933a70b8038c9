"""LRU: coefficients of the recurrence. The mathematics is in benchmark/spec/lru.py."""

import jax.numpy as jnp
from jax import lax

from benchmark.spec import formulas
from benchmark.spec.lru import LRU
from layers_jax.array import Array, Params, rounded_once
from layers_jax.recurrence import Coefficients


def coefficients(spec: LRU, params: Params) -> Coefficients:
    """Lam in exponential polar form; the gain of each state is folded into its row of B."""
    (lam,) = rounded_once(_eigenvalues, params["nu_log"], params["theta_log"])
    B = lax.complex(params["B_re"], params["B_im"])
    if spec.gamma == "learned":
        B = jnp.exp(params["gamma_log"])[:, None] * B
    elif spec.gamma == "recomputed":
        B = formulas.unit_gain(jnp, params["nu_log"])[:, None] * B
    return Coefficients(
        lam=lam,
        B=B,
        C=lax.complex(params["C_re"], params["C_im"]),
        D=params["D"],
        C2=lax.complex(params["C2_re"], params["C2_im"]) if spec.bidirectional else None,
    )


def _eigenvalues(nu_log: Array, theta_log: Array) -> tuple[Array]:
    return (formulas.decay(jnp, nu_log) * jnp.exp(1j * jnp.exp(theta_log)),)
