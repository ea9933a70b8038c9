"""Errors that a user can mend. Their text is one line: what must hold, what was given, what to do."""

from collections.abc import Iterable


class UserError(ValueError):
    """A known fault of the input. The command line prints it as one line and exits with 2."""


class Unsupported(UserError):  # noqa: N818 - the name of the status that it becomes
    """The request is sound, but this device, dtype or algorithm cannot serve it. A sweep records it as a row."""


def unknown(kind: str, given: object, known: Iterable[str]) -> UserError:
    """The error for a name that is not among the known ones.

    >>> str(unknown("layer", "s6", ["lru", "s5"]))
    "unknown layer 's6'; known: lru, s5"
    """
    return UserError(f"unknown {kind} {given!r}; known: {', '.join(known)}")
