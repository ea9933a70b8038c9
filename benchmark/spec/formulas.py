"""Element-wise formulas shared by every backend.

Each takes ``xp`` first: numpy, torch or jax.numpy. Only functions that the three spell
alike are used, so that the same source line runs, and differentiates, in each.
"""

from typing import Any

Array = Any  # an array of numpy, torch or jax


def decay(xp: Any, log_rate: Array) -> Array:
    """``exp(-exp(log_rate))``: a modulus that stays within (0, 1) whatever the parameter."""
    return xp.exp(-xp.exp(log_rate))


def unit_gain(xp: Any, log_rate: Array) -> Array:
    """``sqrt(1 - decay**2)``: the input gain that keeps a state driven by white noise at norm 1."""
    return xp.sqrt(-xp.expm1(-2 * xp.exp(log_rate)))


def held_gain(xp: Any, log_lam: Array, steps: float) -> Array:
    """``(lam**steps - 1) / (lam - 1)``, complex: what an input that is held for so many steps adds to a state."""
    return xp.expm1(steps * log_lam) / xp.expm1(log_lam)


def zoh(xp: Any, A: Array, dt: Array) -> tuple[Array, Array]:
    """Zero-order hold of x' = A x + u: ``(exp(A dt), (exp(A dt) - 1) / A)``, complex."""
    return xp.exp(A * dt), xp.expm1(A * dt) / A


def bilinear(xp: Any, A: Array, dt: Array) -> tuple[Array, Array]:  # noqa: ARG001
    """Tustin's rule for x' = A x + u: ``((1 + A dt/2) / (1 - A dt/2), dt / (1 - A dt/2))``, complex."""
    half = A * dt / 2
    return (1 + half) / (1 - half), dt / (1 - half)


DISCRETIZATIONS = {"zoh": zoh, "bilinear": bilinear}

DISCRETIZATION_FLOPS = {"zoh": 2 + 2 + 11, "bilinear": 2 + 2 + 2 + 2 + 11 + 2 + 7}
"""Of one entry, operation by operation as the lines above stand; exponentials are not counted."""
