"""The optimiser that both frameworks run: AdamW in two groups (Loshchilov and Hutter 2019)."""

from dataclasses import dataclass

from benchmark.spec.base import check_fields
from benchmark.spec.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    """Weight decay acts on the regular group only; ``clip_norm`` bounds the norm of all gradients, 0 for none."""

    weight_decay: float = 0.05
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    clip_norm: float = 0.0

    def __post_init__(self) -> None:
        """Check ranges. Raises UserError."""
        check_fields(self, "optimiser")
        if min(self.weight_decay, self.clip_norm) < 0 or not self.epsilon > 0:
            raise UserError("optimiser: weight_decay and clip_norm must not be negative, epsilon must be positive")
        if not (0 <= self.beta1 < 1 and 0 <= self.beta2 < 1):
            raise UserError(f"optimiser: betas must lie in [0, 1), got {self.beta1} and {self.beta2}")
