"""The per-channel recurrence in compiled code, on a CPU (benchmark/spec/channels.hpp): no states in memory.

x_t = lam x_{t-1} + u_t and y_t = sum_m Re(w_m x_t), with w = C B. Each step of each mode costs a few
operations in registers, so that time and memory are linear in the length.

Shapes: B batch, L time, H channels, M modes of a channel, K chunks of ``KEPT_STEPS``.
"""

from typing import Any

import torch
from jaxtyping import Complex, Float

from benchmark.spec import LayerSpec, Unsupported, native
from benchmark.spec.algorithms import has_few_modes
from layers_torch.convolution import convolve, kernel
from layers_torch.native import NAMES, ReverseOnly, available, check_available, gradients_again

Modes = Complex[torch.Tensor, "H M"]
Signal = Float[torch.Tensor, "B L H"]


def choose(spec: LayerSpec, algorithm: str, device: str, seq_len: int | None) -> str:
    """The algorithm to run: ``auto`` becomes the fastest sound one for the layer, the length and the device's kind."""
    if algorithm == "fused":
        if device != "cpu":
            raise Unsupported(f"algorithm fused of {spec.name} runs on cpu, not on {device}; take fft")
        check_available(device)
    if algorithm != "auto":
        return algorithm
    return "fused" if device == "cpu" and has_few_modes(spec.modes, seq_len) and available(device) else "fft"


def run(lam: Modes, w: Modes, u: Signal, reverse: bool) -> Signal:
    """All outputs, forwards or backwards in time, from zero states."""
    inputs = [planes(lam), planes(w), u.contiguous()]
    keep = torch.is_grad_enabled() and any(x.requires_grad for x in inputs)
    made: torch.Tensor = _Channels.apply(*inputs, reverse, keep)
    return made


def planes(x: Modes) -> Float[torch.Tensor, "2 M H"]:
    """Real and imaginary parts, channels side by side."""
    return torch.stack([x.real.mT, x.imag.mT])


class _Channels(ReverseOnly):
    """``run`` with its gradient, from the states before each chunk."""

    @staticmethod
    def forward(ctx: Any, lam: Any, w: Any, u: Any, reverse: bool, keep: bool) -> Any:
        B, L, _ = u.shape
        ctx.reverse = reverse
        edges = u.new_empty(B, -(-L // native.KEPT_STEPS), *lam.shape) if keep else None
        ctx.save_for_backward(lam, w, u, edges)
        y = torch.empty_like(u)
        _call("channels", u, lam, w, u, y, edges, reverse=reverse)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (g,), (lam, w, u, edges) = gradients, ctx.saved_tensors
        if torch.is_grad_enabled():  # the caller wants to differentiate again
            return *gradients_again(_plain(lam, w, u, ctx.reverse), (lam, w, u), g), None, None
        du = torch.empty_like(u)
        d_lam, d_w = torch.zeros(2, u.shape[0], *lam.shape, dtype=torch.float64)
        _call("channel_gradients", u, lam, w, u, g.contiguous(), edges, du, d_lam, d_w, reverse=ctx.reverse)
        return d_lam.sum(0).to(u.dtype), d_w.sum(0).to(u.dtype), du, None, None


def _call(name: str, u: torch.Tensor, *arrays: torch.Tensor | None, reverse: bool) -> None:
    function = getattr(native.library(), f"rotbench_{name}_{NAMES[u.dtype]}")
    M = arrays[0].shape[1] if arrays[0] is not None else 0
    pointers = (None if array is None else array.data_ptr() for array in arrays)
    function(*pointers, *u.shape, M, reverse, torch.get_num_threads())


def _plain(lam: torch.Tensor, w: torch.Tensor, u: torch.Tensor, reverse: bool) -> torch.Tensor:
    """The same in operations that torch can differentiate again."""
    lam, w = (torch.complex(x[0].mT, x[1].mT) for x in (lam, w))
    K = kernel(lam, w, u.shape[1])
    return convolve(u.flip(1), K).flip(1) if reverse else convolve(u, K)
