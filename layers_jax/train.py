"""Training a model: what the neutral loop calls, and the whole state of a training as plain arrays."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float, Shaped

from benchmark.spec.model import IGNORED, ModelSpec, subset
from benchmark.spec.optimiser import Optimiser
from layers_jax.array import Params, asarray, to_numpy
from layers_jax.device import resolve
from layers_jax.model import apply_model


def loss_of(
    model: ModelSpec, logits: Float[jax.Array, "B *L O"], labels: Shaped[jax.Array, "B *L"]
) -> Float[jax.Array, ""]:
    """The mean over the batch, or steps asked for, of -log softmax(logits)[label]; of numbers, of squared errors."""
    match model.target:
        case "number":
            return ((logits[:, 0] - labels) ** 2).mean()
        case "steps":
            asked = labels != IGNORED
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, jnp.where(asked, labels, 0))
            return (losses * asked).sum() / asked.sum()
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


class Trainer:
    """Parameters, optimiser state and the source of dropout of one training."""

    def __init__(
        self,
        model: ModelSpec,
        params: Mapping[str, np.ndarray],
        stats: Mapping[str, np.ndarray],
        optimiser: Optimiser,
        *,
        device: str = "cpu",
        algorithm: str = "auto",
        seed: int = 0,
    ) -> None:
        """Place the arrays on the device."""
        self.model, self.optimiser, self.algorithm = model, optimiser, algorithm
        self.device = resolve(device)
        self.params = {k: asarray(v, device=self.device) for k, v in params.items()}
        self.stats = {k: asarray(v, device=self.device) for k, v in stats.items()}
        self.ema = {k: jnp.copy(v) for k, v in self.params.items()} if optimiser.ema else {}
        self.rng = jax.device_put(jax.random.key(seed), self.device)
        self.adam = _adam(optimiser).init(self.params)

    def update(self, inputs: np.ndarray, labels: np.ndarray, lengths: Any, rates: Mapping[str, float]) -> Any:
        """One step of AdamW at the given rate of each group; returns the loss before it, still on the device."""
        batch = jax.device_put((inputs, labels, lengths), self.device)
        self.rng, rng = jax.random.split(self.rng)
        static = (self.model, self.optimiser, self.algorithm)
        trained = (self.params, self.stats, self.adam, self.ema)
        loss, (self.params, self.stats, self.adam, self.ema) = _update(static, trained, batch, dict(rates), rng)
        return loss

    def evaluate(self, inputs: np.ndarray, lengths: Any) -> np.ndarray:
        """Logits (batch, ..., outputs) without dropout, normalised by the running statistics."""
        batch = jax.device_put((inputs, lengths), self.device)
        return to_numpy(_evaluate(self.model, self.algorithm, self.ema or self.params, self.stats, batch))

    def weights(self) -> dict[str, np.ndarray]:
        """What ``evaluate`` uses: params/... and stats/..., the same names in both frameworks."""
        return _paths("params", self.ema or self.params) | _paths("stats", self.stats)

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Evaluate what ``weights`` returned, here or in the other framework. The optimiser is not touched."""
        self.params = _placed(subset(weights, "params/"), self.device)
        self.ema = _placed(subset(weights, "params/"), self.device) if self.ema else {}
        self.stats = _placed(subset(weights, "stats/"), self.device)

    def state(self) -> dict[str, np.ndarray]:
        """All that the next steps hang on, as arrays by path."""
        found = _paths("params", self.params) | _paths("stats", self.stats) | _paths("ema", self.ema)
        found |= {f"adam/{index}": to_numpy(leaf) for index, leaf in enumerate(jax.tree.leaves(self.adam))}
        return found | {"rng": np.asarray(jax.random.key_data(self.rng))}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what ``state`` returned in this framework."""
        self.params, self.stats, self.ema = (
            _placed(subset(state, name), self.device) for name in ("params/", "stats/", "ema/")
        )
        leaves, tree = jax.tree.flatten(self.adam)
        adam = [asarray(state[f"adam/{index}"], device=self.device) for index in range(len(leaves))]
        self.adam = jax.tree.unflatten(tree, adam)
        self.rng = jax.device_put(jax.random.wrap_key_data(jnp.asarray(state["rng"])), self.device)


def _adam(optimiser: Optimiser) -> optax.GradientTransformation:
    """Clipping and Adam; rate and weight decay, which differ by group, are applied in ``_update``."""
    scale = optax.scale_by_adam(optimiser.beta1, optimiser.beta2, optimiser.epsilon)
    return optax.chain(optax.clip_by_global_norm(optimiser.clip_norm), scale) if optimiser.clip_norm else scale


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _update(static: tuple[ModelSpec, Optimiser, str], trained: Any, batch: Any, rates: Any, rng: jax.Array) -> Any:
    model, optimiser, algorithm = static
    params, stats, adam_state, ema = trained
    inputs, labels, lengths = batch

    def total(params: Params) -> tuple[jax.Array, Params]:
        options = {"lengths": lengths, "train": True, "rng": rng, "algorithm": algorithm}
        logits, new = apply_model(model, params, stats, inputs, **options)
        return loss_of(model, logits, labels), new

    (loss, stats), gradients = jax.value_and_grad(total, has_aux=True)(params)
    steps, adam_state = _adam(optimiser).update(gradients, adam_state, params)
    for name, value in params.items():
        rate, decay = rates[optimiser.placement(model, name).rate], optimiser.decay_of(model, name)
        params = params | {name: value - rate * (steps[name] + decay * value)}
    ema = {name: optimiser.ema * mean + (1 - optimiser.ema) * params[name] for name, mean in ema.items()}
    return loss, (params, stats, adam_state, ema)


@partial(jax.jit, static_argnums=(0, 1))
def _evaluate(model: ModelSpec, algorithm: str, params: Params, stats: Params, batch: Any) -> jax.Array:
    inputs, lengths = batch
    return apply_model(model, params, stats, inputs, lengths=lengths, algorithm=algorithm)[0]


def _placed(values: Mapping[str, np.ndarray], device: jax.Device) -> Params:
    """Copies on the device, which an update may consume."""
    return {name: jnp.copy(asarray(value, device=device)) for name, value in values.items()}


def _paths(prefix: str, values: Params) -> dict[str, np.ndarray]:
    return {f"{prefix}/{name}": to_numpy(value) for name, value in values.items()}
