"""LRU: coefficients of the recurrence. The mathematics is in benchmark/spec/lru.py."""

import torch

from benchmark.spec import formulas
from benchmark.spec.lru import LRU
from layers_torch.array import Array, Params, rounded_once
from layers_torch.recurrence import Coefficients


def coefficients(spec: LRU, params: Params) -> Coefficients:
    """Lam in exponential polar form; the gain of each state is folded into its row of B."""
    (lam,) = rounded_once(_eigenvalues, params["nu_log"], params["theta_log"])
    B = torch.complex(params["B_re"], params["B_im"])
    if spec.gamma == "learned":
        B = torch.exp(params["gamma_log"])[:, None] * B
    elif spec.gamma == "recomputed":
        B = formulas.unit_gain(torch, params["nu_log"])[:, None] * B
    return Coefficients(
        lam=lam,
        B=B,
        C=torch.complex(params["C_re"], params["C_im"]),
        D=params["D"],
        C2=torch.complex(params["C2_re"], params["C2_im"]) if spec.bidirectional else None,
    )


def _eigenvalues(nu_log: Array, theta_log: Array) -> tuple[Array]:
    return (formulas.decay(torch, nu_log) * torch.exp(1j * torch.exp(theta_log)),)
