"""What can be measured: a layer, and beside it its two projections alone and its bare scan.

The projections are the floor that no implementation of a shared recurrence gets under.
"""

from collections.abc import Callable
from typing import Any

import torch

from benchmark.spec import LayerSpec
from layers_torch.array import project
from layers_torch.recurrence import apply, step, vjp
from layers_torch.scan import choose, planar_scan, zero_state

Call = Callable[[Any, Any], Any]


def function_of(subject: str, spec: LayerSpec, direction: str, algorithm: str) -> Call:
    """The function of parameters and arrays that is measured.

    Args:
        subject: layer, projections or scan.
        spec: which layer, and its sizes.
        direction: forward, forward+backward, or for a layer step.
        algorithm: of the recurrence.
    """
    if subject == "layer":
        return layer(spec, direction, algorithm)
    return {"projections": projections, "scan": scan}[subject](direction, algorithm)


def layer(spec: LayerSpec, direction: str, algorithm: str) -> Call:
    """The layer; arrays u, and w for forward+backward or state for step."""
    match direction:
        case "forward":
            return lambda params, arrays: apply(spec, params, arrays["u"], algorithm=algorithm)
        case "forward+backward":
            return lambda params, arrays: vjp(spec, params, arrays["u"], arrays["w"], algorithm=algorithm)
    return lambda params, arrays: step(spec, params, arrays["u"], arrays["state"])


def projections(direction: str, algorithm: str) -> Call:  # noqa: ARG001
    """Read-in and read-out by W_in (H, P) and W_out (P, H) with nothing between them; arrays u, W_in, W_out, and w."""

    def forward(u: Any, W_in: Any, W_out: Any) -> Any:
        return project(project(u, W_in), W_out)

    return _with_direction(forward, ("u", "W_in", "W_out"), direction)


def scan(direction: str, algorithm: str) -> Call:
    """The bare scan of planar arrays; arrays lam (P,), z (B, L, P), and w."""

    def forward(lam: Any, z: Any) -> Any:
        return planar_scan(lam, z, zero_state(z), False, choose(algorithm, z.device.type))

    return _with_direction(forward, ("lam", "z"), direction)


def _with_direction(forward: Any, names: tuple[str, ...], direction: str) -> Call:
    def call(params: Any, arrays: Any) -> Any:  # noqa: ARG001
        given = [arrays[name] for name in names]
        if direction == "forward":
            return forward(*given)
        given = [x.detach().requires_grad_() for x in given]
        with torch.enable_grad():
            y = forward(*given)
            return y.detach(), torch.autograd.grad(y, given, arrays["w"])

    return call
