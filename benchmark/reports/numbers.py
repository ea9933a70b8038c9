"""The one module that turns numbers into text. A null reads as an en dash, never as 0."""

import math

MISSING = "\N{EN DASH}"
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def significant(value: float | None, digits: int = 3) -> str:
    """A number to so many significant digits, without an exponent where it can be read without.

    >>> significant(1234.5), significant(0.0123456), significant(None)
    ('1,234', '0.0123', '–')
    """
    if value is None or math.isnan(value):
        return MISSING
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(places, 0)}f}" if abs(value) >= 1e-4 else f"{value:.{digits - 1}e}"


def scaled(value: float | None, unit: str = "") -> str:
    """A large number with an SI prefix.

    >>> scaled(1_234_000), scaled(2.5e9, "FLOP")
    ('1.23 M', '2.50 GFLOP')
    """
    if value is None:
        return MISSING
    for factor, prefix in _PREFIXES:
        if abs(value) >= factor:
            return f"{significant(value / factor)} {prefix}{unit}"
    return f"{value:g} {unit}".strip()


def count(value: int | None) -> str:
    """A whole number with thousands marked."""
    return MISSING if value is None else f"{value:,}"


def counted(value: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "thread"), counted(2000, "thread")
    ('1 thread', '2,000 threads')
    """
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def percent(value: float | None) -> str:
    """A share from 0 to 1 as a percentage with one decimal."""
    return MISSING if value is None else f"{100 * value:.1f} %"


def error(value: float | None) -> str:
    """A small relative error."""
    return MISSING if value is None else f"{value:.1e}"


def interval(low: float | None, high: float | None) -> str:
    """A confidence interval, unless it is so wide that it says nothing.

    >>> interval(1.0, 2.0), interval(0.001, 7.0)
    ('1.00 to 2.00', 'wider than x10')
    """
    if low is None or high is None:
        return MISSING
    return "wider than x10" if high > 10 * low else f"{significant(low)} to {significant(high)}"


def duration(seconds: float | None) -> str:
    """A time in the unit that suits it.

    >>> duration(0.0042), duration(75), duration(7200)
    ('4.20 ms', '1 min 15 s', '2 h 0 min')
    """
    if seconds is None:
        return MISSING
    if seconds < 1:
        return f"{significant(seconds * 1e3)} ms"
    if seconds < 60:
        return f"{significant(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
