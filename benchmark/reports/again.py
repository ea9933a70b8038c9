"""The commands that measure rows again: each kind of row has its own, made from what the row's cell says."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from benchmark.reports.again_calls import beside_commands, call_commands, ceiling_commands, step_commands
from benchmark.reports.again_studies import study_commands
from benchmark.reports.again_trainings import training_commands
from benchmark.spec import LAYERS
from benchmark.store.row import Row

Maker = Callable[[Sequence[Row]], list[str]]

MAKERS: Mapping[str, Maker] = {
    "call": call_commands,
    "beside": beside_commands,
    "roofline": ceiling_commands,
    "train": training_commands,
    "train-step": step_commands,
    "study": study_commands,
}
"""By kind of row."""


def again(rows: Iterable[Row]) -> str:
    """The commands that measure some rows again, joined by ``;``; empty where none can."""
    return "; ".join(commands(rows))


def commands(rows: Iterable[Row]) -> list[str]:
    """What measures rows again, one command for rows that differ only in what one command can list.

    A command may measure more than the rows: every combination of what it lists. Rows of layers that are
    not known here, and of sizes that no command takes, have none.
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.layer in LAYERS:
            found.setdefault(kind(row), []).append(row)
    return [command for name, members in found.items() for command in MAKERS[name](members)]


def kind(row: Row) -> str:
    """Which of ``MAKERS`` knows a row."""
    if row.metric in {"speed", "memory"}:
        return "call" if row.subject == "layer" else "beside"
    return row.metric
