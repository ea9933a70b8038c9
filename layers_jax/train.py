"""Training a model: the three functions that the neutral loop calls."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import numpy as np
import optax
from jaxtyping import Float, Int

from benchmark.spec.model import ModelSpec
from benchmark.spec.optimiser import Optimiser
from layers_jax.array import Params, asarray, to_numpy
from layers_jax.device import resolve
from layers_jax.model import apply_model


def cross_entropy(logits: Float[jax.Array, "B O"], labels: Int[jax.Array, "B"]) -> Float[jax.Array, ""]:
    """The mean over the batch of -log softmax(logits)[label]."""
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
        self.rng = jax.device_put(jax.random.key(seed), self.device)
        self.adam = _adam(optimiser).init(self.params)

    def update(self, inputs: np.ndarray, labels: np.ndarray, lengths: Any, rates: Mapping[str, float]) -> Any:
        """One step of AdamW at the given rate of each group; returns the loss before it, still on the device."""
        batch = jax.device_put((inputs, labels, lengths), self.device)
        self.rng, rng = jax.random.split(self.rng)
        static = (self.model, self.optimiser, self.algorithm)
        trained = (self.params, self.stats, self.adam)
        loss, (self.params, self.stats, self.adam) = _update(static, trained, batch, dict(rates), rng)
        return loss

    def evaluate(self, inputs: np.ndarray, lengths: Any) -> np.ndarray:
        """Logits (batch, outputs) without dropout, normalised by the running statistics."""
        batch = jax.device_put((inputs, lengths), self.device)
        return to_numpy(_evaluate(self.model, self.algorithm, self.params, self.stats, batch))


def _adam(optimiser: Optimiser) -> optax.GradientTransformation:
    """Clipping and Adam; rate and weight decay, which differ by group, are applied in ``_update``."""
    scale = optax.scale_by_adam(optimiser.beta1, optimiser.beta2, optimiser.epsilon)
    return optax.chain(optax.clip_by_global_norm(optimiser.clip_norm), scale) if optimiser.clip_norm else scale


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _update(static: tuple[ModelSpec, Optimiser, str], trained: Any, batch: Any, rates: Any, rng: jax.Array) -> Any:
    model, optimiser, algorithm = static
    params, stats, adam_state = trained
    inputs, labels, lengths = batch

    def loss_of(params: Params) -> tuple[jax.Array, Params]:
        options = {"lengths": lengths, "train": True, "rng": rng, "algorithm": algorithm}
        logits, new = apply_model(model, params, stats, inputs, **options)
        return cross_entropy(logits, labels), new

    (loss, stats), gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
    steps, adam_state = _adam(optimiser).update(gradients, adam_state, params)
    for name, value in params.items():
        group = model.group(name)
        decay = optimiser.weight_decay if group == "regular" else 0.0
        params = params | {name: value - rates[group] * (steps[name] + decay * value)}
    return loss, (params, stats, adam_state)


@partial(jax.jit, static_argnums=(0, 1))
def _evaluate(model: ModelSpec, algorithm: str, params: Params, stats: Params, batch: Any) -> jax.Array:
    inputs, lengths = batch
    return apply_model(model, params, stats, inputs, lengths=lengths, algorithm=algorithm)[0]
