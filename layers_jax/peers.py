"""The form in which shared recurrences were published in JAX, for comparison with ours.

LRU, S5 and RotRNN come with ``jax.lax.associative_scan`` over (lam, B u) pairs spread over time, one sequence at a
time under ``vmap``, differentiated by jax: Orvieto et al. (2023), appendix A; Smith et al. (2023), section 3.3. None
of them is on PyPI. Coefficients are ours, so that only the recurrence differs.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmark.spec import LayerSpec, Unsupported
from layers_jax.recurrence import coefficients

PUBLISHED = "published"


def function_of(spec: LayerSpec, direction: str) -> Callable[[Any, Any], Any]:
    """The published form of a layer, on its parameters and arrays u (B, L, H) and, for forward+backward, w.

    Args:
        spec: which layer, and its sizes: a shared recurrence of one direction.
        direction: forward or forward+backward.

    Raises:
        Unsupported: for a per-channel or a bidirectional layer.
    """
    if spec.per_channel or spec.bidirectional:
        raise Unsupported(f"the published scan is that of a shared recurrence of one direction, not of {spec.name}")

    def forward(params: Any, u: jax.Array) -> jax.Array:
        return jax.vmap(lambda sequence: _outputs(spec, params, sequence))(u)

    def call(params: Any, arrays: Any) -> Any:
        if direction == "forward":
            return forward(params, arrays["u"])
        y, pull = jax.vjp(forward, params, arrays["u"])
        return y, *pull(arrays["w"])

    return call


def _outputs(spec: LayerSpec, params: Any, u: jax.Array) -> jax.Array:
    """Outputs (L, H) of one sequence (L, H)."""
    c = coefficients(spec, params)
    z = u.astype(c.B.dtype) @ c.B.T
    if c.first_gain is not None:
        z = z.at[0].multiply(c.first_gain)
    lam = jnp.broadcast_to(c.lam, z.shape)
    _, x = jax.lax.associative_scan(_combined, (lam, z))
    return (x @ c.C.T).real + c.D * u


def _combined(earlier: Any, later: Any) -> Any:
    (a, b), (c, d) = earlier, later
    return c * a, c * b + d
