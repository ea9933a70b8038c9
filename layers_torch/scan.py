"""The diagonal complex recurrence x_t = lam x_{t-1} + z_t, by every algorithm.

Algorithms work on planar arrays (see array.py) and return all states. The gradient is the same
for all of them: the adjoint of a linear recurrence is the recurrence with conj(lam), run
backwards, so it is computed by the same algorithm. |lam| may exceed 1: no algorithm divides by
a power of lam.

Shapes: B batch, L time, N complex states, P = 2N planar, K chunks, T steps of a chunk.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex, Float

from benchmark.spec.algorithms import CHUNK, SCANS, check_algorithm, chunks, fft_length
from benchmark.spec.checks import check_scan
from layers_torch import native
from layers_torch.array import Array, as_complex, common, device_kind, from_planar, planar, rounded_once, split, times

Planar = Float[torch.Tensor, "P"]
PlanarState = Float[torch.Tensor, "B P"]
PlanarStates = Float[torch.Tensor, "B L P"]


def scan(
    lam: Any, v: Any, state: Any = None, reverse: bool = False, algorithm: str = "auto"
) -> Complex[torch.Tensor, "B L N"]:
    """All states of x_t = lam x_{t-1} + v_t.

    Args:
        lam: the coefficients (N,), complex, any modulus; numpy's or the framework's array, as are the others.
        v: the inputs (batch, length, N), complex, at least one step.
        state: x before the first step (after the last, if reverse), (batch, N), complex; zero if None.
        reverse: run from the last step to the first.
        algorithm: auto, sequential, associative, chunked, fft or fused.

    Raises:
        UserError: for shapes that do not fit, or an unknown algorithm.
        Unsupported: for an algorithm that cannot serve here.
    """
    check_scan(np.shape(lam), np.shape(v), None if state is None else np.shape(state))
    _, (v, lam, *states) = common({}, as_complex(v), as_complex(lam), *([] if state is None else [as_complex(state)]))
    z = planar(v)
    start = planar(states[0]) if states else zero_state(z)
    return from_planar(planar_scan(planar(lam), z, start, reverse, choose(algorithm, device_kind(v))))


def choose(algorithm: str, device: str) -> str:
    """The algorithm to run: ``auto`` becomes the fastest sound one for the device's kind."""
    check_algorithm(algorithm, SCANS, "the scan")
    if algorithm == "fused":
        native.check_available(device)
    if algorithm != "auto":
        return algorithm
    if native.available(device):
        return "fused"
    return "chunked" if device == "cpu" else "associative"


def zero_state(z: PlanarStates) -> PlanarState:
    """The planar state of a sequence that starts from nothing."""
    return z.new_zeros(z.shape[0], z.shape[2])


def planar_scan(lam: Planar, z: PlanarStates, state: PlanarState, reverse: bool, algorithm: str) -> PlanarStates:
    """``scan`` on planar arrays by a named algorithm, with the reverse scan as its gradient."""
    return _Scan.apply(lam, z, state, reverse, algorithm)


def run(lam: Planar, z: PlanarStates, state: PlanarState, reverse: bool, algorithm: str) -> PlanarStates:
    """One algorithm, forwards or backwards in time, without a gradient."""
    if 0 in z.shape:  # which FFTs and compiled code need not know
        return z.clone()
    if algorithm == "fused":
        return native.scan(lam, z, state, reverse)
    if reverse:
        return ALGORITHMS[algorithm](lam, z.flip(1), state).flip(1)
    return ALGORITHMS[algorithm](lam, z, state)


class _Scan(native.ReverseOnly):
    """The scan and its adjoint, in the form that torch.func can transform too."""

    generate_vmap_rule = True

    @staticmethod
    def forward(lam: Any, z: Any, state: Any, reverse: bool, algorithm: str) -> torch.Tensor:
        return run(lam, z, state, reverse, algorithm)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        lam, _, state, ctx.reverse, ctx.algorithm = inputs
        ctx.save_for_backward(lam, state, output)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        lam, state, x = ctx.saved_tensors
        with torch.autocast(g.device.type, enabled=False):  # which would make sums over time coarse
            return *adjoint(lam, state, x, g, ctx.reverse, ctx.algorithm), None, None


