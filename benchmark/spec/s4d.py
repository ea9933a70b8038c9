"""S4D, the diagonal state space model. Gu, Goel, Gupta and Re, NeurIPS 2022, arXiv:2206.11893."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmark.spec import draw, hippo
from benchmark.spec.base import LayerSpec, Params, Shapes
from benchmark.spec.errors import UserError
from benchmark.spec.formulas import DISCRETIZATION_FLOPS


@dataclass(frozen=True, kw_only=True)
class S4D(LayerSpec):
    """``d_state`` is the paper's N: each of the d_model channels has d_state / 2 complex modes.

    ``A_init``: lin, inv, legs (the normal part of HiPPO-LegS, its B absorbed into C) or real.
    """

    name: ClassVar[str] = "s4d"
    source: ClassVar[str] = "Gu et al. 2022, arXiv:2206.11893"
    equations: ClassVar[str] = """
    per channel: A = -exp(log_A_real) + i A_imag,  lam = exp(dt A),  B = (lam - 1) / A
    z_t = lam z_{t-1} + B u_t,  y_t = 2 Re(sum C z_t) + D u_t;  as a convolution: K_l = 2 Re(sum C B lam^l)
    the backward half of a bidirectional layer starts at the next step
    """
    recurrence_params: ClassVar[frozenset[str]] = frozenset({"log_dt", "log_A_real", "A_imag"})
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "lin": {"d_state": 8},
        "legs, bilinear, bidirectional": {
            "d_state": 6,
            "A_init": "legs",
            "discretization": "bilinear",
            "bidirectional": True,
        },
        "inv": {"d_state": 4, "A_init": "inv"},
        "real": {"d_state": 4, "A_init": "real"},
    }
    per_channel: ClassVar[bool] = True

    A_init: Literal["lin", "inv", "legs", "real"] = "lin"
    discretization: Literal["zoh", "bilinear"] = "zoh"
    dt_min: float = 1e-3
    dt_max: float = 1e-1

    def _check(self) -> None:
        if self.d_state % 2:
            raise UserError(f"s4d: d_state must be even, got {self.d_state}")
        if not 0 < self.dt_min < self.dt_max:
            raise UserError(f"s4d: 0 < dt_min < dt_max must hold, got dt_min={self.dt_min}, dt_max={self.dt_max}")

    @property
    def modes(self) -> int:
        """Complex modes of each channel."""
        return self.d_state // 2

    @property
    def param_shapes(self) -> Shapes:
        """See LayerSpec."""
        H, M = self.d_model, self.modes
        return {
            "log_dt": (H,),
            "log_A_real": (H, M),
            "A_imag": (H, M),
            "D": (H,),
        } | {f"{C}_{part}": (H, M) for C in self.readouts for part in ("re", "im")}

    def _draw(self, rng: np.random.Generator) -> Params:
        H, M = self.d_model, self.modes
        A, B = self._initial_modes()
        params = {
            "log_dt": draw.log_uniform(rng, self.dt_min, self.dt_max, H),
            "log_A_real": np.tile(np.log(-A.real), (H, 1)),
            "A_imag": np.tile(A.imag, (H, 1)),
            "D": rng.standard_normal(H),
        }
        for name in self.readouts:
            C = draw.complex_normal(rng, (H, M)) * B
            params |= {f"{name}_re": C.real, f"{name}_im": C.imag}
        return params

    def _initial_modes(self) -> tuple[np.ndarray, np.ndarray]:
        """A (modes,), complex, one of each conjugate pair, and the input weights B (modes,) that C absorbs."""
        N, n = self.d_state, np.arange(self.modes)
        ones = np.ones(self.modes)
        match self.A_init:
            case "lin":
                return -0.5 + 1j * np.pi * n, ones
            case "inv":
                return -0.5 + 1j * N / np.pi * (N / (2 * n + 1) - 1), ones
            case "real":
                return -(n + 1.0) + 0j, ones
            case "legs":
                A, V = hippo.normal_eigensystem(N)
                upper = slice(N - self.modes, N)  # the half with positive imaginary part
                return A[upper], (V.conj().T @ np.sqrt(2 * np.arange(N) + 1.0))[upper]

    def rescale_step(self, params: Mapping[str, Any], factor: float) -> dict[str, Any]:
        """See LayerSpec."""
        return dict(params) | {"log_dt": params["log_dt"] + math.log(factor)}

    @property
    def coefficient_flops(self) -> dict[str, int]:
        """The discretisation of each mode, and the 2 of 2 Re(C z)."""
        entries = self.d_model * self.modes
        return {
            "discretisation": entries * DISCRETIZATION_FLOPS[self.discretization],
            "2 C": 2 * entries * len(self.readouts),
        }
