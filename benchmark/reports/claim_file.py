"""The claims of a file, by the names of the layers and tasks that are known."""

from collections.abc import Sequence
from pathlib import Path

from benchmark.reports.claim_grammar import Claim, Unclear, read
from benchmark.reports.sentences import sentences
from benchmark.spec import LAYERS
from benchmark.spec.errors import UserError
from benchmark.store.row import Row
from benchmark.tasks import TASKS


def text_of(path: Path) -> str:
    """The text of a file. Raises UserError if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"the claims must be in a readable text file, got {path}: {reason}") from None


def claims_in(text: str, rows: Sequence[Row]) -> tuple[list[Claim], list[Unclear]]:
    """The claims of a Markdown text, and its sentences that look like claims but are not understood.

    Args:
        text: of a whole file.
        rows: whose layers and tasks are known too, besides those of this installation.
    """
    layers = dict.fromkeys([*LAYERS, *(row.layer for row in rows)])
    tasks = dict.fromkeys([*TASKS, *(row.task for row in rows if row.task)])
    found = read(sentences(text), layers, tasks)
    return [e for e in found if isinstance(e, Claim)], [e for e in found if isinstance(e, Unclear)]