def adjoint(
    lam: Planar, state: PlanarState, x: PlanarStates, g: PlanarStates, reverse: bool, algorithm: str
) -> tuple[Planar, PlanarStates, PlanarState]:
    """Gradients of lam, z and state from the gradient g of the states x; a scan again, so differentiable again."""
    lam_r, lam_i = split(lam)
    conj = torch.cat([lam_r, -lam_i])
    G = planar_scan(conj, g, torch.zeros_like(state), not reverse, algorithm)
    first = -1 if reverse else 0
    if algorithm == "fused" and not (G.is_cuda or torch.is_grad_enabled()):
        return native.correlate(G, x, state, reverse), G, times(conj, G[:, first])
    later, earlier = (G[:, :-1], x[:, 1:]) if reverse else (G[:, 1:], x[:, :-1])
    d_lam = correlate(later, earlier) + correlate(G[:, [first]], state[:, None])
    return d_lam, G, times(conj, G[:, first])


def correlate(G: PlanarStates, x: PlanarStates) -> Planar:
    """The sum over batch and time of G conj(x)."""
    (G_r, G_i), (x_r, x_i) = split(G), split(x)
    real = torch.einsum("bln,bln->n", G_r, x_r) + torch.einsum("bln,bln->n", G_i, x_i)
    imag = torch.einsum("bln,bln->n", G_i, x_r) - torch.einsum("bln,bln->n", G_r, x_i)
    return torch.cat([real, imag])


def powers(lam: Planar, count: int) -> Float[torch.Tensor, "count P"]:
    """lam^0 .. lam^(count - 1), by doubling: products of powers, so that no angle grows with time.

    In float64, then rounded to the dtype of lam.
    """

    def doubled(step: Array) -> tuple[Array]:
        lam_r, _ = split(step)
        result = torch.cat([torch.ones_like(lam_r), torch.zeros_like(lam_r)])[None]
        while result.shape[0] < count:
            result = torch.cat([result, times(step, result)])
            step = times(step, step)
        return (result[:count],)

    return rounded_once(doubled, lam)[0]


def absorb(lam: Planar, z: PlanarStates, state: PlanarState) -> PlanarStates:
    """Inputs of a scan from zero that equals the scan of z from ``state``."""
    return torch.cat([z[:, :1] + times(lam, state)[:, None], z[:, 1:]], 1)


def sequential(lam: Planar, z: PlanarStates, state: PlanarState) -> PlanarStates:
    """One step after the other: L steps of width B N."""
    lam_r, lam_i = split(lam)
    x = torch.empty_like(z)
    (z_r, z_i), (x_r, x_i) = split(z), split(x)
    r, i = split(state)
    for t in range(z.shape[1]):
        r, i = lam_r * r - lam_i * i + z_r[:, t], lam_r * i + lam_i * r + z_i[:, t]
        x_r[:, t], x_i[:, t] = r, i
    return x


def associative(lam: Planar, z: PlanarStates, state: PlanarState) -> PlanarStates:
    """The parallel scan over pairs (coefficient, value), as published for S5, LRU and RotRNN."""
    v = from_planar(absorb(lam, z, state))
    a = from_planar(lam).expand(1, v.shape[1], -1)
    return planar(pair_scan(a, v)[1])


def combine(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any]:
    """The associative operator: x -> a_l x + x_l, followed by x -> a_r x + x_r."""
    (a_l, x_l), (a_r, x_r) = left, right
    return a_r * a_l, a_r * x_l + x_r


