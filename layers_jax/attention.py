"""Causal softmax attention: the block of a transformer's decoder, to stand after recurrent ones.

Shapes: B batch, L time, H features, h heads, d features of a head.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from benchmark.spec.model import ATTENTION_HEADS, ModelSpec, subset
from layers_jax.array import Params, project, widened
from layers_jax.block import dropout, fork, gelu, normalise

Signal = Float[jax.Array, "B L H"]
Mask = Bool[jax.Array, "B L"]


def attention_block(
    model: ModelSpec,
    params: Params,
    stats: Params,
    x: Signal,
    *,
    mask: Mask | None = None,
    train: bool = False,
    rng: Any = None,
) -> tuple[Signal, Params]:
    """Attention, then two dense maps with a GELU between, each after a norm and beside a skip.

    Args:
        model: its norm and dropout.
        params: of this block, without its prefix.
        stats: running statistics of this block's norms, without its prefix.
        x: (batch, length, d_model).
        mask: True at the steps of each sequence, None if all are. Attention needs none: padding comes last,
            and no step looks ahead.
        train: normalise by the batch and drop out.
        rng: the source of dropout, needed if it is not zero.

    Returns:
        The output and the new statistics.
    """
    rate = model.dropout if train else 0.0
    first, second = fork(rng, 2) if rate else (None, None)
    norm_stats, mlp_stats = subset(stats, "norm/"), subset(stats, "mlp_norm/")
    z, norm_stats = normalise(model, subset(params, "norm/"), norm_stats, x, mask, train)
    x = x + dropout(attention(params, z), rate, first)
    z, mlp_stats = normalise(model, subset(params, "mlp_norm/"), mlp_stats, x, mask, train)
    z = project(gelu(project(z, params["mlp/W1"])), params["mlp/W2"])
    new = {"norm": norm_stats, "mlp_norm": mlp_stats}
    stats = {f"{norm}/{name}": value for norm, values in new.items() for name, value in values.items()}
    return x + dropout(z, rate, second), stats


def attention(params: Params, x: Signal) -> Signal:
    """Each step's mean of the values of itself and earlier steps, weighted by softmax(q k / sqrt(d)), of all heads."""
    q, k, v = (heads(project(x, params[name])) for name in ("W_q", "W_k", "W_v"))
    # jax.nn.dot_product_attention would take its softmax in float32, whatever it is given
    logits = widened(q @ k.swapaxes(2, 3)) / q.shape[-1] ** 0.5
    seen = jnp.tril(jnp.ones(logits.shape[2:], bool))
    mixed = jax.nn.softmax(logits, where=seen).astype(v.dtype) @ v
    return project(mixed.swapaxes(1, 2).reshape(x.shape), params["W_o"])


def heads(x: Signal) -> Float[jax.Array, "B h L d"]:
    """Features by head."""
    return x.reshape(*x.shape[:2], ATTENTION_HEADS, -1).swapaxes(1, 2)
