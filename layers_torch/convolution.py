"""The per-channel recurrence as a convolution: y_t = sum_s K_{t-s} u_s, K_l = Re(sum_m w_m lam_m^l).

Only S4D has one input a channel, so only for it is the kernel small enough to be formed.

Shapes: B batch, L time, H channels, M modes of a channel, K chunks, T steps of a chunk.
"""

import math
from typing import Any

import torch
from jaxtyping import Complex, Float, Int

from benchmark.spec.algorithms import CHANNEL_CHUNK, chunks, fft_length
from layers_torch.array import from_planar, planar, split
from layers_torch.native import ReverseOnly, gradients_again
from layers_torch.scan import planar_scan, powers

GROUP_BYTES = 8 << 20
"""Of the sequences that are convolved at a time."""

Modes = Complex[torch.Tensor, "H M"]
States = Complex[torch.Tensor, "B H M"]
Signal = Float[torch.Tensor, "B L H"]


def mode_powers(lam: Modes, count: int) -> Complex[torch.Tensor, "count H M"]:
    """lam^0 .. lam^(count - 1)."""
    flat = from_planar(powers(planar(lam.reshape(-1)), count))
    return flat.reshape(count, *lam.shape)


def kernel(lam: Modes, w: Complex[torch.Tensor, "*batch H M"], length: int) -> Float[torch.Tensor, "*batch H L"]:
    """K_l for l < length, from two tables of about sqrt(length) powers instead of one of length."""
    K, T = chunks(length, math.isqrt(length - 1) + 1)
    fine = mode_powers(lam, T + 1).permute(1, 2, 0)
    coarse = mode_powers(fine[..., T], K).permute(1, 0, 2)
    weighted = planar(w[..., None, :] * coarse)
    table = torch.cat([fine[..., :T].real, -fine[..., :T].imag], 1)
    return (weighted @ table).flatten(-2)[..., :length]


def vandermonde_kernel(lam: Modes, w: Modes, length: int) -> Float[torch.Tensor, "H L"]:
    """K_l as published: exp(l log lam) for every channel, mode and step, held in memory at once."""
    steps = torch.arange(length, device=lam.device)
    tiny = torch.finfo(lam.real.dtype).tiny  # a decay that has underflowed has no logarithm
    table = torch.exp(torch.log(torch.where(lam == 0, tiny, lam))[..., None] * steps)
    return torch.einsum("hm,hml->hl", w, table).real


def both_ways(K: Float[torch.Tensor, "H L"], K2: Float[torch.Tensor, "H L"]) -> Float[torch.Tensor, "H n"]:
    """One circular kernel for ``convolve``: K_l at lag l, and K2_l at lag -(l + 1)."""
    H, L = K.shape
    return torch.cat([K, K.new_zeros(H, fft_length(L) - 2 * L + 1), K2[:, : L - 1].flip(1)], 1)


def convolve(u: Signal, K: Float[torch.Tensor, "H K"]) -> Signal:
    """The convolution of each channel by real FFT with its causal kernel (H, L), or with one that goes both ways."""
    if torch._C._are_functorch_transforms_active() or torch.compiler.is_compiling():
        return _convolve(u, K)
    made: torch.Tensor = _Convolve.apply(u, K)
    return made


def _convolve(u: torch.Tensor, K: torch.Tensor) -> torch.Tensor:
    """``convolve`` in operations that torch can trace."""
    L = u.shape[1]
    n = fft_length(L)
    return _from_spectrum(_spectrum(u, n) * torch.fft.rfft(K, n), n, L)


class _Convolve(ReverseOnly):
    """``convolve`` some sequences at a time, keeping no spectrum for the backward pass, which computes them anew."""

    @staticmethod
    def forward(ctx: Any, u: Any, K: Any) -> Any:
        ctx.save_for_backward(u, K)
        L, n = u.shape[1], fft_length(u.shape[1])
        K_f, y = torch.fft.rfft(K, n), torch.empty_like(u)
        for rows in _groups(u, n):
            y[rows] = _from_spectrum(_spectrum(u[rows], n).mul_(K_f), n, L)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (g,), (u, K) = gradients, ctx.saved_tensors
        if torch.is_grad_enabled():  # the caller wants to differentiate again
            return gradients_again(_convolve(u, K), (u, K), g)
        L, n = u.shape[1], fft_length(u.shape[1])
        K_f, du = torch.fft.rfft(K, n).conj().resolve_conj(), torch.empty_like(u)
        d_K = torch.zeros_like(K_f)
        for rows in _groups(u, n):
            G = _spectrum(g[rows], n)
            d_K += (G * _spectrum(u[rows], n).conj()).sum(0)
            du[rows] = _from_spectrum(G.mul_(K_f), n, L)
        return du, torch.fft.irfft(d_K, n)[:, : K.shape[1]]


