"""How large a stand-in may be drawn."""

from benchmark.spec.errors import UserError

MOST_STEPS = 1 << 30
"""Of one split: as 16 bit numbers they fill 2 GiB."""


def check_steps(owner: str, examples: int, held_out: int, steps: int) -> None:
    """Raise UserError if a split of examples of that many steps would be too large to be drawn."""
    given = max(examples, held_out) * steps
    if given > MOST_STEPS:
        must = f"{owner}: examples x steps must be at most {MOST_STEPS:,} for the stand-in"
        raise UserError(f"{must}, got {given:,}; draw fewer or shorter ones")
