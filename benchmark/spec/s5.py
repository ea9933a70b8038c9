"""S5. Smith, Warrington and Linderman, ICLR 2023, arXiv:2208.04933, section 3 and appendix B."""

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
class S5(LayerSpec):
    """``d_state`` is the published ssm_size: under ``conj_sym`` half of it is kept and the output is 2 Re(C z).

    ``blocks``: HiPPO blocks on the diagonal of the initial A. ``clip_eigs`` keeps Re A below
    -1e-4; without it |lam| may exceed 1. ``step_rescale`` multiplies every step (2 for data
    sampled at half the rate).
    """

    name: ClassVar[str] = "s5"
    source: ClassVar[str] = "Smith et al. 2023, arXiv:2208.04933"
    equations: ClassVar[str] = """
    A = Lambda_re + i Lambda_im,  dt = step_rescale exp(log_step),  lam = exp(dt A),  B' = (lam - 1) / A * B
    z_t = lam z_{t-1} + B' u_t,  y_t = 2 Re(C z_t) + D u_t  (without conj_sym: Re(C z_t))
    """
    recurrence_params: ClassVar[frozenset[str]] = frozenset({"Lambda_re", "Lambda_im", "log_step", "B_re", "B_im"})
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "zoh": {"d_state": 8},
        "bilinear, blocks, bidirectional": {
            "d_state": 8,
            "blocks": 2,
            "discretization": "bilinear",
            "bidirectional": True,
            "C_init": "trunc_standard_normal",
        },
        "all states, clipped, rescaled": {
            "d_state": 6,
            "conj_sym": False,
            "clip_eigs": True,
            "step_rescale": 2.0,
            "C_init": "complex_normal",
        },
    }

    blocks: int = 1
    conj_sym: bool = True
    discretization: Literal["zoh", "bilinear"] = "zoh"
    C_init: Literal["lecun_normal", "trunc_standard_normal", "complex_normal"] = "lecun_normal"
    dt_min: float = 1e-3
    dt_max: float = 1e-1
    clip_eigs: bool = False
    step_rescale: float = 1.0

    def _check(self) -> None:
        if self.d_state % self.blocks:
            raise UserError(
                f"s5: d_state must be divisible by blocks, got d_state={self.d_state}, blocks={self.blocks}"
            )
        if (self.d_state // self.blocks) % 2:
            raise UserError(
                f"s5: d_state/blocks must be even, got {self.d_state}/{self.blocks} = {self.d_state // self.blocks}"
            )
        if not 0 < self.dt_min < self.dt_max:
            raise UserError(f"s5: 0 < dt_min < dt_max must hold, got dt_min={self.dt_min}, dt_max={self.dt_max}")
        if self.step_rescale <= 0:
            raise UserError(f"s5: step_rescale must be positive, got {self.step_rescale}")

    @property
    def modes(self) -> int:
        """Complex states kept: one of each conjugate pair under conj_sym."""
        return self.d_state // 2 if self.conj_sym else self.d_state

    @property
    def param_shapes(self) -> Shapes:
        """See LayerSpec."""
        H, P = self.d_model, self.modes
        return {
            "Lambda_re": (P,),
            "Lambda_im": (P,),
            "log_step": (P,),
            "B_re": (P, H),
            "B_im": (P, H),
            "D": (H,),
        } | {f"{C}_{part}": (H, P) for C in self.readouts for part in ("re", "im")}

    def _draw(self, rng: np.random.Generator) -> Params:
        H, full = self.d_model, self.d_state
        Lambda, V = self._initial_modes()
        # flax counts the fan-in of B's kernel (full, H) along its first axis: full, not H.
        B = V.conj().T @ draw.lecun_normal(rng, (full, H), fan_in=full)
        params = {
            "Lambda_re": Lambda.real,
            "Lambda_im": Lambda.imag,
            "log_step": draw.log_uniform(rng, self.dt_min, self.dt_max, self.modes),
            "B_re": B.real,
            "B_im": B.imag,
            "D": rng.standard_normal(H),
        }
        for name in self.readouts:
            C = self._draw_C(rng, V)
            params |= {f"{name}_re": C.real, f"{name}_im": C.imag}
        return params

    def _initial_modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (modes,) and eigenvectors (d_state, modes) of the block-diagonal HiPPO-N matrix."""
        size = self.d_state // self.blocks
        values, vectors = hippo.normal_eigensystem(size)
        kept = size // 2 if self.conj_sym else size  # ascending: the negative imaginary half comes first
        return np.tile(values[:kept], self.blocks), np.kron(np.eye(self.blocks), vectors[:, :kept])

    def _draw_C(self, rng: np.random.Generator, V: np.ndarray) -> np.ndarray:
        """One read-out (H, modes).

        The fan-ins are flax's for the published kernel shapes, odd as they look: lecun_normal draws
        (H, d_state, 2), whose leading axis counts as receptive field, so its fan-in is H * d_state;
        trunc_standard_normal draws (1, d_state, 2) a row: d_state.
        """
        H, full = self.d_model, self.d_state
        if self.C_init == "complex_normal":
            return draw.complex_normal(rng, (H, self.modes))
        fan_in = H * full if self.C_init == "lecun_normal" else full
        pairs = draw.lecun_normal(rng, (H, full, 2), fan_in)
        return (pairs[..., 0] + 1j * pairs[..., 1]) @ V

    def rescale_step(self, params: Mapping[str, Any], factor: float) -> dict[str, Any]:
        """See LayerSpec."""
        return dict(params) | {"log_step": params["log_step"] + math.log(factor)}

    @property
    def coefficient_flops(self) -> dict[str, int]:
        """The discretisation of each state and of B, and the 2 of 2 Re(C z)."""
        P, entries = self.modes, self.modes * self.d_model
        return {
            "discretisation": P * (1 + DISCRETIZATION_FLOPS[self.discretization]),
            "discretised B": 6 * entries,
            "2 C": 2 * entries * len(self.readouts),
        }
