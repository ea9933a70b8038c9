"""Differences as text, on the scale on which they are read."""

import math

from benchmark.reports import numbers as n
from benchmark.reports.answers.contrasts import Decision, Unit

AFFIXES: dict[Unit, tuple[str, str]] = {
    "ratio": ("x", ""),
    "points": ("", " points"),
    "mse": ("", " MSE"),
    "spread": ("", " points"),
    "radians": ("", " radians"),
    "exponent": ("exponent ", ""),
    "slope": ("exponent ", ""),
}
"""What stands before and behind a number."""

TURNED = ("mse", "spread", "radians")
"""Units that are shown with the opposite sign: of these less is better, of estimates more."""


def amount(value: float, unit: Unit) -> str:
    """A difference with its unit.

    >>> amount(0.0, "ratio"), amount(0.012, "points")
    ('x1.00', '+1.20 points')
    """
    before, behind = AFFIXES[unit]
    return f"{before}{bare(value, unit)}{behind}"


def bare(value: float, unit: Unit) -> str:
    """The number alone.

    >>> bare(-0.001, "slope"), bare(0.5, "mse")
    ('0.00', '-0.500')
    """
    match unit:
        case "ratio":
            return n.significant(math.exp(value))
        case "points":
            return f"{_rounded(100 * value):+.2f}"
        case "spread":
            return f"{_rounded(-100 * value):+.2f}"
        case "exponent":
            return f"{_rounded(1 + value):.2f}"
        case "slope":
            return f"{_rounded(value):.2f}"
    return f"{'-' if value > 0 else '+'}{n.significant(abs(value))}"


def _rounded(value: float) -> float:
    """To two decimals, without a sign on zero."""
    return round(value, 2) + 0.0


def span(low: float, high: float, unit: Unit) -> str:
    """From one difference to another, with the unit once.

    >>> span(0.0, 0.5, "ratio"), span(-0.01, 0.02, "points")
    ('x1.00 to 1.65', '-1.00 to +2.00 points')
    """
    before, behind = AFFIXES[unit]
    return f"{before}{bounds(low, high, unit)}{behind}"


def bounds(low: float, high: float, unit: Unit) -> str:
    """From the smaller to the larger, as they are shown.

    >>> bounds(-1.0, 2.0, "mse")
    '-2.00 to +1.00'
    """
    first, last = (high, low) if unit in TURNED else (low, high)
    return f"{bare(first, unit)} to {bare(last, unit)}"


def effect(decision: Decision) -> str:
    """The difference with its 95 % interval and its unit."""
    unit, (value, low, high) = decision.contrast.unit, decision.comparison.difference
    if not math.isfinite(low) or not math.isfinite(high):
        return f"{amount(value, unit)}, without an interval from so few"
    if low == high:
        return amount(value, unit)
    return f"{amount(value, unit)} [{bounds(low, high, unit)}]"
