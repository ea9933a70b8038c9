"""Whether results are of the code that lies here: a sweep keeps finished cells, whatever has been committed since."""

from collections.abc import Iterable
from pathlib import Path

from benchmark.metrics.environment import git_state
from benchmark.store.row import Row


def stale(rows: Iterable[Row], checkout: Path) -> str | None:
    """In words, that rows were measured at other commits than the one that is checked out; None if not.

    Args:
        rows: those that are taken to be of the checkout. One that names no commit is not doubted.
        checkout: a folder; nothing is said of one that is no checkout.
    """
    head, _ = git_state(checkout)
    commits = {str(row.environment["commit"]) for row in rows if row.environment.get("commit")}
    others = sorted(commits - {head})
    if head is None or not others:
        return None
    named = ", ".join(commit[:12] for commit in others)
    return f"the rows of now are of commit {named}, while {head[:12]} is checked out; measure that with --again"
