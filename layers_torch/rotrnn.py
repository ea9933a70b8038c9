"""RotRNN: coefficients of the recurrence. The mathematics is in benchmark/spec/rotrnn.py.

Shapes: h heads, d coordinates of a head, H features, N = h d / 2 rotating planes.
"""

import torch

from benchmark.spec import formulas
from benchmark.spec.rotrnn import RotRNN
from layers_torch.array import Array, Params, rounded_once
from layers_torch.recurrence import Coefficients


def coefficients(spec: RotRNN, params: Params) -> Coefficients:
    """Each plane of a head turns by its angle and shrinks by the head's decay; P is folded into B and C.

    In the basis P^T x a plane (a, b) is the complex number a + ib, and C (a, b) = Re((C_a - i C_b)(a + ib)).
    """
    (lam_hj,) = rounded_once(_eigenvalues, params["gamma_log"], params["theta"])
    P_hdd = torch.linalg.matrix_exp(params["M"] - params["M"].mT) if spec.mixing == "learned" else None
    B_hdH = input_gain(spec, params)[:, None, None] * params["B"]
    B_hdH = B_hdH if P_hdd is None else P_hdd.mT @ B_hdH
    first_gain = None
    if spec.normalizer == "exact":
        first_gain = torch.reciprocal(formulas.unit_gain(torch, params["gamma_log"])).repeat_interleave(
            spec.head_size // 2
        )
    return Coefficients(
        lam=lam_hj.reshape(-1),
        B=torch.complex(B_hdH[:, 0::2], B_hdH[:, 1::2]).reshape(-1, spec.d_model),
        C=readout(spec, params["C"], P_hdd),
        D=params["D"],
        C2=readout(spec, params["C2"], P_hdd) if spec.bidirectional else None,
        first_gain=first_gain,
    )


def _eigenvalues(gamma_log_h: Array, theta_hj: Array) -> tuple[Array]:
    return (formulas.decay(torch, gamma_log_h)[:, None] * torch.exp(1j * theta_hj),)


def input_gain(spec: RotRNN, params: Params) -> torch.Tensor:
    """Xi of each head, (heads,): the scale that leads E||x_t||^2 to 1 for white inputs; 1 without a normaliser."""
    if spec.normalizer == "none":
        return torch.ones_like(params["gamma_log"])
    trace_h = (params["B"] ** 2).sum((1, 2))
    return formulas.unit_gain(torch, params["gamma_log"]) / torch.sqrt(trace_h)


def readout(spec: RotRNN, C_HN: torch.Tensor, P_hdd: torch.Tensor | None) -> torch.Tensor:
    """C P of each head, as complex weights (H, N) of the planes; without P it is the identity."""
    C_hHd = C_HN.reshape(spec.d_model, spec.heads, spec.head_size).permute(1, 0, 2)
    C_hHd = C_hHd if P_hdd is None else C_hHd @ P_hdd
    C_hHj = torch.complex(C_hHd[..., 0::2], -C_hHd[..., 1::2])
    return C_hHj.permute(1, 0, 2).reshape(spec.d_model, -1)