def _groups(u: torch.Tensor, n: int) -> list[slice]:
    """Sequences at a time, so many that their spectra take some megabytes."""
    rows = max(1, GROUP_BYTES // (u.shape[2] * n * u.element_size()))
    return [slice(b, b + rows) for b in range(0, u.shape[0], rows)]


def _spectrum(u: torch.Tensor, n: int) -> torch.Tensor:
    return torch.fft.rfft(u.transpose(1, 2), n)


def _from_spectrum(spectrum: torch.Tensor, n: int, length: int) -> torch.Tensor:
    return torch.fft.irfft(spectrum, n)[..., :length].transpose(1, 2)


def state_response(lam: Modes, C: Modes, state: States, length: int) -> Signal:
    """What the state before the first step adds to the outputs: Re(C lam^(t+1) state)."""
    return kernel(lam, C * lam * state, length).transpose(1, 2)


def last_state(lam: Modes, B: Modes, u: Signal) -> States:
    """The state after the last step from zero before the first, without the states in between."""
    batch, L, H = u.shape
    K, T = chunks(L, CHANNEL_CHUNK)
    padded = torch.nn.functional.pad(u, (0, 0, K * T - L, 0))  # zeros before the first step change nothing
    ends = chunk_ends(lam, B, padded.reshape(batch, K, T, H))
    decay = planar(mode_powers(lam, T + 1)[T].reshape(-1))
    states = planar_scan(decay, ends, torch.zeros_like(ends[:, 0]), False, "sequential")
    return from_planar(states[:, -1]).reshape(batch, *lam.shape)


def chunk_ends(lam: Modes, B: Modes, u: Float[torch.Tensor, "B K T H"]) -> Float[torch.Tensor, "B K P"]:
    """Planar states at the end of each chunk, every chunk from zero: sum_t B lam^(T-1-t) u_t."""
    batch, K, T, H = u.shape
    weights = (B * mode_powers(lam, T)).flip(0).permute(1, 0, 2)
    return gather_modes(u.permute(3, 0, 1, 2).reshape(H, batch * K, T) @ planar(weights), batch)


def gather_modes(ends: Float[torch.Tensor, "H BK M2"], batch: int) -> Float[torch.Tensor, "B K P"]:
    """Planar modes of each channel to planar modes of all channels."""
    H, BK, P = ends.shape
    return ends.reshape(H, batch, BK // batch, 2, P // 2).permute(1, 2, 3, 0, 4).reshape(batch, BK // batch, H * P)


def scatter_modes(starts: Float[torch.Tensor, "B K P"], H: int) -> Float[torch.Tensor, "H BK M2"]:
    """The inverse of ``gather_modes``."""
    batch, K, P = starts.shape
    return starts.reshape(batch, K, 2, H, P // (2 * H)).permute(3, 0, 1, 2, 4).reshape(H, batch * K, P // H)


def chunked_convolve(lam: Modes, B: Modes, C: Modes, u: Signal, state: States | None) -> Signal:
    """A short convolution inside each chunk, and the recurrence from chunk to chunk.

    One matrix product a channel gives a chunk's own outputs and its end state; the scan over
    chunks gives the states at their starts; a second product adds what those starts read out.
    """
    batch, L, H = u.shape
    K, T = chunks(L, CHANNEL_CHUNK)
    padded = torch.nn.functional.pad(u, (0, 0, 0, K * T - L))
    u_HBT = padded.reshape(batch * K, T, H).permute(2, 0, 1)
    decays = mode_powers(lam, T + 1).permute(1, 0, 2)
    inside = toeplitz((C[:, None] * B[:, None] * decays[:, :T]).real.sum(-1))
    into_state = planar((B[:, None] * decays[:, :T]).flip(1))
    both = u_HBT @ torch.cat([inside, into_state], -1)
    ends = gather_modes(both[..., T:], batch)
    zero = torch.zeros_like(ends[:, 0])
    before = zero if state is None else planar(state.reshape(batch, -1))
    after = planar_scan(
        planar(decays[:, T].reshape(-1)), ends, before, False, "sequential" if u.device.type == "cpu" else "associative"
    )
    starts = scatter_modes(torch.cat([before[:, None], after[:, :-1]], 1), H)
    readout = C[:, None] * decays[:, 1:]
    y = both[..., :T] + starts @ torch.cat([readout.real, -readout.imag], -1).mT
    return y.permute(1, 2, 0).reshape(batch, K * T, H)[:, :L]


def toeplitz(k: Float[torch.Tensor, "H T"]) -> Float[torch.Tensor, "H T T"]:
    """The matrix whose entry (s, t) is k_{t-s} where t >= s, else 0."""
    T = k.shape[1]
    steps = torch.arange(T, device=k.device)
    lag = steps[None, :] - steps[:, None]
    return torch.where(lag >= 0, k[:, lag.clamp(min=0)], 0)


def decayed(lam: Modes, state: States, lengths: Int[torch.Tensor, "B"], longest: int) -> States:
    """The state after each sequence's own number of steps without input: lam^length state, by squaring."""
    square = lam
    for bit in range(longest.bit_length()):
        odd = ((lengths >> bit) & 1 == 1)[:, None, None]
        state = torch.where(odd, state * square, state)
        square = square * square
    return state


def scan_channels(lam: Modes, B: Modes, C: Modes, u: Signal, state: States | None, algorithm: str) -> Signal:
    """The recurrence of all channels and modes side by side, with every state in memory."""
    batch, L, _ = u.shape
    z = torch.cat([(part * u[..., None]).flatten(2) for part in (B.real, B.imag)], -1)
    start = torch.zeros_like(z[:, 0]) if state is None else planar(state.reshape(batch, -1))
    x = planar_scan(planar(lam.reshape(-1)), z, start, False, algorithm)
    x_r, x_i = (part.reshape(batch, L, *lam.shape) for part in split(x))
    return (C.real * x_r - C.imag * x_i).sum(-1)
