"""Errors that a user can mend. Their text is one line: what must hold, what was given, what to do."""

from collections.abc import Iterable


class UserError(ValueError):
    """A known fault of the input. The command line prints it as one line and exits with 2."""

    exit_code = 2
    """Another one where the fault lies not in the input."""


class Unsupported(UserError):  # noqa: N818 - the name of the status that it becomes
    """The request is sound, but this device, dtype or algorithm cannot serve it. A sweep records it as a row."""


def short(value: object, most: int = 60) -> str:
    """A value as it was given, cut where it is absurdly long, and on one line."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a number of thousands of digits"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def unknown(kind: str, given: object, known: Iterable[str]) -> UserError:
    """The error for a name that is not among the known ones.

    >>> str(unknown("layer", "s6", ["lru", "s5"]))
    "unknown layer 's6'; known: lru, s5"
    """
    return UserError(f"unknown {kind} {short(given)}; known: {', '.join(known)}")
