"""FLOPs and bytes of one call, by term, the same for both frameworks. Conventions: docs/costs.md.

A real addition or multiplication is 1, a complex addition 2, a complex multiplication 6, a real
times a complex number 2; a product of matrices (m, k) (k, n) is 2 m k n, as every multiplication
is followed by one addition into the result. An FFT of n complex numbers is 5 n log2 n, of n real
ones half of that. Exponentials, logarithms and square roots are not counted.

Names: B batch, L steps, H features, N complex states of a shared recurrence, M modes of a channel.
"""

import math
from typing import TYPE_CHECKING, Literal, get_args

from benchmark.spec.algorithms import (
    CHANNEL_CHUNK,
    CHUNK,
    SCANS,
    algorithms_of,
    check_algorithm,
    chunks,
    fft_length,
)
from benchmark.spec.errors import UserError, unknown

if TYPE_CHECKING:
    from benchmark.spec.base import LayerSpec

Terms = dict[str, int]
Direction = Literal["forward", "forward+backward", "step"]
DIRECTIONS: tuple[str, ...] = get_args(Direction)

MUL_ADD = 8  # one complex multiplication and one complex addition

_PRODUCTS = ("read-in", "read-out", "inside chunks", "chunk starts")
MACS = frozenset([*_PRODUCTS, *(f"{name}, backward" for name in _PRODUCTS), "P^T B, C P"])
"""Terms that are products of matrices and nothing else, so that their MACs are half of their FLOPs."""


def flops(spec: "LayerSpec", seq_len: int, batch: int, algorithm: str, direction: str) -> Terms:
    """FLOPs of one call by term; see LayerSpec.flops. ``auto`` has no formula: resolve it first.

    Raises:
        UserError: for an unknown algorithm or direction.
    """
    check_algorithm(algorithm, algorithms_of(spec), spec.name)
    if direction not in DIRECTIONS:
        raise unknown("direction", direction, DIRECTIONS)
    if direction == "step":
        return _step_terms(spec, batch)  # the same whatever the algorithm
    if algorithm == "auto":
        raise UserError("FLOPs are those of an algorithm; 'auto' names none: resolve it for the framework first")
    terms = dict(spec.coefficient_flops)
    make = _channel_terms if spec.per_channel else _shared_terms
    for name, (forward, backward) in make(spec, batch, seq_len, algorithm).items():
        terms[name] = forward
        if direction == "forward+backward":
            terms[f"{name}, backward"] = backward
    if direction == "forward+backward":
        terms["coefficients, backward"] = 2 * sum(spec.coefficient_flops.values())
    return {name: count for name, count in terms.items() if count}


def _directions(spec: "LayerSpec") -> int:
    return 2 if spec.bidirectional else 1


def _step_terms(spec: "LayerSpec", B: int) -> Terms:
    """One decoding step from a given state, with coefficients that were computed before."""
    H, N = spec.d_model, spec.modes
    if spec.per_channel:
        each = {"B u": 2 * B * H * N, "scan": MUL_ADD * B * H * N, "sum over modes": 4 * B * H * N}
    else:
        each = {"read-in": 4 * B * H * N, "scan": MUL_ADD * B * N, "read-out": 4 * B * N * H}
    return each | {"skip": 2 * B * H}


def _shared_terms(spec: "LayerSpec", B: int, L: int, algorithm: str) -> dict[str, tuple[int, int]]:
    """(forward, backward) of each part of a shared recurrence; the gradient of a product is two products."""
    H, N, d = spec.d_model, spec.modes, _directions(spec)
    product = 2 * B * L * H * 2 * N
    first_step = 2 * B * N * d if spec.scales_first_step else 0
    scan = d * scan_flops(algorithm, B, L, N)
    return {
        "read-in": (product, 2 * product),
        "first step": (first_step, 2 * first_step),
        "scan": (scan, scan + d * _adjoint_flops(B, L, N)),
        "read-out": (d * product, 2 * d * product),
        "halves added": ((d - 1) * B * L * H, (d - 1) * 2 * B * L * N),
        "skip": (2 * B * L * H, 4 * B * L * H),
    }


def scan_flops(algorithm: str, B: int, L: int, N: int) -> int:
    """One scan of N complex states over L steps for B sequences."""
    absorb = MUL_ADD * B * N
    match algorithm:
        case "sequential" | "fused":
            return MUL_ADD * B * L * N
        case "associative":
            return absorb + _pair_combinations(L) * (6 * N + MUL_ADD * B * N)
        case "chunked":
            K, T = chunks(L, CHUNK)
            return MUL_ADD * B * N * (2 * K * T + K - 1) + powers_flops(T + 1, N)
        case "fft":
            n = fft_length(L)
            transforms = (2 * B + 1) * N * _fft(n)
            modulus, growth = 3 * N + 2 * N, 2 * 2 * B * L * N  # g and lam / g; x / g^t and back
            return absorb + modulus + growth + powers_flops(L, N) + transforms + 6 * B * N * n
    raise unknown("algorithm", algorithm, SCANS)


def _adjoint_flops(B: int, L: int, N: int) -> int:
    """The gradient of lam, and that of the first state; the reverse scan itself is counted apart."""
    return MUL_ADD * B * L * N + 2 * N + 6 * B * N


def _pair_combinations(L: int) -> int:
    """Combinations of pairs that the recursive parallel scan makes over L elements: nearly 2 L."""
    return 0 if L < 2 else L // 2 + _pair_combinations(L // 2) + (L - 1) // 2


def powers_flops(count: int, N: int) -> int:
    """lam^0 .. lam^(count - 1) of N numbers by doubling."""
    total, have = 0, 1
    while have < count:
        total += 6 * N * (have + 1)
        have *= 2
    return total


