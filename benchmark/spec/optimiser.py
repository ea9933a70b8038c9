"""The optimiser that both frameworks run: AdamW in groups (Loshchilov and Hutter 2019)."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from benchmark.spec.base import check_fields
from benchmark.spec.errors import UserError
from benchmark.spec.model import ModelSpec

Groups = Literal["standard", "BandCdecay", "BfastandCdecay", "noBCdecay"]
"""What of a layer trains at the recurrence's rate and without decay, in the words of the S5 code.

standard: the layer's ``recurrence_params``. BandCdecay: as standard, but B decays. BfastandCdecay: B is
regular. noBCdecay: C and D belong to the recurrence too.
"""
GROUPS: tuple[str, ...] = get_args(Groups)


class Placement(NamedTuple):
    """How one parameter is trained."""

    rate: Literal["recurrence", "regular"]
    decays: bool


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    """Weight decay acts on parameters that decay; ``clip_norm`` bounds the norm of all gradients, 0 for none.

    ``ema`` keeps that share of a running average of the parameters at each step, 0 for none; where it is
    kept, the average is what is evaluated.
    """

    weight_decay: float = 0.05
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    clip_norm: float = 0.0
    ema: float = 0.0
    groups: Groups = "standard"

    def __post_init__(self) -> None:
        """Check ranges. Raises UserError."""
        check_fields(self, "optimiser")
        if min(self.weight_decay, self.clip_norm) < 0 or not self.epsilon > 0:
            raise UserError("optimiser: weight_decay and clip_norm must not be negative, epsilon must be positive")
        if not (0 <= self.beta1 < 1 and 0 <= self.beta2 < 1):
            raise UserError(f"optimiser: betas must lie in [0, 1), got {self.beta1} and {self.beta2}")
        if not 0 <= self.ema < 1:
            raise UserError(f"optimiser: ema must lie in [0, 1), got {self.ema}")

    def placement(self, model: ModelSpec, name: str) -> Placement:
        """Rate and decay of a parameter, by its path in the model."""
        _, in_layer, key = name.partition("/layer/")
        if not in_layer:
            return Placement("regular", True)
        if self.groups == "noBCdecay" and key[0] in "CD":
            return Placement("recurrence", False)
        if key not in model.layer.recurrence_params:
            return Placement("regular", True)
        if key[0] == "B" and self.groups == "BfastandCdecay":
            return Placement("regular", True)
        return Placement("recurrence", key[0] == "B" and self.groups == "BandCdecay")

    def decay_of(self, model: ModelSpec, name: str) -> float:
        """The weight decay of a parameter."""
        return self.weight_decay if self.placement(model, name).decays else 0.0
