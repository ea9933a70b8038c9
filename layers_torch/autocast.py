"""Under torch's autocast a layer decides itself what is coarse: its projections, in both passes."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as trees

from benchmark.spec import LayerSpec
from layers_torch.array import asarray, device_kind
from layers_torch.native import ReverseOnly, gradients_again, transformed


def own_precision(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call(spec, params, u, ...)`` where autocast changes nothing but inputs of float32, which take its dtype."""

    @functools.wraps(call)
    def outside(spec: LayerSpec, params: Any, u: Any, *rest: Any, **options: Any) -> Any:
        kind = device_kind(u)
        if not torch.is_autocast_enabled(kind):
            return call(spec, params, u, *rest, **options)
        u = asarray(u)
        u = u.to(torch.get_autocast_dtype(kind)) if u.dtype == torch.float32 else u
        with torch.autocast(kind, enabled=False):
            return _enclosed(functools.partial(call, spec), kind, (params, u, *rest), options)

    return outside


def _enclosed(call: Callable[..., Any], kind: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The call as one step of torch's graph, if its gradient may be asked for inside autocast."""
    leaves, tree = trees.tree_flatten((arguments, options))
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not at or not torch.is_grad_enabled() or transformed():
        return call(*arguments, **options)
    shape: Any = None  # of what the call gives

    def run(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        nonlocal shape
        for i, x in zip(at, inputs, strict=True):
            leaves[i] = x
        words, named = trees.tree_unflatten(leaves, tree)
        outputs, shape = trees.tree_flatten(call(*words, **named))
        return tuple(outputs)

    outputs = _Enclosed.apply(run, kind, *(leaves[i] for i in at))
    return trees.tree_unflatten(outputs, shape)


class _Enclosed(ReverseOnly):
    """A function whose backward pass is taken without autocast, which would make its products coarse."""

    @staticmethod
    def forward(ctx: Any, run: Any, kind: str, *inputs: Any) -> Any:
        ctx.save_for_backward(*inputs)
        ctx.run, ctx.kind = run, kind
        ctx.inputs = [x.detach().requires_grad_() for x in inputs]
        with torch.enable_grad():
            ctx.outputs = run(*ctx.inputs)
        given = tuple(y.detach() for y in ctx.outputs)
        pairs = zip(given, ctx.outputs, strict=True)
        ctx.mark_non_differentiable(*(y for y, inner in pairs if not inner.requires_grad))
        return given

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        with torch.autocast(ctx.kind, enabled=False):
            if torch.is_grad_enabled():  # the caller wants to differentiate again
                inputs = ctx.saved_tensors
                outputs, given = _differentiable(ctx.run(*inputs), gradients)
                return None, None, *gradients_again(outputs, inputs, given)
            outputs, given = _differentiable(ctx.outputs, gradients)
            keep = torch._C._autograd._get_current_graph_task_keep_graph()
            found = torch.autograd.grad(outputs, ctx.inputs, given, allow_unused=True, retain_graph=keep)
        return None, None, *found


def _differentiable(outputs: Any, gradients: Any) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The outputs that have a gradient, and those gradients."""
    kept = [(y, g) for y, g in zip(outputs, gradients, strict=True) if y.requires_grad]
    return [y for y, _ in kept], [g for _, g in kept]
