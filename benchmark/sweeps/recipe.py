"""How a model is trained, as data: part of a training cell. Light to import, as the command line has its fields."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Value = bool | int | float | str


class Recipe(BaseModel):
    """How a model is trained. Rates are the peaks of a schedule that warms up, then follows a cosine to zero.

    Of a field that has its default, a cell's id shows no trace. ``task_options`` holds the options of
    the task that differ from its defaults, ``data`` what it was loaded from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epochs: int = Field(description="Passes over the training set.")
    batch: int = Field(description="Examples in an update.")
    depth: int = Field(description="Blocks.")
    lr: float = Field(description="Peak rate of the regular parameters.")
    recurrence_lr: float = Field(description="Peak rate of the recurrence.")
    weight_decay: float = Field(description="Of parameters that decay.")
    dropout: float = Field(description="Rate after the GELU and after the gate.")
    warmup: float = Field(description="Share of all steps in which the rates rise.")
    norm: Literal["batch", "layer"] = Field(description="batch, layer.")
    activation: Literal["gelu", "half_glu1", "half_glu2", "full_glu"] = Field(
        description="gelu, half_glu1, half_glu2, full_glu."
    )
    steps: int | None = Field(default=None, description="Updates, instead of epochs.")
    eval_steps: int | None = Field(default=None, description="Updates between validations; one epoch if left out.")
    prenorm: bool = Field(default=True, description="Norm before the layer, or after the block.")
    norm_momentum: float = Field(
        default=0.95, description="Share of batch norm's running statistics kept at an update."
    )
    pooling: Literal["mean", "last"] = Field(default="mean", description="mean, last.")
    groups: Literal["standard", "BandCdecay", "BfastandCdecay", "noBCdecay"] = Field(
        default="standard",
        description="What trains at the recurrence's rate: standard, BandCdecay, BfastandCdecay, noBCdecay.",
    )
    clip_norm: float = Field(default=0.0, description="Bound on the norm of all gradients; 0 for none.")
    ema: float = Field(
        default=0.0, description="Share of the running average of the parameters kept at an update; 0 for none."
    )
    compute: Literal["full", "bfloat16"] = Field(
        default="full", description="full, or bfloat16 for all but recurrence, norms and head."
    )
    attention: int = Field(
        default=0, ge=0, le=4, description="Blocks of causal attention after those of the layer, up to 4."
    )
    shuffled: bool = Field(default=False, description="Labels of the training set in random order: must end at chance.")
    data: Literal["real", "generated", "stand-in"] = "real"
    task_options: dict[str, Value] = {}