def pair_scan(a: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """All prefixes of the pairs under ``combine`` along axis 1 (Blelloch 1990): 2 L combinations."""
    if a.shape[1] < 2:
        return a, x
    even, odd = (a[:, :-1:2], x[:, :-1:2]), (a[:, 1::2], x[:, 1::2])
    odds = pair_scan(*combine(even, odd))
    before = (a.shape[1] - 1) // 2
    evens = combine((odds[0][:, :before], odds[1][:, :before]), (a[:, 2::2], x[:, 2::2]))
    return _interleave(a, evens[0], odds[0]), _interleave(x, evens[1], odds[1])


def _interleave(values: torch.Tensor, evens: torch.Tensor, odds: torch.Tensor) -> torch.Tensor:
    """The first of ``values``, then odds and evens in turn, along axis 1."""
    result = torch.empty_like(values)
    result[:, 0], result[:, 2::2], result[:, 1::2] = values[:, 0], evens, odds
    return result


def chunked(lam: Planar, z: PlanarStates, state: PlanarState) -> PlanarStates:
    """Two levels: T wide steps through all chunks at once, then K steps over the chunks' ends.

    Each chunk is scanned from zero; then the state at its start, decayed by lam^(t+1), is added.
    """
    B, L, P = z.shape
    K, T = chunks(L, CHUNK)
    padded = torch.nn.functional.pad(z, (0, 0, 0, K * T - L))
    x = padded.reshape(B * K, T, P).transpose(0, 1).contiguous()
    previous = torch.zeros_like(x[0])
    for t in range(T):
        previous = add_product(x[t], lam, previous)
    decays = powers(lam, T + 1)
    starts = carry(decays[T], x[T - 1].view(B, K, P), state)
    add_product(x, decays[1:, None], starts.reshape(B * K, P))
    return x.transpose(0, 1).reshape(B, K * T, P)[:, :L]


def add_product(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Add a b to x, planar arrays, in the memory of x."""
    if torch._C._are_functorch_transforms_active():  # which cannot map addcmul_
        return x.add_(times(a, b))
    (x_r, x_i), (a_r, a_i), (b_r, b_i) = split(x), split(a), split(b)
    x_r.addcmul_(a_r, b_r).addcmul_(a_i, b_i, value=-1)
    x_i.addcmul_(a_r, b_i).addcmul_(a_i, b_r)
    return x


def carry(lam: Planar, ends: Float[torch.Tensor, "B K P"], state: PlanarState) -> Float[torch.Tensor, "B K P"]:
    """The state at the start of every chunk, from the chunks' ends as scanned from zero."""
    starts = [state]
    for k in range(ends.shape[1] - 1):
        starts.append(times(lam, starts[-1]) + ends[:, k])
    return torch.stack(starts, 1)


def fft(lam: Planar, z: PlanarStates, state: PlanarState) -> PlanarStates:
    """The convolution of the inputs with lam^t, by FFT over the whole sequence.

    The error of an FFT is relative to the largest state of a sequence. So that states which grow,
    |lam| > 1, do not drown the early ones, the recurrence of x_t / g^t is convolved, g = max(|lam|, 1).
    """
    L = z.shape[1]
    n = fft_length(L)
    lam_r, lam_i = split(lam)
    modulus = torch.clip(torch.sqrt(lam_r**2 + lam_i**2), min=1)
    g = torch.cat([modulus, modulus])
    growth = g ** torch.arange(L, device=lam.device)[:, None]
    v = from_planar(absorb(lam, z, state) / growth).transpose(1, 2)
    kernel = from_planar(powers(lam / g, L)).T
    x = torch.fft.ifft(torch.fft.fft(v, n) * torch.fft.fft(kernel, n))
    return planar(x[..., :L].transpose(1, 2)) * growth


Algorithm = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
ALGORITHMS: dict[str, Algorithm] = {
    "sequential": sequential,
    "associative": associative,
    "chunked": chunked,
    "fft": fft,
}
