"""Series of rows that differ in their lengths alone."""

from collections.abc import Sequence

from benchmark.metrics.scaling import Measured
from benchmark.reports import numbers as n
from benchmark.reports.answers.places import place
from benchmark.reports.evidence import Group, state_words
from benchmark.reports.measures import Quantity, values
from benchmark.store.row import Row


def by_length(rows: Sequence[Row], quantity: Quantity = "time") -> list[tuple[int, list[float]]]:
    """Values by ascending length, one a process."""
    lengths = sorted({row.seq_len for row in rows if row.seq_len})
    found = [(length, values([row for row in rows if row.seq_len == length], quantity)) for length in lengths]
    return [(length, listed) for length, listed in found if listed]


def place_of(group: Group) -> tuple[str, ...]:
    """What is told of a series: its setting and the size of its state."""
    return *place(group.setting), state_words(group.rows[0])


def size_of(measured: Measured) -> str:
    """Of how many values, and from which length to which."""
    count = sum(len(listed) for _, listed in measured)
    return f"{count} processes at {len(measured)} lengths, {n.count(measured[0][0])} to {n.count(measured[-1][0])}"
