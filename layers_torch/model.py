"""The whole model: encoder, blocks, pooling, decoder. Sizes and initial values: benchmark/spec/model.py.

Shapes: B batch, B2 answers, one to a pair of documents, L time, H features, O outputs. Parameters are
a flat dict keyed by path.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float

from benchmark.spec import UserError, checks
from benchmark.spec.model import ModelSpec, subset
from layers_torch.array import Params, asarray, narrowed, on_host, project, widened
from layers_torch.attention import attention_block
from layers_torch.block import block, fork, gelu

Signal = Float[torch.Tensor, "B L H"]


def apply_model(
    model: ModelSpec,
    params: Params,
    stats: Params,
    inputs: Any,
    *,
    lengths: Any = None,
    train: bool = False,
    rng: Any = None,
    algorithm: str = "auto",
) -> tuple[Float[torch.Tensor, "B2 *L O"], Params]:
    """Logits of a batch, and the new running statistics.

    Args:
        model: the model's sizes and options.
        params: named as in ``model.param_shapes``.
        stats: named as in ``model.stat_shapes``.
        inputs: (batch, length) integers for tokens, else (batch, length, channels); for retrieval
            the batch holds all first documents, then all second ones.
        lengths: (batch,), None if every sequence fills its length.
        train: normalise by the batch and drop out.
        rng: the source of dropout.
        algorithm: of the recurrence.

    Returns:
        Logits (batch, outputs), (batch / 2, outputs) for retrieval, or (batch, length, outputs) for
        target steps; the statistics.
    """
    if model.head == "retrieval":
        checks.check_pairs(np.shape(inputs)[0])
    x = encode(model, params, inputs)
    if model.compute == "bfloat16":
        x = narrowed(x)
        params = {name: narrowed(value) if "/glu/" in name else value for name, value in params.items()}
    checks.check_lengths(on_host(lengths), x.shape[0], x.shape[1])
    mask = None
    if lengths is not None:
        lengths = asarray(lengths, dtype=torch.int64, device=x.device)
        mask = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    stats = dict(stats)
    count = model.depth + model.attention
    sources = fork(rng, count) if train and model.dropout else [None] * count
    for i, source in enumerate(sources[: model.depth]):
        prefix = f"block{i}/"
        options = {"mask": mask, "lengths": lengths, "train": train, "rng": source, "algorithm": algorithm}
        x, new = block(model, subset(params, prefix), subset(stats, prefix), x, **options)
        stats |= {prefix + name: value for name, value in new.items()}
    x, stats = attend(model, params, stats, x, mask=mask, train=train, sources=sources[model.depth :])
    x = widened(x)
    pooled = x if model.target == "steps" else pool(model, x, mask, lengths)
    return decode(model, params, pooled), stats


def attend(
    model: ModelSpec, params: Params, stats: Params, x: Signal, *, mask: Any, train: bool, sources: list[Any]
) -> tuple[Signal, Params]:
    """The attention blocks, one to a source of dropout."""
    for i, source in enumerate(sources):
        prefix = f"attention{i}/"
        given = subset(params, prefix), subset(stats, prefix)
        x, new = attention_block(model, *given, x, mask=mask, train=train, rng=source)
        stats = stats | {prefix + name: value for name, value in new.items()}
    return x, stats


def encode(model: ModelSpec, params: Params, inputs: Any) -> Signal:
    """Tokens or channels to features."""
    x = asarray(inputs, device=params["encoder/W"].device)
    if model.encoder == "tokens":
        if x.ndim != 2:
            raise UserError(f"model: tokens must be (batch, length) integers, got shape {tuple(x.shape)}")
        checks.check_tokens(on_host(inputs), model.inputs)
        return params["encoder/W"][x.long()] + params["encoder/b"]
    if x.ndim != 3 or x.shape[2] != model.inputs:
        raise UserError(f"model: inputs must be (batch, length, {model.inputs}), got shape {tuple(x.shape)}")
    return project(x.to(params["encoder/W"].dtype), params["encoder/W"]) + params["encoder/b"]


def pool(
    model: ModelSpec, x: Signal, mask: Bool[torch.Tensor, "B L"] | None, lengths: Any
) -> Float[torch.Tensor, "B H"]:
    """One vector a sequence: the mean over its steps, or its last step."""
    if model.pooling == "last":
        return x[:, -1] if lengths is None else x[torch.arange(x.shape[0], device=x.device), lengths - 1]
    if mask is None:
        return x.mean(1)
    weight = mask[..., None].to(x.dtype)
    return (weight * x).sum(1) / weight.sum(1)


def decode(model: ModelSpec, params: Params, pooled: Float[torch.Tensor, "B *L H"]) -> Float[torch.Tensor, "B2 *L O"]:
    """Logits from the pooled features, of pairs of documents if the head is retrieval."""
    if model.head == "retrieval":
        half = pooled.shape[0] // 2
        a, b = pooled[:half], pooled[half:]
        features = torch.cat([a, b, a - b, a * b], -1)
        pooled = gelu(project(features, params["head/W"]) + params["head/b"])
    return project(pooled, params["decoder/W"]) + params["decoder/b"]


class Model(torch.nn.Module):
    """A model with its parameters and running statistics, drawn by ``spec.init(seed)``.

    ``model(inputs)`` is ``apply_model`` with these; in training mode it updates the statistics.
    """

    def __init__(self, spec: ModelSpec, seed: int = 0) -> None:
        """Draw the parameters; their paths are the names of the module's parameters."""
        super().__init__()
        self.spec = spec
        params, stats = spec.init(seed)
        for name, value in params.items():
            self.register_parameter(name, torch.nn.Parameter(asarray(value)))
        for name, value in stats.items():
            self.register_buffer(name, asarray(value))

    def forward(self, inputs: Any, **options: Any) -> torch.Tensor:
        """Logits; takes the keywords of ``apply_model`` but ``train``, which is the module's mode."""
        params: Params = dict(self.named_parameters())
        stats = dict(self.named_buffers())
        logits, new = apply_model(self.spec, params, stats, inputs, train=self.training, **options)
        for name, value in new.items():
            stats[name].copy_(value)
        return logits
