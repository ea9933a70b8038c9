"""Rows of studies, by the study's name."""

from collections.abc import Iterable

from benchmark.spec.errors import UserError
from benchmark.store.row import Row
from benchmark.studies.names import study_of

NEEDED = {
    "norms": ("times", "blocks"),
    "equivalence": ("errors", "books"),
    "period": ("angle", "before", "after", "test_score", "chance"),
}
"""What the detail of each study's row must hold to be read."""


def studied(rows: Iterable[Row], name: str) -> list[Row]:
    """Rows of a study that ended well and can be read; those of another version's studies are passed over."""
    found = (row for row in rows if row.metric == "study" and row.status == "ok" and _name(row) == name)
    return [row for row in found if all(key in row.detail for key in NEEDED[name])]


def _name(row: Row) -> str | None:
    try:
        return study_of(row.task).name
    except UserError:
        return None
