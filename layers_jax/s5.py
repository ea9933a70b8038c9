"""S5: coefficients of the recurrence. The mathematics is in benchmark/spec/s5.py."""

import jax.numpy as jnp
from jax import lax

from benchmark.spec import formulas
from benchmark.spec.s5 import S5
from layers_jax.array import Params
from layers_jax.recurrence import Coefficients


def coefficients(spec: S5, params: Params) -> Coefficients:
    """Lam and B discretised for each state; under conj_sym the 2 of 2 Re(C z) is folded into C."""
    A_re = jnp.clip(params["Lambda_re"], max=-1e-4) if spec.clip_eigs else params["Lambda_re"]
    dt = spec.step_rescale * jnp.exp(params["log_step"])
    lam, gain = formulas.DISCRETIZATIONS[spec.discretization](jnp, lax.complex(A_re, params["Lambda_im"]), dt)
    factor = 2 if spec.conj_sym else 1
    return Coefficients(
        lam=lam,
        B=gain[:, None] * lax.complex(params["B_re"], params["B_im"]),
        C=factor * lax.complex(params["C_re"], params["C_im"]),
        D=params["D"],
        C2=factor * lax.complex(params["C2_re"], params["C2_im"]) if spec.bidirectional else None,
    )
