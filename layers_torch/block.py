"""One residual block: norm, layer, GELU, gate, dropout, skip.

Shapes: B batch, L time, H features.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float

from benchmark.spec.model import NORM_EPSILON, ModelSpec, subset
from layers_torch.array import Params, project, widened
from layers_torch.recurrence import apply

Signal = Float[torch.Tensor, "B L H"]
Mask = Bool[torch.Tensor, "B L"]


def block(
    model: ModelSpec,
    params: Params,
    stats: Params,
    x: Signal,
    *,
    mask: Mask | None = None,
    lengths: Any = None,
    train: bool = False,
    rng: Any = None,
    algorithm: str = "auto",
) -> tuple[Signal, Params]:
    """The block on whole sequences.

    Args:
        model: which layer, norm and gate.
        params: of this block, without its prefix.
        stats: running statistics of this block's norm, without its prefix.
        x: (batch, length, d_model).
        mask: True at the steps of each sequence, None if all are.
        lengths: of the sequences, as the mask has them.
        train: normalise by the batch and drop out.
        rng: the source of dropout, needed if it is not zero.
        algorithm: of the recurrence.

    Returns:
        The output and the new statistics.
    """
    norm_params, norm_stats = subset(params, "norm/"), subset(stats, "norm/")
    skip = x
    if model.prenorm:
        x, norm_stats = normalise(model, norm_params, norm_stats, x, mask, train)
    x = apply(model.layer, subset(params, "layer/"), x, lengths=lengths, algorithm=algorithm)
    x = skip + gate(model, subset(params, "glu/"), x, train, rng)
    if not model.prenorm:
        x, norm_stats = normalise(model, norm_params, norm_stats, x, mask, train)
    return x, {f"norm/{name}": value for name, value in norm_stats.items()}


def normalise(
    model: ModelSpec, params: Params, stats: Params, x: Signal, mask: Mask | None, train: bool
) -> tuple[Signal, Params]:
    """Batch or layer norm, in float32 at least; padding has no part in the statistics of a batch."""
    kept, x = x.dtype, widened(x)
    if model.norm == "layer":
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred * torch.rsqrt((centred**2).mean(-1, keepdim=True) + NORM_EPSILON)
        return (scaled * params["scale"] + params["bias"]).to(kept), stats
    if train:
        mean, var = moments(x, mask)
        keep = model.norm_momentum
        stats = {
            "mean": keep * stats["mean"] + (1 - keep) * mean.detach(),
            "var": keep * stats["var"] + (1 - keep) * var.detach(),
        }
    else:
        mean, var = stats["mean"], stats["var"]
    gain = params["scale"] * torch.rsqrt(var + NORM_EPSILON)
    return (x * gain + (params["bias"] - mean * gain)).to(kept), stats  # of long sequences, only x is kept


def moments(x: Signal, mask: Mask | None) -> tuple[Float[torch.Tensor, "H"], Float[torch.Tensor, "H"]]:
    """Mean and biased variance of each feature over the steps that count."""
    if mask is None:
        var, mean = torch.var_mean(x, (0, 1), correction=0)
        return mean, var
    weight = mask[..., None].to(x.dtype)
    mean = (weight * x).sum((0, 1)) / weight.sum()
    return mean, (weight * (x - mean) ** 2).sum((0, 1)) / weight.sum()


def gate(model: ModelSpec, params: Params, x: Signal, train: bool, rng: Any) -> Signal:
    """GELU and the gated linear unit that the model names, with dropout after each if training."""
    rate = model.dropout if train else 0.0
    first, second = fork(rng, 2) if rate else (None, None)
    g = dropout(gelu(x), rate, first)
    match model.activation:
        case "gelu":
            return g
        case "half_glu1":
            g = g * torch.sigmoid(project(g, params["W"]) + params["b"])
        case "half_glu2":
            g = x * torch.sigmoid(project(g, params["W"]) + params["b"])
        case "full_glu":
            left = project(g, params["W1"]) + params["b1"]
            g = left * torch.sigmoid(project(g, params["W2"]) + params["b2"])
    return dropout(g, rate, second)


def gelu(x: torch.Tensor) -> torch.Tensor:
    """GELU in its tanh form, which flax takes by default and so the published JAX code has."""
    return torch.nn.functional.gelu(x, approximate="tanh")


def dropout(x: Signal, rate: float, rng: Any) -> Signal:
    """Whole features of a sequence set to zero at all steps at once, as in the S5 code."""
    if rate == 0:
        return x
    kept = torch.rand((x.shape[0], 1, x.shape[2]), generator=rng, device=x.device) >= rate
    return torch.where(kept, x / (1 - rate), 0)


def fork(rng: Any, count: int) -> list[Any]:
    """``count`` sources of random numbers from one."""
    return [rng] * count
