"""Linear Recurrent Unit. Orvieto et al., ICML 2023, arXiv:2303.06349, section 3 and appendix A."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmark.spec import draw
from benchmark.spec.base import LayerSpec, Params, Shapes, doubled
from benchmark.spec.errors import UserError
from benchmark.spec.formulas import held_gain, unit_gain


@dataclass(frozen=True, kw_only=True)
class LRU(LayerSpec):
    """``d_state`` counts complex states.

    ``gamma``: learned after its initial value, recomputed from lam in every call, or none.
    """

    name: ClassVar[str] = "lru"
    source: ClassVar[str] = "Orvieto et al. 2023, arXiv:2303.06349"
    equations: ClassVar[str] = """
    lam = exp(-exp(nu_log) + i exp(theta_log)),  z_t = lam z_{t-1} + exp(gamma_log) B u_t,  y_t = Re(C z_t) + D u_t
    """
    recurrence_params: ClassVar[frozenset[str]] = frozenset({"nu_log", "theta_log", "gamma_log", "B_re", "B_im"})
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "learned gamma": {"d_state": 5},
        "recomputed gamma, bidirectional": {"d_state": 5, "gamma": "recomputed", "bidirectional": True, "r_min": 0.5},
        "no gamma": {"d_state": 4, "gamma": "none", "r_max": 0.9},
    }

    r_min: float = 0.0
    r_max: float = 1.0
    max_phase: float = 2 * np.pi
    gamma: Literal["learned", "recomputed", "none"] = "learned"

    def _check(self) -> None:
        if not 0 <= self.r_min < self.r_max <= 1:
            raise UserError(f"lru: 0 <= r_min < r_max <= 1 must hold, got r_min={self.r_min}, r_max={self.r_max}")
        if self.max_phase <= 0:
            raise UserError(f"lru: max_phase must be positive, got {self.max_phase}")

    @property
    def modes(self) -> int:
        """Complex states."""
        return self.d_state

    @property
    def param_shapes(self) -> Shapes:
        """See LayerSpec."""
        H, N = self.d_model, self.d_state
        shapes: Shapes = {"nu_log": (N,), "theta_log": (N,)}
        if self.gamma == "learned":
            shapes["gamma_log"] = (N,)
        shapes |= {"B_re": (N, H), "B_im": (N, H), "D": (H,)}
        return shapes | {f"{C}_{part}": (H, N) for C in self.readouts for part in ("re", "im")}

    def _draw(self, rng: np.random.Generator) -> Params:
        H, N = self.d_model, self.d_state
        nu_log = draw.ring_log_rate(rng, self.r_min, self.r_max, N)
        params = {
            "nu_log": nu_log,
            "theta_log": np.log(draw.uniform(rng, 0, self.max_phase, N)),
            "gamma_log": 0.5 * np.log(-np.expm1(-2 * np.exp(nu_log))),  # log sqrt(1 - |lam|^2)
            "B_re": rng.standard_normal((N, H)) / np.sqrt(2 * H),
            "B_im": rng.standard_normal((N, H)) / np.sqrt(2 * H),
            "D": rng.standard_normal(H),
        }
        for C in self.readouts:
            params[f"{C}_re"] = rng.standard_normal((H, N)) / np.sqrt(N)
            params[f"{C}_im"] = rng.standard_normal((H, N)) / np.sqrt(N)
        return params

    def rescale_step(self, params: Mapping[str, Any], factor: float) -> dict[str, Any]:
        """See LayerSpec: lam^factor, and B (1 - lam^factor) / (1 - lam); exact, in float64.

        Of a factor that is no whole number the power is that of the angle exp(theta_log) itself, not of
        the equal one within half a turn.
        """
        p = doubled(params)
        log_lam = -np.exp(p["nu_log"]) + 1j * np.exp(p["theta_log"])
        nu_log, theta_log = (p[name] + math.log(factor) for name in ("nu_log", "theta_log"))
        gain = held_gain(np, log_lam, factor)
        if self.gamma == "recomputed":  # from the new lam, so B makes good for what that changes
            gain *= unit_gain(np, p["nu_log"]) / unit_gain(np, nu_log)
        B = gain[:, None] * (p["B_re"] + 1j * p["B_im"])
        return dict(params) | {"nu_log": nu_log, "theta_log": theta_log, "B_re": B.real, "B_im": B.imag}

    @property
    def coefficient_flops(self) -> dict[str, int]:
        """Lam in polar form, and the gain on B."""
        N, terms = self.d_state, {"lam": 4 * self.d_state}
        if self.gamma != "none":
            terms["gain * B"] = 2 * N * self.d_model + (N if self.gamma == "recomputed" else 0)
        return terms
