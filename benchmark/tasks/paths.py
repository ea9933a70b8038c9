"""Files of a data set that must be there."""

from pathlib import Path

from benchmark.spec.errors import short
from benchmark.tasks.base import MissingDataError

CURE = "`rotbench data status` tells how to get them"


def existing(owner: str, folder: Path | None, *choices: str | tuple[str, ...]) -> list[Path]:
    """The paths below a folder, in the order asked for.

    Args:
        owner: the task's name, for the message.
        folder: of the unpacked archive.
        choices: a relative path each, or several of which the first that is there counts.

    Raises:
        MissingDataError: naming those that are not there.
    """
    if folder is None:
        raise MissingDataError(f"{owner}: the folder of the real data must be given, got none; {CURE}")
    options = [(choice,) if isinstance(choice, str) else choice for choice in choices]
    found = [next((folder / name for name in names if (folder / name).exists()), None) for names in options]
    missing = [names[0] for names, path in zip(options, found, strict=True) if path is None]
    if missing:
        raise MissingDataError(f"{owner}: {folder} must hold {listed(missing)}; {CURE}")
    return [path for path in found if path is not None]


def listed(names: list[str], most: int = 5) -> str:
    """Names for one line, the first few where there are many.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def unlike(path: Path, must: str, given: object) -> str:
    """The line for a file that is not what it should be."""
    return f"{path} must be {must}, got {given if isinstance(given, str) else short(given)}; get the archive again"
