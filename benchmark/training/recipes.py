"""How each task is trained by default."""

from typing import Any

from benchmark.spec.base import LARGEST
from benchmark.spec.errors import UserError, short
from benchmark.sweeps.cell import Recipe

SIZES: dict[str, dict[str, int]] = {"digits": {"d_model": 64, "d_state": 64}}
"""d_model and d_state by task."""

LAYER_OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "digits": {"rotrnn": {"heads": 16}, "lru": {"r_min": 0.9, "r_max": 0.999}},
}
"""Layer options by task and layer, where they differ from the layer's own defaults."""

RECIPES: dict[str, Recipe] = {
    "digits": Recipe(
        epochs=40,
        batch=50,
        depth=2,
        lr=8e-3,
        recurrence_lr=2e-3,
        weight_decay=0.05,
        dropout=0.1,
        warmup=0.1,
        norm="batch",
        activation="half_glu1",
    )
}


RANGES = (
    ("lr", 1e-12, 1e3),
    ("recurrence_lr", 1e-12, 1e3),
    ("weight_decay", 0.0, 1e3),
    ("dropout", 0.0, 1.0),
    ("warmup", 0.0, 1.0),
)


def recipe(task: str, **overrides: Any) -> Recipe:
    """The task's recipe with some values replaced; None leaves a value as it is.

    Raises:
        UserError: for a value out of range.
    """
    chosen = RECIPES[task].model_copy(update={k: v for k, v in overrides.items() if v is not None})
    for name in ("epochs", "batch", "depth"):
        if not 1 <= getattr(chosen, name) <= LARGEST:
            raise UserError(f"{name} must be a positive integer up to {LARGEST:,}, got {short(getattr(chosen, name))}")
    for name, low, high in RANGES:
        if not low <= getattr(chosen, name) < high:
            raise UserError(f"{name} must lie in [{low:g}, {high:g}), got {short(getattr(chosen, name))}")
    return chosen
