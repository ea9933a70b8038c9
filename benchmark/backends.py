"""The one place that names the two frameworks' packages. They are loaded on demand."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmark.spec.errors import UserError, unknown

FRAMEWORKS = ("torch", "jax")

NEEDS = {"torch": ("torch", "jaxtyping"), "jax": ("jax", "optax", "jaxtyping")}
"""Modules of each framework's extra."""


def installed() -> tuple[str, ...]:
    """The frameworks that this Python can import, found without importing them."""
    return tuple(name for name in FRAMEWORKS if _present(name))


def _present(name: str) -> bool:
    return all(_found(module) for module in NEEDS[name])


def _found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def require(framework: str) -> None:
    """Raise UserError unless the framework is known and installed."""
    if framework not in FRAMEWORKS:
        raise unknown("framework", framework, FRAMEWORKS)
    if not _present(framework):
        missing = ", ".join(module for module in NEEDS[framework] if not _found(module))
        raise UserError(f"{framework} cannot run here, {missing} is missing: pip install 'rotbench[{framework}]'")


def layers(framework: str) -> Any:
    """The package with apply, step, vjp, scan and Layer."""
    return _load(framework, "")


def device(framework: str) -> Any:
    """The module that knows the framework's devices, and prepares calls to be timed."""
    return _load(framework, ".device")


def train(framework: str) -> Any:
    """The module with the Trainer."""
    return _load(framework, ".train")


def signal(framework: str) -> Any:
    """The module that simulates signal propagation."""
    return _load(framework, ".signal")


def _load(framework: str, module: str) -> Any:
    require(framework)
    return import_module(f"layers_{framework}{module}")
