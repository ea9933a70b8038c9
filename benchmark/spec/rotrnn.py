"""RotRNN. Biegun, Dolga, Cunningham and Barber 2024, arXiv:2407.07239, and the authors' public code."""

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
class RotRNN(LayerSpec):
    """``d_state`` counts real coordinates over all heads; each head has d_state / heads of them, an even number.

    ``normalizer``: stationary scales each head's input so that E||x_t||^2 tends to 1, as in the
    published code; exact also scales the first input, so that it is 1 at every t; none leaves
    B as it is. ``gamma_init``: the decays are drawn log-log-uniform or uniform on a ring.
    ``mixing``: P of each head is learned, or the identity, without M. Both compute the same functions,
    as P can be folded into B and C (docs/studies.md); with one seed all else is drawn alike.
    """

    name: ClassVar[str] = "rotrnn"
    source: ClassVar[str] = "Biegun et al. 2024, arXiv:2407.07239"
    equations: ClassVar[str] = """
    per head: gamma = exp(-exp(gamma_log)),  P = exp(M - M^T),  A = P Theta P^T,  xi = sqrt((1 - gamma^2) / tr(B^T B))
    x_t = gamma A x_{t-1} + xi B u_t,  y_t = C [x_t of all heads] + D u_t
    in the basis P^T x, pairs of coordinates are complex: lam_j = gamma exp(i theta_j)
    """
    recurrence_params: ClassVar[frozenset[str]] = frozenset({"theta", "gamma_log", "M", "B"})
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "stationary": {"d_state": 8, "heads": 2},
        "exact, bidirectional": {"d_state": 8, "heads": 2, "normalizer": "exact", "bidirectional": True},
        "none, ring, one head": {"d_state": 6, "heads": 1, "normalizer": "none", "gamma_init": "ring"},
        "planes as heads": {"d_state": 6, "heads": 3},
        "P identity": {"d_state": 8, "heads": 2, "mixing": "identity"},
    }

    heads: int = 32
    normalizer: Literal["stationary", "exact", "none"] = "stationary"
    gamma_min: float = 0.9
    gamma_max: float = 0.999
    max_phase: float = 2 * np.pi
    gamma_init: Literal["loglog", "ring"] = "loglog"
    mixing: Literal["learned", "identity"] = "learned"

    def _check(self) -> None:
        if self.d_state % self.heads:
            raise UserError(
                f"rotrnn: d_state must be divisible by heads, got d_state={self.d_state}, heads={self.heads}"
                f"; try heads={_fitting_heads(self.d_state, self.heads)}"
            )
        if self.head_size % 2:
            raise UserError(
                f"rotrnn: the head size d_state/heads must be even, got {self.d_state}/{self.heads} = {self.head_size}"
                f"; try heads={_fitting_heads(self.d_state, self.heads)}"
            )
        low = 0 if self.gamma_init == "ring" else np.nextafter(0, 1)
        if not low <= self.gamma_min < self.gamma_max < 1:
            raise UserError(
                "rotrnn: 0 < gamma_min < gamma_max < 1 must hold (gamma_min may be 0 with gamma_init=ring)"
                f", got gamma_min={self.gamma_min}, gamma_max={self.gamma_max}"
            )
        if self.max_phase <= 0:
            raise UserError(f"rotrnn: max_phase must be positive, got {self.max_phase}")

    @property
    def head_size(self) -> int:
        """Real coordinates of one head."""
        return self.d_state // self.heads

    @property
    def scales_first_step(self) -> bool:
        """The exact normaliser does."""
        return self.normalizer == "exact"

    @property
    def modes(self) -> int:
        """Rotating planes over all heads."""
        return self.d_state // 2

    @property
    def param_shapes(self) -> Shapes:
        """See LayerSpec."""
        H, N, h, d = self.d_model, self.d_state, self.heads, self.head_size
        shapes: Shapes = {"theta": (h, d // 2), "gamma_log": (h,)}
        if self.mixing == "learned":
            shapes["M"] = (h, d, d)
        return shapes | {"B": (h, d, H), "D": (H,)} | dict.fromkeys(self.readouts, (H, N))

    def _draw(self, rng: np.random.Generator) -> Params:
        H, N, h, d = self.d_model, self.d_state, self.heads, self.head_size
        log_rate = draw.loglog_log_rate if self.gamma_init == "loglog" else draw.ring_log_rate
        params = {
            "theta": draw.uniform(rng, 0, self.max_phase, (h, d // 2)),
            "gamma_log": log_rate(rng, self.gamma_min, self.gamma_max, h),
            "M": rng.standard_normal((h, d, d)),
            "B": rng.standard_normal((h, d, H)) / np.sqrt(H + N),
            "D": rng.standard_normal(H),
        }
        for C in self.readouts:
            params[C] = rng.standard_normal((H, N)) / np.sqrt(H + N)
        return params

    def rescale_step(self, params: Mapping[str, Any], factor: float) -> dict[str, Any]:
        """See LayerSpec: lam^factor, and B (1 - lam^factor) / (1 - lam) in the basis of P, in float64.

        A normaliser undoes any scale of B, so that C has to make good for it: the output is exact, the norm
        of the state is the normaliser's. Only where the exact normaliser scales the first input is there an
        approximation: its gain is that of one step, not of one that is held, which fades as gamma^t.
        """
        p = doubled(params)
        gain = held_gain(np, -np.exp(p["gamma_log"])[:, None] + 1j * p["theta"], factor)
        found = {
            "theta": factor * p["theta"],
            "gamma_log": p["gamma_log"] + math.log(factor),
            "B": self._times_planes(p, gain),
        }
        if self.normalizer != "none":
            scale = np.repeat(_normalised_by(p) / _normalised_by(found), self.head_size)
            found |= {C: p[C] * scale for C in self.readouts}
        return dict(params) | found

    def _times_planes(self, p: Params, gain: np.ndarray) -> np.ndarray:
        """B (heads, d, H), each rotating plane of which is multiplied by a complex number, gain (heads, d / 2)."""
        P = np.array([rotation_of(M) for M in p["M"]]) if self.mixing == "learned" else np.eye(self.head_size)
        B = P.swapaxes(-1, -2) @ p["B"]
        planes = gain[:, :, None] * (B[:, 0::2] + 1j * B[:, 1::2])
        return P @ np.stack([planes.real, planes.imag], 2).reshape(B.shape)

    @property
    def coefficient_flops(self) -> dict[str, int]:
        """lam, P folded into B and C, the normaliser; the exponential as Pade-13 without squarings (Higham 2005)."""
        H, N, h, d = self.d_model, self.d_state, self.heads, self.head_size
        terms = {"lam": 2 * N}
        if self.mixing == "learned":
            terms |= {
                "M - M^T": N * d,
                "matrix exponential": h * (6 * 2 * d**3 + 8 * d**3 // 3),
                "P^T B, C P": (1 + len(self.readouts)) * 2 * N * d * H,
            }
        terms["xi * B"] = N * H
        if self.normalizer != "none":
            terms["xi"] = 2 * N * H + 2 * h
        if self.normalizer == "exact":
            terms["first gain"] = 2 * h
        return terms


def _normalised_by(p: Mapping[str, np.ndarray]) -> np.ndarray:
    """Xi of each head, (heads,)."""
    return unit_gain(np, p["gamma_log"]) / np.sqrt((p["B"] ** 2).sum((1, 2)))


def rotation_of(M: np.ndarray) -> np.ndarray:
    """P = exp(M - M^T) of one head, (d, d), by the eigenvectors of the Hermitian matrix i (M^T - M)."""
    angles, vectors = np.linalg.eigh(1j * (M.T - M))
    return ((vectors * np.exp(1j * angles)) @ vectors.conj().T).real


def _fitting_heads(d_state: int, heads: int) -> str:
    """The head counts nearest to ``heads`` that leave an even head size, as a hint."""
    fitting = [count for count in range(1, min(d_state // 2, 4096) + 1) if d_state % (2 * count) == 0]
    nearest = sorted(sorted(fitting, key=lambda count: abs(count - heads))[:3])
    return " or ".join(map(str, nearest)) or "1 and an even d_state"
