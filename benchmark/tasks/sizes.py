"""How much may be drawn."""

from benchmark.spec.errors import UserError

MOST_STEPS = 1 << 30
"""Of one split: as 16 bit numbers they fill 2 GiB, their labels, where each step has one, 8 GiB."""
MOST_PIXELS = 1 << 32
"""Of all splits of a task of 8 bit numbers: the published Path-X has 3.3e9."""
MOST_TOKENS = 1 << 16
"""Of a vocabulary: what 16 bits hold, and eight times the largest published one."""


def check_steps(owner: str, examples: int, steps: int, most: int = MOST_STEPS) -> None:
    """Raise UserError if so many examples of so many steps would be too large to be drawn."""
    given = examples * steps
    if given > most:
        must = f"{owner}: examples x steps must be at most {most:,} to be drawn"
        raise UserError(f"{must}, got {given:,}; ask for fewer or shorter ones")


def check_tokens(owner: str, option: str, given: int) -> None:
    """Raise UserError if the option that names the size of a vocabulary is too large."""
    if given > MOST_TOKENS:
        raise UserError(f"{owner}: {option} must be at most {MOST_TOKENS:,}, got {given:,}")
