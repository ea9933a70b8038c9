"""A look into a model: what enters each block's layer, and the gradient of the loss that reaches each block.

Shapes: B batch, L time, H features, D blocks.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from benchmark.spec.model import ModelSpec, subset
from layers_jax.array import Params, asarray
from layers_jax.block import block, normalise
from layers_jax.model import attend, decode, encode, pool
from layers_jax.train import loss_of

Signals = Float[jax.Array, "D B L H"]


def probe(
    model: ModelSpec, params: Params, stats: Params, inputs: Any, labels: Any, lengths: Any = None
) -> tuple[Signals, Signals]:
    """Layer inputs and gradients of a batch, normalised by its own statistics and without dropout.

    Args:
        model: the model's sizes and options.
        params: named as in ``model.param_shapes``.
        stats: named as in ``model.stat_shapes``.
        inputs: as for ``apply_model``.
        labels: as for ``loss_of``.
        lengths: as for ``apply_model``.

    Returns:
        What each block's layer reads, and the gradient of the loss by each block's input; both
        (depth, batch, length, d_model).
    """
    shifts = jnp.zeros((model.depth, *shape_of(model, inputs)), params["encoder/W"].dtype)
    at = None if lengths is None else asarray(lengths)
    given = params, stats, asarray(inputs), at
    return _probe(model, given, asarray(labels), shifts)


def shape_of(model: ModelSpec, inputs: Any) -> tuple[int, int, int]:
    """Of the signal between blocks: (batch, length, d_model)."""
    return inputs.shape[0], inputs.shape[1], model.layer.d_model


def shifted(
    model: ModelSpec, params: Params, stats: Params, inputs: Any, lengths: Any, shifts: Signals
) -> tuple[jax.Array, Signals]:
    """Logits and layer inputs; a shift is added to what enters each block, so its gradient is that of the input."""
    x = encode(model, params, inputs)
    mask = None if lengths is None else jnp.arange(x.shape[1]) < lengths[:, None]
    read = []
    for i in range(model.depth):
        given = subset(params, f"block{i}/"), subset(stats, f"block{i}/")
        x = x + shifts[i]
        norm = subset(given[0], "norm/"), subset(given[1], "norm/")
        read.append(normalise(model, *norm, x, mask, True)[0] if model.prenorm else x)
        x, _ = block(model, *given, x, mask=mask, lengths=lengths, train=True)
    x, _ = attend(model, params, stats, x, mask=mask, train=True, sources=[None] * model.attention)
    pooled = x if model.target == "steps" else pool(model, x, mask, lengths)
    return decode(model, params, pooled), jnp.stack(read)


@partial(jax.jit, static_argnums=0)
def _probe(model: ModelSpec, given: Any, labels: jax.Array, shifts: Signals) -> tuple[Signals, Signals]:
    def loss(shifts: Signals) -> tuple[jax.Array, Signals]:
        params, stats, inputs, lengths = given
        logits, read = shifted(model, params, stats, inputs, lengths, shifts)
        return loss_of(model, logits, labels), read

    gradients, read = jax.grad(loss, has_aux=True)(shifts)
    return read, gradients
