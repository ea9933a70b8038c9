"""What a call's arguments must fulfil, checked once for both frameworks. All raise UserError."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchmark.spec.errors import UserError

if TYPE_CHECKING:
    from benchmark.spec.base import LayerSpec

Shape = tuple[int, ...]


def check_params(spec: "LayerSpec", given: Mapping[str, Shape]) -> None:
    """Parameters have just the spec's names and shapes."""
    expected = spec.param_shapes
    if dict(given) != expected:
        wrong = [f"{k} is {given.get(k, 'missing')}, must be {v}" for k, v in expected.items() if given.get(k) != v]
        wrong += [f"{k} is not a parameter" for k in given if k not in expected]
        raise UserError(f"{spec.name}: parameters must fit the spec: {'; '.join(wrong)}")


def check_call(spec: "LayerSpec", u: Shape, state: Shape | None, carried: bool) -> None:
    """Inputs are (batch, length, d_model), the state is (batch, *state_shape); ``carried`` if one goes in or out."""
    if len(u) != 3 or u[1] < 1 or u[2] != spec.d_model:
        raise UserError(f"{spec.name}: inputs must be (batch, length >= 1, d_model = {spec.d_model}), got {u}")
    if spec.bidirectional and carried:
        raise UserError(f"{spec.name}: a bidirectional layer has no carried state: use bidirectional=False")
    expected = (u[0], *spec.state_shape)
    if state is not None and state != expected:
        raise UserError(f"{spec.name}: the state must have shape {expected}, got {state}")


def check_step(spec: "LayerSpec", u: Shape, state: Shape | None) -> None:
    """The inputs of one step are (batch, d_model)."""
    if len(u) != 2:
        raise UserError(f"{spec.name}: the inputs of a step must be (batch, d_model = {spec.d_model}), got {u}")
    check_call(spec, (u[0], 1, u[1]), state, carried=True)


def check_same(spec: "LayerSpec", name: str, given: Shape, expected: Shape) -> None:
    """An argument has the shape of the inputs."""
    if given != expected:
        raise UserError(f"{spec.name}: {name} must have the shape of the inputs {expected}, got {given}")


def check_real(owner: str, name: str, is_complex: bool) -> None:
    """An argument is real."""
    if is_complex:
        raise UserError(f"{owner}: {name} must be real, got complex values")


def check_lengths(lengths: np.ndarray | None, batch: int, length: int) -> None:
    """Lengths are integers from 1 to the length, one a sequence; None is a value that cannot be looked at now."""
    if lengths is None:
        return
    if lengths.dtype.kind not in "iu" or lengths.shape != (batch,) or not ((lengths >= 1) & (lengths <= length)).all():
        raise UserError(f"lengths must be {batch} integers from 1 to {length}, got {lengths.tolist()}")


def check_scan(lam: Shape, v: Shape, state: Shape | None) -> None:
    """A scan's arguments fit: lam (N,), v (batch, length, N), state (batch, N)."""
    if len(v) != 3 or v[1] < 1 or lam != v[2:] or state not in (None, (v[0], v[2])):
        raise UserError(
            f"scan: lam (N,), v (batch, length >= 1, N) and state (batch, N) must fit, got {lam}, {v} and {state}"
        )


def check_tokens(tokens: np.ndarray | None, vocabulary: int) -> None:
    """Tokens are integers from 0 to the vocabulary's size; None is a value that cannot be looked at now."""
    if tokens is not None and tokens.size and not (tokens.min() >= 0 and tokens.max() < vocabulary):
        raise UserError(f"model: tokens must lie between 0 and {vocabulary - 1}, got {tokens.min()} to {tokens.max()}")


def check_pairs(batch: int) -> None:
    """A batch of document pairs is even."""
    if batch % 2:
        raise UserError(f"model: retrieval needs an even batch, first documents then second ones, got {batch}")