def _fft(n: int) -> int:
    """One complex FFT of length n."""
    return round(5 * n * math.log2(n))


def _channel_terms(spec: "LayerSpec", B: int, L: int, algorithm: str) -> dict[str, tuple[int, int]]:
    """(forward, backward) of each part of a per-channel recurrence; scans of two directions share nothing but lam."""
    H, d = spec.d_model, _directions(spec)
    if algorithm in {"fft", "vandermonde"}:
        return _convolution_terms(spec, B, L, algorithm) | {"skip": (2 * B * L * H, 4 * B * L * H)}
    N = H * spec.modes
    if algorithm == "chunked":
        parts = _chunked_channel_terms(spec, B, L)
    elif algorithm == "fused":  # inputs are real, and B is part of C, whose gradient is that of both
        parts = {
            "C B": (6 * N, 12 * N),
            "scan": (7 * B * L * N, (8 + MUL_ADD) * B * L * N),
            "sum over modes": (4 * B * L * N, 7 * B * L * N),
        }
    else:
        scan = scan_flops(algorithm, B, L, N)
        parts = {
            "B u": (2 * B * L * N, 8 * B * L * N),
            "scan": (scan, scan + _adjoint_flops(B, L, N)),
            "sum over modes": (4 * B * L * N, 6 * B * L * N),
        }
    terms = {name: (d * forward, d * backward) for name, (forward, backward) in parts.items()}
    terms["skip"] = (2 * B * L * H + (d - 1) * B * L * H, 4 * B * L * H)
    return terms


def _convolution_terms(spec: "LayerSpec", B: int, L: int, algorithm: str) -> dict[str, tuple[int, int]]:
    """One convolution, whose kernel goes both ways if the layer does."""
    H, M, n, d = spec.d_model, spec.modes, fft_length(L), _directions(spec)
    bins = n // 2 + 1
    transforms = (2 * B + 1) * H * _fft(n) // 2
    if algorithm == "vandermonde":
        forward, backward = (2 + MUL_ADD) * H * M * L, (6 + MUL_ADD + 6 + 4) * H * M * L
    else:
        K, T = chunks(L, math.isqrt(L - 1) + 1)
        tables = powers_flops(T + 1, H * M) + powers_flops(K, H * M)
        forward = tables + 6 * H * K * M + 2 * H * K * 2 * M * T
        backward = 2 * forward
    return {
        "kernel": (d * (6 * H * M + forward), d * (12 * H * M + backward)),
        "FFT": (transforms, transforms),
        "spectrum": (6 * B * H * bins, 14 * B * H * bins),
    }


def _chunked_channel_terms(spec: "LayerSpec", B: int, L: int) -> dict[str, tuple[int, int]]:
    H, M = spec.d_model, spec.modes
    K, T = chunks(L, CHANNEL_CHUNK)
    tables = powers_flops(T + 1, H * M) + 6 * H * M + 3 * 6 * H * T * M + H * T * M
    inside = 2 * H * B * K * T * (T + 2 * M)
    scan = scan_flops("sequential", B, K, H * M)
    outside = 2 * H * B * K * 2 * M * T
    return {
        "tables": (tables, 2 * tables),
        "inside chunks": (inside, 2 * inside),
        "scan": (scan, scan + _adjoint_flops(B, K, H * M)),
        "chunk starts": (outside, 2 * outside),
        "both added": (B * K * T * H, 0),
    }


def traffic_bytes(spec: "LayerSpec", seq_len: int, batch: int, direction: str, itemsize: int) -> Terms:
    """Bytes that a call moves if every stage reads its arrays and writes its result once, by term.

    A shared recurrence has three stages: read-in, scan, read-out with skip. A per-channel one
    is a convolution: it reads inputs and kernel and writes outputs.

    Raises:
        UserError: for an unknown direction.
    """
    if direction not in DIRECTIONS:
        raise unknown("direction", direction, DIRECTIONS)
    steps = 1 if direction == "step" else seq_len
    d, signal = _directions(spec), batch * steps * spec.d_model
    states = 2 * batch * steps * spec.modes
    carried = batch * spec.real_state_size
    items = {"parameters": spec.param_count, "inputs": 2 * signal, "outputs": signal}
    if direction == "step":
        items["state"] = 2 * carried
    elif spec.per_channel:
        items["kernel"] = d * 2 * spec.d_model * steps
    else:
        items["states"] = states + d * 3 * states  # written by the read-in; read, written and read again
    if direction == "forward+backward":
        items |= {"parameters, backward": 2 * spec.param_count}
        if spec.per_channel:
            items |= {"signals, backward": 6 * signal, "kernel, backward": d * 3 * spec.d_model * steps}
        else:
            items |= {"signals, backward": (2 * d + 4) * signal, "states, backward": (6 * d + 2) * states}
    return {name: count * itemsize for name, count in items.items()}


def least_items(spec: "LayerSpec", seq_len: int, batch: int, direction: str) -> int:
    """Numbers that no algorithm does without: inputs, outputs, their gradients, and parameters."""
    signal = batch * (1 if direction == "step" else seq_len) * spec.d_model
    return spec.param_count + (4 if direction == "forward+backward" else 2) * signal


def resident_items(spec: "LayerSpec", seq_len: int, batch: int, direction: str) -> int:
    """Numbers that the arrays of a call hold at once, roughly: inputs, outputs, states, their gradients, parameters."""
    steps = 1 if direction == "step" else seq_len
    signal, states = batch * steps * spec.d_model, 2 * batch * steps * spec.modes
    per_pass = 3 * signal + (4 * signal if spec.per_channel else 2 * _directions(spec) * states)
    return spec.param_count + (2 * per_pass if direction == "forward+backward" else per_pass)
