"""The recurrence on a GPU: Triton kernels, imported only where there is one. Not yet measured on a GPU.

The sequence is cut into chunks that are scanned side by side, each channel's coefficient and state
in registers. Chunks are first scanned from zero for their ends alone; the ends are carried from
chunk to chunk; then every chunk is scanned from its true start, and only then are states written.
So the inputs are read twice and the states written once. Sums are in float32 for inputs of 16 bits.

Tests run them on a CPU by Triton's interpreter (TRITON_INTERPRET=1).
"""

import torch
import triton
import triton.language as tl

CHUNK = 64
"""Steps of a chunk: short enough for many programs, long enough that carrying is little of the work."""

BLOCK = 64
"""Most channels of a program."""


@triton.jit
def _scan_kernel(
    z, lam, starts, out, L, N, K, T: tl.constexpr, BLOCK: tl.constexpr, REVERSE: tl.constexpr, ENDS: tl.constexpr
):  # fmt: skip
    """One chunk of one block of channels: its states from its start, or with ENDS its end from zero."""
    chunk = tl.program_id(0)  # of all sequences: only this axis of a grid may be longer than 65,535
    b, k = (chunk // K).to(tl.int64), chunk % K
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    here = n < N
    a_r, a_i = tl.load(lam + n, here, 0.0), tl.load(lam + N + n, here, 0.0)
    edge = (b * K + k) * 2 * N + n
    h_r, h_i = a_r * 0, a_r * 0
    if not ENDS:
        h_r, h_i = tl.load(starts + edge, here, 0.0), tl.load(starts + edge + N, here, 0.0)
    for t in range(T):
        step = k * T + t
        row = (L - 1 - step) if REVERSE else step
        at = (b * L + row) * 2 * N + n
        inside = here & (n * 0 + step < L)  # a comparison of blocks: the interpreter takes no scalar mask
        z_r = tl.load(z + at, inside, 0.0).to(a_r.dtype)
        z_i = tl.load(z + at + N, inside, 0.0).to(a_r.dtype)
        r = a_r * h_r - a_i * h_i + z_r
        h_i = a_r * h_i + a_i * h_r + z_i
        h_r = r
        if not ENDS:
            tl.store(out + at, h_r.to(out.dtype.element_ty), inside)
            tl.store(out + at + N, h_i.to(out.dtype.element_ty), inside)
    if ENDS:
        tl.store(out + edge, h_r, here)
        tl.store(out + edge + N, h_i, here)


@triton.jit
def _carry_kernel(ends, decay, state, starts, N, K, BLOCK: tl.constexpr):
    """The state at the start of every chunk; ``decay`` is lam to the length of a chunk."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    here = n < N
    a_r, a_i = tl.load(decay + n, here, 0.0), tl.load(decay + N + n, here, 0.0)
    h_r, h_i = tl.load(state + b * 2 * N + n, here, 0.0), tl.load(state + b * 2 * N + N + n, here, 0.0)
    for k in range(K):
        at = (b * K + k) * 2 * N + n
        tl.store(starts + at, h_r, here)
        tl.store(starts + at + N, h_i, here)
        r = a_r * h_r - a_i * h_i + tl.load(ends + at, here, 0.0)
        h_i = a_r * h_i + a_i * h_r + tl.load(ends + at + N, here, 0.0)
        h_r = r


def scan(lam: torch.Tensor, z: torch.Tensor, state: torch.Tensor, reverse: bool) -> torch.Tensor:
    """All states of planar inputs, forwards or backwards in time, without a gradient.

    Args:
        lam: planar coefficients (P,), float32 or float64.
        z: planar inputs (B, L, P), of lam's dtype or of 16 bits; the states come in the same.
        state: planar state before the first step, (B, P).
        reverse: from the last step to the first.
    """
    from layers_torch.scan import powers  # which calls this module

    if not z.numel():
        return torch.empty_like(z)
    B, L, P = z.shape
    N, K = P // 2, triton.cdiv(L, CHUNK)
    block = min(BLOCK, triton.next_power_of_2(N))
    z, lam, x = z.contiguous(), lam.contiguous(), torch.empty_like(z, memory_format=torch.contiguous_format)
    starts = state.to(lam.dtype).reshape(B, 1, P).contiguous()
    grid = (B * K, triton.cdiv(N, block))
    if K > 1:
        ends, before = lam.new_empty(B, K, P), starts
        starts = torch.empty_like(ends)
        _scan_kernel[grid](z, lam, before, ends, L, N, K, CHUNK, block, reverse, True)
        decay = powers(lam, CHUNK + 1)[CHUNK].contiguous()
        _carry_kernel[(B, grid[1])](ends, decay, before, starts, N, K, block)
    _scan_kernel[grid](z, lam, starts, x, L, N, K, CHUNK, block, reverse, False)
    return x
