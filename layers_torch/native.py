"""The recurrence in compiled code, on a CPU (benchmark/spec/scan.hpp) a whole layer in pieces that stay in the caches.

A half of a layer is read-in, scan and read-out, taken piece by piece. Up to ``KEPT_BYTES`` its states
are kept for the backward pass; beyond, they are never all in memory, and the backward pass computes
them anew from the states between pieces.

Shapes: B batch, L time, H features, P = 2N planar states.
"""

from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from jaxtyping import Float

from benchmark.spec import Unsupported, native
from benchmark.spec.algorithms import chunks
from layers_torch.array import planar, project, read_in, read_out, times

PIECE = 1024
"""Steps of a piece for each thread, of one sequence or of several short ones."""

MOST_THREADS = 8
"""For which a piece grows: beyond, its states would take too much memory."""

WORTH_A_THREAD = 1 << 19
"""Steps of one state. Threads of the products before still spin, and would share their processors with ours."""

KEPT_BYTES = 64 << 20
"""Of states that are kept; computing them anew costs a seventh of a layer's forward and backward pass."""

NAMES = {torch.float32: "f32", torch.float64: "f64"}


def available(device: str) -> bool:
    """Whether the compiled calls serve this kind of device, and nothing traces or transforms what would call them."""
    if device not in {"cpu", "cuda"} or transformed():
        return False
    return native.library() is not None if device == "cpu" else find_spec("triton") is not None


def check_available(device: str) -> None:
    """Raise Unsupported, with the reason, where the compiled calls cannot serve."""
    if device not in {"cpu", "cuda"}:
        raise Unsupported(f"algorithm fused runs on cpu and cuda, not on {device}; take associative")
    if device == "cuda" and find_spec("triton") is None:
        raise Unsupported("algorithm fused needs triton on cuda, which is not installed; take associative")
    if transformed():
        raise Unsupported("algorithm fused cannot be traced or transformed; take chunked")
    if device == "cpu" and native.library() is None:
        raise Unsupported(f"algorithm fused is not here: {native.build(native.SOURCE).reason}; take chunked")


def transformed() -> bool:
    """Whether torch.func or torch.compile looks at what is called."""
    return torch._C._are_functorch_transforms_active() or torch.compiler.is_compiling()


def state() -> str:
    """Whether the compiled calls are here, in words."""
    return native.build(native.SOURCE).reason


def scan(
    lam: Float[torch.Tensor, "P"], z: Float[torch.Tensor, "B L P"], state: Float[torch.Tensor, "B P"], reverse: bool
) -> Float[torch.Tensor, "B L P"]:
    """All states, forwards or backwards in time, without a gradient."""
    if z.is_cuda:
        from layers_torch import triton_kernels  # which needs a GPU to be of use

        with torch.cuda.device(z.device):
            return triton_kernels.scan(lam, z, state, reverse)
    z = z.contiguous()
    x, carry = torch.empty_like(z), state.clone(memory_format=torch.contiguous_format)
    _scan(lam.contiguous(), z, x, carry, reverse)
    return x


def _scan(lam: torch.Tensor, z: torch.Tensor, x: torch.Tensor, carry: torch.Tensor, reverse: bool) -> None:
    """From z to x, which may be one, and ``carry`` from the state before to that after."""
    _call("scan", z, lam, z, x, carry, reverse=reverse)


def _correlate(G: torch.Tensor, x: torch.Tensor, before: torch.Tensor, total: torch.Tensor, reverse: bool) -> None:
    """Add to ``total``, float64, the sum over time of G_t conj(x_{t-1})."""
    _call("correlate", G, G, x, before, total, reverse=reverse)


