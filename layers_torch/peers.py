"""Public implementations of the same layers, for comparison: the extra ``peers``. There are none in JAX on PyPI.

Each is built with its own initial values; what it costs does not hang on them.
"""

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import torch

from benchmark.spec import Unsupported

NEEDS = {"s5-pytorch": "s5", "lru-pytorch": "LRU_pytorch", "accelerated-scan": "accelerated_scan.ref"}
"""Distribution, and the module it brings."""


def function_of(peer: str, d_model: int, states: int, direction: str) -> Callable[[Any, Any], Any]:
    """The peer's call on arrays u (B, L, H) and, for forward+backward, w.

    Args:
        peer: s5-pytorch, lru-pytorch, or accelerated-scan, whose reference scan is between our projections.
        d_model: features H.
        states: complex states.
        direction: forward or forward+backward.

    Raises:
        Unsupported: if the peer is not installed.
    """
    run, leaves = BUILDERS[peer](_module(peer), d_model, states)

    def call(params: Any, arrays: Any) -> Any:  # noqa: ARG001
        if direction == "forward":
            return run(arrays["u"])
        with torch.enable_grad():
            u = arrays["u"].detach().requires_grad_()
            y = run(u)
            return y.detach(), torch.autograd.grad(y, [u, *leaves], arrays["w"], allow_unused=True)

    return call


def _module(peer: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is deprecated in their code
            return importlib.import_module(NEEDS[peer])
    except ImportError as error:
        raise Unsupported(f"{peer} is not installed ({error}): pip install 'rotbench[peers]'") from None


def _s5(module: Any, d_model: int, states: int) -> Any:
    """Its state_width is the number of complex states that it scans."""
    layer = module.S5(d_model, states)
    return layer, list(layer.parameters())


def _lru(module: Any, d_model: int, states: int) -> Any:
    """One step after the other in Python, for each sequence of the batch."""
    layer = module.LRU(d_model, d_model, states)
    return layer, list(layer.parameters())


def _accelerated_scan(module: Any, d_model: int, states: int) -> Any:
    """Its reference scan in torch, on gates spread over time."""
    lam = torch.polar(torch.linspace(0.9, 0.999, states), torch.linspace(0, 3, states)).requires_grad_()
    W_in, W_out = (
        torch.full(shape, 0.01, requires_grad=True) for shape in ((d_model, 2 * states), (2 * states, d_model))
    )

    def run(u: torch.Tensor) -> torch.Tensor:
        if u.shape[1] < 2:
            raise Unsupported("accelerated-scan's reference scan takes two steps at least, got one")
        z = torch.complex(*(u @ W_in).mT.chunk(2, 1))
        x = module.scan(lam[:, None].expand(u.shape[0], -1, u.shape[1]).contiguous(), z.contiguous())
        return torch.cat([x.real, x.imag], 1).mT @ W_out

    return run, [lam, W_in, W_out]


BUILDERS = {"s5-pytorch": _s5, "lru-pytorch": _lru, "accelerated-scan": _accelerated_scan}
