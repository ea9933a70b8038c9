"""What the four layer specs share: validation, initial values in float32, sizes and costs."""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import numpy as np

from benchmark.spec import costs
from benchmark.spec.errors import Unsupported, UserError, short, unknown

LARGEST = (1 << 31) - 1
"""Of any size: beyond it frameworks count in ways of their own."""

Shapes = dict[str, tuple[int, ...]]
Params = dict[str, np.ndarray]


def doubled(params: Mapping[str, Any]) -> Params:
    """Parameters in float64."""
    return {name: np.asarray(value, np.float64) for name, value in params.items()}


def check_field(owner: str, name: str, hint: Any, value: object) -> None:
    """Raise UserError unless ``value`` fits the annotation of a spec's field.

    Integers must be positive and numbers finite; a Literal must be one of its words.
    """
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise unknown(f"{owner} {name}", value, get_args(hint))
    elif hint is bool:
        if not isinstance(value, bool):
            raise UserError(f"{owner}: {name} must be true or false, got {value!r}")
    elif hint is int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
            raise UserError(f"{owner}: {name} must be a positive integer up to {LARGEST:,}, got {short(value)}")
    elif hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not abs(value) <= sys.float_info.max:  # type: ignore[arg-type]
            raise UserError(f"{owner}: {name} must be a finite number, got {short(value)}")


def check_fields(spec: Any, owner: str) -> None:
    """Check every field of a frozen spec against its annotation. Raises UserError.

    A whole number given for a float becomes a float, so that equal specs have equal JSON.
    """
    hints = get_type_hints(type(spec))
    for field in fields(spec):
        value = getattr(spec, field.name)
        check_field(owner, field.name, hints[field.name], value)
        if hints[field.name] is float:
            object.__setattr__(spec, field.name, float(value))


@dataclass(frozen=True, kw_only=True)
class LayerSpec:
    """Sizes and options of one layer of the family z_t = lam z_{t-1} + B u_t, y_t = Re(C z_t) + D u_t.

    A subclass names its parameters' shapes, draws their initial values and says how many
    complex modes it has; everything else follows from these.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    equations: ClassVar[str]
    recurrence_params: ClassVar[frozenset[str]]
    """Parameters that the papers train at a rate of their own and without weight decay."""
    examples: ClassVar[Mapping[str, Mapping[str, Any]]]
    """Small variants by label, as fields beyond d_model: what ``verify`` and the tests run."""
    per_channel: ClassVar[bool] = False
    """True if every feature has a recurrence of its own (S4D), False if all features share one."""

    d_model: int
    d_state: int
    bidirectional: bool = False

    def __post_init__(self) -> None:
        """Check types and ranges, then what the layer itself demands. Raises UserError."""
        check_fields(self, self.name)
        self._check()

    def _check(self) -> None:
        """What must hold between this layer's fields; a subclass raises UserError."""

    @property
    def modes(self) -> int:
        """Complex modes of the recurrence; of one channel's recurrence in a per-channel layer."""
        raise NotImplementedError

    @property
    def param_shapes(self) -> Shapes:
        """Name and shape of every parameter, in the order in which they are drawn."""
        raise NotImplementedError

    def _draw(self, rng: np.random.Generator) -> Params:
        """Initial values in float64."""
        raise NotImplementedError

    def init(self, seed: int | np.random.SeedSequence = 0) -> Params:
        """Initial parameters as published, float32, drawn once for both frameworks."""
        drawn = self._draw(np.random.default_rng(seed))
        return {name: drawn[name].astype(np.float32) for name in self.param_shapes}

    @property
    def readouts(self) -> tuple[str, ...]:
        """Prefixes of the read-out parameters: C reads the forward half, C2 the backward half."""
        return ("C", "C2") if self.bidirectional else ("C",)

    @property
    def state_shape(self) -> tuple[int, ...]:
        """Shape of the complex state of one sequence: (modes,), or (d_model, modes) per channel."""
        return (self.d_model, self.modes) if self.per_channel else (self.modes,)

    @property
    def real_state_size(self) -> int:
        """Real numbers carried from one step to the next: what matched comparisons hold equal."""
        return 2 * math.prod(self.state_shape)

    @property
    def param_count(self) -> int:
        """Real parameters of the layer, without any block around it."""
        return sum(math.prod(shape) for shape in self.param_shapes.values())

    @property
    def scales_first_step(self) -> bool:
        """Whether the first input of each direction gets a gain of its own."""
        return False

    def rescale_step(self, params: Mapping[str, Any], factor: float) -> dict[str, Any]:  # noqa: ARG002
        """Parameters for inputs sampled at ``factor`` times the distance, by zero-order hold.

        What they compute of inputs u is what the given parameters compute of every input held for ``factor``
        steps, at the last of these: so constant inputs have the same stationary outputs.

        Args:
            params: by name, of any float dtype.
            factor: positive; 2 for every second sample, fractions too.

        Raises:
            Unsupported: for a layer that does not say how.
        """
        raise Unsupported(f"{self.name} does not say what its parameters are at another distance between steps")

    @property
    def coefficient_flops(self) -> dict[str, int]:
        """FLOPs of turning parameters into (lam, B, C), once a call, by term. See docs/costs.md."""
        return {}

    def flops(
        self, seq_len: int, batch: int = 1, algorithm: str = "sequential", direction: str = "forward"
    ) -> dict[str, int]:
        """FLOPs of one call by term; their sum is the total. Conventions: docs/costs.md."""
        return costs.flops(self, seq_len, batch, algorithm, direction)

    def traffic_bytes(
        self, seq_len: int, batch: int = 1, direction: str = "forward", itemsize: int = 4
    ) -> dict[str, int]:
        """Bytes that one call must move between memory and processor, by term. See docs/costs.md."""
        return costs.traffic_bytes(self, seq_len, batch, direction, itemsize)

    @classmethod
    def option_names(cls) -> list[str]:
        """The fields beyond d_model and d_state."""
        return [field.name for field in fields(cls) if field.name not in {"d_model", "d_state"}]

    @property
    def options(self) -> dict[str, Any]:
        """The fields beyond d_model and d_state, with their values."""
        return {name: getattr(self, name) for name in self.option_names()}