def _call(name: str, like: torch.Tensor, *arrays: torch.Tensor, reverse: bool) -> None:
    B, L, P = like.shape
    threads = max(1, min(torch.get_num_threads(), B * L * P // 2 // WORTH_A_THREAD))
    function = getattr(native.library(), f"rotbench_{name}_{NAMES[like.dtype]}")
    function(*(array.data_ptr() for array in arrays), B, L, P // 2, reverse, threads)


def correlate(
    G: Float[torch.Tensor, "B L P"], x: Float[torch.Tensor, "B L P"], before: Float[torch.Tensor, "B P"], reverse: bool
) -> Float[torch.Tensor, "P"]:
    """On a CPU the sum over batch and time of G_t conj(x_{t-1}), ``before`` preceding the first x; no gradient."""
    total = torch.zeros(before.shape, dtype=torch.float64)
    _correlate(G.contiguous(), x.contiguous(), before.contiguous(), total, reverse)
    return total.sum(0).to(G.dtype)


class ReverseOnly(torch.autograd.Function):
    """A function that has a gradient, and no derivative in forward mode."""

    @staticmethod
    def jvp(*_: Any) -> Any:
        """Refuse. Raises Unsupported."""
        raise Unsupported("this algorithm has no forward-mode derivatives; take backward, autograd.grad or func.vjp")


class Piece(NamedTuple):
    """Some steps of some sequences: whole short ones, or a part of one."""

    rows: slice
    steps: slice
    is_first: bool
    is_last: bool
    edge: int
    """Which of the states between pieces is the one before this piece."""


def piece_steps() -> int:
    """Most steps of a piece, such that each thread of a product has the same share whatever their number."""
    return PIECE * min(torch.get_num_threads(), MOST_THREADS)


def pieces(batch: int, length: int, size: int, reverse: bool) -> list[Piece]:
    """All pieces of a batch of at most ``size`` steps, those of one sequence in the order of the recurrence."""
    rows = max(1, size // length)
    count, steps = chunks(length, size)
    order = range(count - 1, -1, -1) if reverse else range(count)
    return [
        Piece(slice(b, b + rows), slice(k * steps, (k + 1) * steps), edge == 0, edge == count - 1, edge)
        for b in range(0, batch, rows)
        for edge, k in enumerate(order)
    ]


def streams(u: torch.Tensor, lengths: Any, return_state: bool, first_gain: Any) -> bool:
    """Whether ``shared`` serves a call: not in mixed precision, nor where something happens at each sequence's end."""
    if u.is_cuda or u.dtype not in NAMES:
        return False
    return lengths is None or not (return_state or first_gain is not None)


def shared(c: Any, u: torch.Tensor, state: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """A shared layer with coefficients ``c``: outputs (B, L, H) with the skip, and the last planar state."""
    lam, W_in = planar(c.lam), read_in(c.B)
    y, last = half(u, W_in, read_out(c.C), c.D, lam, _start(c, u[:, 0], W_in, lam, state), False)
    if c.C2 is not None:
        start = _start(c, u[:, -1], W_in, lam, None)
        y = y + half(u, W_in, read_out(c.C2), torch.zeros_like(c.D), lam, start, True)[0]
    return y, last


def _start(c: Any, u: torch.Tensor, W_in: torch.Tensor, lam: torch.Tensor, state: Any) -> torch.Tensor:
    """What the state before a half, or the gain where there is none, adds to the half's first input."""
    if state is not None:
        return times(lam, planar(state))
    if c.first_gain is None:
        return u.new_zeros(u.shape[0], lam.shape[0])
    return project(u, W_in) * (torch.cat([c.first_gain, c.first_gain]) - 1)


def half(
    u: torch.Tensor,
    W_in: torch.Tensor,
    W_out: torch.Tensor,
    D: torch.Tensor,
    lam: torch.Tensor,
    start: torch.Tensor,
    reverse: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One direction of a layer: Re(C x) + D u with x the states, and the last state.

    Args:
        u: inputs (B, L, H).
        W_in: read-in (H, P).
        W_out: read-out (P, H).
        D: skip (H,).
        lam: planar coefficients (P,).
        start: what is added to the first step's input, (B, P): lam times the state before it, for one.
        reverse: from the last step to the first.
    """
    inputs = [x.contiguous() for x in (u, W_in, W_out, D, lam, start)]
    keep = torch.is_grad_enabled() and any(x.requires_grad for x in inputs)
    keep = keep and u.shape[0] * u.shape[1] * lam.shape[0] * u.element_size() <= KEPT_BYTES
    made: tuple[torch.Tensor, torch.Tensor] = _Half.apply(*inputs, reverse, keep)
    return made


class _Half(ReverseOnly):
    """``half`` with its gradient."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        u, W_in, W_out, D, lam, start, ctx.reverse, keep = inputs
        B, L, _ = u.shape
        ctx.size = min(piece_steps(), B * L)
        y, last = torch.empty_like(u), torch.zeros_like(start)
        edges = u.new_empty(chunks(L, ctx.size)[0], *start.shape)
        x = _Buffers(u, W_in, ctx.size, keep)
        for piece in pieces(B, L, ctx.size, ctx.reverse):
            carry = last[piece.rows]
            edges[piece.edge, piece.rows] = carry
            states = x.states(piece, W_in, start, lam, carry, ctx.reverse)
            u_p, y_p = flat(u, piece), flat(y, piece)
            torch.mm(states.flatten(0, 1), W_out, out=y_p)
            y_p.addcmul_(u_p, D)
        ctx.save_for_backward(u, W_in, W_out, D, lam, start, edges, x.memory if keep else None)
        return y, last

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        *inputs, edges, kept = ctx.saved_tensors
        if torch.is_grad_enabled():  # the caller wants to differentiate again
            return *_differentiable(inputs, gradients, ctx.reverse), None, None
        return *_gradients(inputs, edges, kept, gradients, ctx.size, ctx.reverse), None, None


class _Buffers:
    """Memory for states: of all steps if they are kept, else of one piece, used over and over."""

    def __init__(self, u: torch.Tensor, W_in: torch.Tensor, size: int, kept: bool) -> None:
        self.u, self.kept = u, kept
        room = u.shape[:2] if kept else (size,)
        self.memory = u.new_empty(*room, W_in.shape[1])

    def array(self, piece: Piece) -> torch.Tensor:
        """Room for the piece's states (rows, steps, P)."""
        if self.kept:
            return self.memory[piece.rows, piece.steps]
        rows, steps, _ = self.u[piece.rows, piece.steps].shape
        return self.memory[: rows * steps].view(rows, steps, -1)

    def states(
        self, piece: Piece, W_in: torch.Tensor, start: torch.Tensor, lam: torch.Tensor, carry: torch.Tensor, rev: bool
    ) -> torch.Tensor:
        """The piece's states from its inputs; ``carry`` becomes the state after it."""
        z = self.array(piece)
        torch.mm(flat(self.u, piece), W_in, out=z.view(-1, z.shape[-1]))
        if piece.is_first:
            z[:, -1 if rev else 0] += start[piece.rows]
        _scan(lam, z, z, carry, rev)
        return z


def flat(x: torch.Tensor, piece: Piece) -> torch.Tensor:
    """The piece of a (B, L, H) array as a matrix, in place."""
    return x[piece.rows, piece.steps].view(-1, x.shape[-1])


def _gradients(
    inputs: Any, edges: torch.Tensor, kept: Any, gradients: Any, size: int, reverse: bool
) -> tuple[torch.Tensor, ...]:
    """Of u, W_in, W_out, D, lam and start; ``kept`` is None or all states, ``size`` that of the forward pieces."""
    u, W_in, W_out, D, lam, start = inputs
    gy, g_last = gradients[0].contiguous(), gradients[1]
    N = lam.shape[0] // 2
    conj = torch.cat([lam[:N], -lam[N:]])
    W_in_T, W_out_T = W_in.mT.contiguous(), W_out.mT.contiguous()
    du, d_in, d_out = torch.empty_like(u), torch.zeros_like(W_in), torch.zeros_like(W_out)
    dD = u.new_zeros(size, u.shape[2])  # by step of a piece, summed at the end
    d_start, adjoint = torch.zeros_like(start), torch.zeros_like(start)
    d_lam = torch.zeros(start.shape, dtype=torch.float64)
    x, G = None if kept is not None else _Buffers(u, W_in, size, False), _Buffers(u, W_in, size, False)
    for piece in reversed(pieces(u.shape[0], u.shape[1], size, reverse)):
        u_p, gy_p, du_p = flat(u, piece), flat(gy, piece), flat(du, piece)
        before = edges[piece.edge, piece.rows]
        states = (
            kept[piece.rows, piece.steps] if x is None else x.states(piece, W_in, start, lam, before.clone(), reverse)
        )
        g = G.array(piece)
        g_p = g.view(-1, 2 * N)
        torch.mm(gy_p, W_out_T, out=g_p)
        if piece.is_last:
            g[:, 0 if reverse else -1] += g_last[piece.rows]
        _scan(conj, g, g, adjoint[piece.rows], not reverse)
        _correlate(g, states, before, d_lam[piece.rows], reverse)
        if piece.is_first:
            d_start[piece.rows] = g[:, -1 if reverse else 0]
        d_out.addmm_(states.view(-1, 2 * N).mT, gy_p)
        d_in.addmm_(u_p.mT, g_p)
        torch.mm(g_p, W_in_T, out=du_p)
        du_p.addcmul_(gy_p, D)
        dD[: len(u_p)].addcmul_(gy_p, u_p)
    return du, d_in, d_out, dD.sum(0), d_lam.sum(0).to(lam.dtype), d_start


def _differentiable(inputs: Any, gradients: Any, reverse: bool) -> tuple[torch.Tensor | None, ...]:
    """The same in operations that torch can differentiate again."""
    from layers_torch.scan import planar_scan  # which calls this module

    u, W_in, W_out, D, lam, start = inputs
    z = project(u, W_in)
    added = torch.zeros_like(z[:, :1]) + start[:, None]
    z = torch.cat([z[:, :-1], z[:, -1:] + added] if reverse else [z[:, :1] + added, z[:, 1:]], 1)
    x = planar_scan(lam, z, torch.zeros_like(start), reverse, "chunked")
    outputs = (project(x, W_out) + D * u, x[:, 0 if reverse else -1])
    return gradients_again(outputs, inputs, gradients)


def gradients_again(outputs: Any, inputs: Any, gradients: Any) -> tuple[torch.Tensor | None, ...]:
    """Gradients that can be differentiated again, None for inputs that ask for none."""
    wanted = [x for x in inputs if x.requires_grad]
    found = iter(torch.autograd.grad(outputs, wanted, gradients, create_graph=True, allow_unused=True))
    return tuple(next(found) if x.requires_grad else None for x in inputs)
