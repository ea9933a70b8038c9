"""S4D: coefficients of the recurrence. The mathematics is in benchmark/spec/s4d.py."""

import torch

from benchmark.spec import formulas
from benchmark.spec.s4d import S4D
from layers_torch.array import Array, Params, rounded_once
from layers_torch.recurrence import Coefficients


def coefficients(spec: S4D, params: Params) -> Coefficients:
    """One recurrence a channel, discretised with the channel's step; the 2 of 2 Re(C z) is folded into C."""

    def discretized(log_A_real: Array, A_imag: Array, log_dt: Array) -> tuple[Array, Array]:
        A = torch.complex(-torch.exp(log_A_real), A_imag)
        return formulas.DISCRETIZATIONS[spec.discretization](torch, A, torch.exp(log_dt)[:, None])

    lam, B = rounded_once(discretized, params["log_A_real"], params["A_imag"], params["log_dt"])
    return Coefficients(
        lam=lam,
        B=B,
        C=2 * torch.complex(params["C_re"], params["C_im"]),
        D=params["D"],
        C2=2 * torch.complex(params["C2_re"], params["C2_im"]) if spec.bidirectional else None,
    )
