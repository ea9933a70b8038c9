"""Signals through products of random matrices, and through a layer's own recurrence, step by step.

Shapes: S samples, L layers or 1, n width, p columns, T steps, B batch, H features, N complex states.
"""

from typing import Any

import numpy as np
import torch

from benchmark.spec import LayerSpec
from layers_torch.array import asarray, common, from_planar, project, read_in
from layers_torch.recurrence import coefficients
from layers_torch.scan import scan


def energies(W: Any, X: Any, depth: int) -> torch.Tensor:
    """The squared norms of the columns of W_depth ... W_1 X, as (S, p).

    Args:
        W: matrices (S, L, n, n), real or complex; numpy's, so that picking one compiles nothing. L is 1 for one
            matrix at every depth (recurrent), or at least ``depth`` for a new one at each (feedforward).
        X: what enters (n, p), numpy's, of the dtype of W.
        depth: how many products, from 0.
    """
    Y, W_1 = asarray(np.broadcast_to(X, (W.shape[0], *X.shape))), asarray(W[:, 0])
    for layer in range(depth):
        Y = (W_1 if W.shape[1] == 1 else asarray(W[:, layer])) @ Y
    return squared_norms(Y)


def driven_energies(W: Any, u: Any) -> torch.Tensor:
    """The squared norms of h_T for h_t = W h_{t-1} + u_t from h_0 = 0, as (S, p).

    Args:
        W: matrices (S, n, n), real or complex.
        u: inputs (S, T, n, p), numpy's, p sequences through each matrix, of the dtype of W.
    """
    W, h = asarray(W), asarray(u[:, 0])
    for t in range(1, u.shape[1]):
        h = W @ h + asarray(u[:, t])
    return squared_norms(h)


def squared_norms(Y: Any) -> torch.Tensor:
    """Of each column of (S, n, p), as (S, p)."""
    return (Y.real**2 + Y.imag**2).sum(-2) if Y.is_complex() else (Y**2).sum(-2)


def state_energies(spec: LayerSpec, params: Any, u: Any) -> torch.Tensor:
    """The squared norm of a layer's state after each step, as (B, T).

    Args:
        spec: which layer, and its sizes; of a bidirectional one the forward half.
        params: arrays named as in ``spec.param_shapes``.
        u: inputs (B, T, H).
    """
    given, (u,) = common(params, u)
    c = coefficients(spec, given)
    z = (u[..., None] * c.B).flatten(2) if spec.per_channel else from_planar(project(u, read_in(c.B)))
    if c.first_gain is not None:
        z = torch.cat([z[:, :1] * c.first_gain, z[:, 1:]], 1)
    x = scan(c.lam.reshape(-1), z)
    return (x.real**2 + x.imag**2).sum(-1)
