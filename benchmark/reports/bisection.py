"""What a bisection has found, as a table, a sentence and JSON."""

from collections.abc import Callable, Sequence
from typing import Any

from benchmark.history.bisection import Bisection
from benchmark.regress.quantities import Quantity
from benchmark.reports import numbers as n
from benchmark.reports.history import amount
from benchmark.reports.tables import Table

SHORT_COMMIT = 10


def bisection_table(found: Bisection, quantity: Quantity, subject: Callable[[str], str]) -> Table:
    """A line a commit that was measured or could not be, oldest first.

    Args:
        found: a finished bisection.
        quantity: what was measured.
        subject: a commit's first line.
    """
    lines = [
        [commit[:SHORT_COMMIT], *_reading(found, quantity, commit), subject(commit)]
        for commit in found.commits
        if commit in found.readings or commit in found.skipped
    ]
    names = ["commit", quantity.name, "processes", "side", "subject"]
    untold = len(found.commits) - len(lines)
    notes = [f"{untold} of {len(found.commits)} commits did not have to be measured."] if untold else []
    return Table("Bisection", names, lines, frozenset({quantity.name, "processes"}), notes, ("subject", "processes"))


def _reading(found: Bisection, quantity: Quantity, commit: str) -> list[str]:
    if commit in found.skipped:
        return [n.MISSING, n.MISSING, f"not measured: {found.skipped[commit]}"]
    reading = found.readings[commit]
    side = reading.side if reading.sure else f"{reading.side}, not surely"
    return [amount(quantity, reading.level), n.count(len(reading.values)), side]


def verdict(found: Bisection, subject: Callable[[str], str]) -> str:
    """The sentence at the end."""
    change = f"{100 * (found.ratio - 1):+.1f} %"
    if len(found.suspects) == 1:
        (commit,) = found.suspects
        return f"{commit} made the step of {change}: {subject(commit)}"
    names = ", ".join(commit[:SHORT_COMMIT] for commit in found.suspects)
    return f"one of {len(found.suspects)} commits made the step of {change}; those between cannot be measured: {names}"


def bisection_json(found: Bisection, quantity: Quantity) -> dict[str, Any]:
    """All of it as JSON values."""
    return {
        "metric": quantity.name,
        "suspects": found.suspects,
        "ratio": found.ratio,
        "readings": [_reading_json(found, commit) for commit in found.commits if commit in found.readings],
        "skipped": found.skipped,
    }


def _reading_json(found: Bisection, commit: str) -> dict[str, Any]:
    reading = found.readings[commit]
    values: Sequence[float] = reading.values
    return {"commit": commit, "side": reading.side, "sure": reading.sure, "level": reading.level, "values": [*values]}
