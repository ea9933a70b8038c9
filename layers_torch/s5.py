"""S5: coefficients of the recurrence. The mathematics is in benchmark/spec/s5.py."""

import torch

from benchmark.spec import formulas
from benchmark.spec.s5 import S5
from layers_torch.array import Array, Params, rounded_once
from layers_torch.recurrence import Coefficients


def coefficients(spec: S5, params: Params) -> Coefficients:
    """Lam and B discretised for each state; under conj_sym the 2 of 2 Re(C z) is folded into C."""

    def discretized(A_re: Array, A_im: Array, log_step: Array) -> tuple[Array, Array]:
        A_re = torch.clip(A_re, max=-1e-4) if spec.clip_eigs else A_re
        dt = spec.step_rescale * torch.exp(log_step)
        return formulas.DISCRETIZATIONS[spec.discretization](torch, torch.complex(A_re, A_im), dt)

    lam, gain = rounded_once(discretized, params["Lambda_re"], params["Lambda_im"], params["log_step"])
    factor = 2 if spec.conj_sym else 1
    return Coefficients(
        lam=lam,
        B=gain[:, None] * torch.complex(params["B_re"], params["B_im"]),
        C=factor * torch.complex(params["C_re"], params["C_im"]),
        D=params["D"],
        C2=factor * torch.complex(params["C2_re"], params["C2_im"]) if spec.bidirectional else None,
    )
