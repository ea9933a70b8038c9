"""A known period: inputs that have one, and the angles by which a layer could find it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from benchmark.spec import LayerSpec, Unsupported, UserError
from benchmark.spec.base import Params
from benchmark.spec.model import subset
from benchmark.tasks.base import Encoder, Split, Target
from benchmark.tasks.drawn import Drawn

Array = np.ndarray
ARMS = ("learned", "fixed")
"""How the angles of the layer come about: by training, or held at the known one."""

HELD = {"rotrnn": "theta", "lru": "theta_log", "s4d": "A_imag", "s5": "Lambda_im"}
"""The parameter that holds a layer's angles."""


@dataclass(frozen=True, kw_only=True)
class Sinusoid(Drawn):
    """What comes next, ``ahead`` steps after the last.

    ::

        period 12, ahead 3

        input    0.0 0.5 0.9 1.0 0.9 ...     sin(2 pi t / 12 + phase), with noise
        target                       0.7     the same without noise, 3 steps on

    The phase is uniform and differs between sequences. Always answering 0 has a mean squared error of 1/2.
    """

    name: ClassVar[str] = "period"
    encoder: ClassVar[Encoder] = "linear"
    target: ClassVar[Target] = "number"
    chance = 0.5

    period: float = 12.0
    """Steps of one turn."""
    ahead: int = 3
    noise: float = 0.1
    """Standard deviation."""
    length: int = 128
    examples: int = 2_000
    held_out: int = 500

    inputs = 1
    outputs = 1

    def _check(self) -> None:
        if not self.period > 2:
            raise UserError(f"period must be more than 2 steps, the shortest that sampling shows, got {self.period}")
        if self.noise < 0:
            raise UserError(f"the noise of period must not be negative, got {self.noise}")
        super()._check()

    @property
    def seq_len(self) -> int:
        """Steps of one sequence."""
        return self.length

    @property
    def angle(self) -> float:
        """Radians a step, from 0 to pi."""
        return 2 * np.pi / self.period

    def draw(self, rng: np.random.Generator, n: int) -> Split:
        """Inputs (n, length, 1) float32, labels (n,) float32."""
        phase = rng.uniform(0, 2 * np.pi, (n, 1))
        clean = np.sin(self.angle * np.arange(self.length) + phase)
        noisy = clean + self.noise * rng.standard_normal(clean.shape)
        labels = np.sin(self.angle * (self.length - 1 + self.ahead) + phase[:, 0])
        return Split(noisy[..., None].astype(np.float32), labels.astype(np.float32))


def folded(lam: Array) -> Array:
    """The angle of each eigenvalue from 0 to pi: real inputs and outputs do not tell it from its conjugate's."""
    return np.abs(np.angle(lam))


def held_at(spec: LayerSpec, params: Mapping[str, Array], angle: float) -> Params:
    """The one parameter, with a value that turns every state of the layer by an angle at each step.

    Args:
        spec: of the layer.
        params: its parameters; the step sizes among them decide what the angles of S4D and S5 are.
        angle: radians, above 0.

    Raises:
        Unsupported: for a discretisation under which the angle hangs on the decay too.
    """
    name = HELD.get(spec.name)
    if name is None:
        raise Unsupported(f"the study of a period knows the angles of {', '.join(HELD)}; not those of {spec.name}")
    if getattr(spec, "discretization", "zoh") != "zoh":
        raise Unsupported(f"an angle can be held with discretization zoh only, got {spec.options['discretization']}")
    match spec.name:
        case "rotrnn":
            value: Any = angle
        case "lru":
            value = np.log(angle)
        case "s4d":
            value = angle / np.exp(params["log_dt"])[:, None]
        case _:
            value = angle / (spec.options["step_rescale"] * np.exp(params["log_step"]))
    return {name: np.broadcast_to(value, params[name].shape).astype(np.float32)}


class HeldTrainer:
    """A framework's trainer that puts the angles of every block back where they should be after each update."""

    def __init__(self, trainer: Any, spec: LayerSpec, angle: float) -> None:
        """Hold them from the start."""
        self.trainer, self.spec, self.angle = trainer, spec, angle
        self._hold()

    def __getattr__(self, name: str) -> Any:
        """All else is the trainer's own."""
        return getattr(self.trainer, name)

    def update(self, inputs: Array, labels: Array, lengths: Any, rates: dict[str, float]) -> Any:
        """As the trainer does."""
        loss = self.trainer.update(inputs, labels, lengths, rates)
        self._hold()
        return loss

    def _hold(self) -> None:
        weights = self.trainer.weights()
        for prefix in {name[: name.index("/layer/") + 7] for name in weights if "/layer/" in name}:
            found = held_at(self.spec, subset(weights, prefix), self.angle)
            weights |= {prefix + name: value for name, value in found.items()}
        self.trainer.load(weights)


def mode_energies(states: Array, C: Array) -> Array:
    """What each mode contributes to the outputs, (modes,): its mean square times that of its read-out.

    Args:
        states: (batch, length, modes), complex.
        C: (H, modes) shared, or (H, M) per channel, of which then modes = H M.
    """
    weight = np.abs(C) ** 2
    weight = weight.reshape(-1) if weight.size == states.shape[-1] else weight.sum(0)
    return np.asarray(weight * (np.abs(states) ** 2).mean((0, 1)))
