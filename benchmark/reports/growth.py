"""How the time and memory of ``auto`` grow with the length, against a linear cost."""

from collections.abc import Sequence
from typing import NamedTuple

from benchmark.metrics.inference import Student
from benchmark.metrics.scaling import beyond_fixed_costs
from benchmark.reports import numbers as n
from benchmark.reports.labels import algorithm, variants
from benchmark.reports.tables import Table
from benchmark.spec.errors import UserError
from benchmark.store.row import Row

BAND = 0.05
"""How far from 1 the exponent of a linear cost may lie."""


LEAST_LENGTHS = 3
"""Through two lengths any power law goes."""


def check_lengths(lengths: Sequence[int]) -> None:
    """Raise UserError, before anything is measured, for too few lengths to judge how a cost grows."""
    if len(set(lengths)) < LEAST_LENGTHS:
        given = ", ".join(map(str, lengths))
        raise UserError(f"growth needs {LEAST_LENGTHS} lengths at least, got {given}; name more with --seq-len")


class Growth(NamedTuple):
    """One quantity of one layer over its lengths."""

    shortest: Row
    longest: Row
    quantity: str
    exponent: Student

    @property
    def verdict(self) -> str:
        """Whether the exponent is within the band; can't tell where it is not, but its interval reaches into it.

        ``less`` than linear, surely, is as good as reached.
        """
        if abs(self.exponent.value - 1) <= BAND:
            return "reached"
        _, low, high = self.exponent.interval()
        return "missed" if low > 1 + BAND else "less" if high < 1 - BAND else "can't tell"


def growths(rows: Sequence[Row]) -> list[Growth]:
    """Of rows of speed and memory that differ in nothing but their length; three lengths at least."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.status == "ok" and values_of(row):
            alike = row.cell.model_copy(update={"seq_len": 1})
            groups.setdefault(alike.canonical_json, []).append(row)
    found = []
    for members in groups.values():
        members.sort(key=lambda row: row.seq_len or 0)
        measured = [(row.seq_len or 0, values_of(row)) for row in members]
        if len({length for length, _ in measured}) >= LEAST_LENGTHS:
            quantity = "memory" if members[0].metric == "memory" else "time"
            found.append(Growth(members[0], members[-1], quantity, beyond_fixed_costs(measured)))
    return found


def values_of(row: Row) -> list[float]:
    """Milliseconds, one a process, or bytes."""
    if row.metric == "memory":
        taken = memory_of(row)
        return [float(taken)] if taken else []
    return list(row.process_medians_ms or [])


def memory_of(row: Row) -> int | None:
    """Bytes above those that a process held before; no fewer than XLA's temporaries, which may take their place."""
    known = [size for size in (row.rss_delta_bytes, row.xla_temp_bytes) if size is not None]
    return max(known, default=None)


def growth_table(found: Sequence[Growth]) -> Table:
    """One line a quantity of a layer, the farthest from linear first."""
    names = ["layer", "framework", "direction", "of", "ran", "lengths", "shortest", "longest", "exponent"]
    names += ["95 % interval", "variant", "verdict"]
    words = variants([g.longest for g in found], ("batch", "d_model", "d_state"))
    lines = [
        [
            g.longest.layer,
            g.longest.framework,
            g.longest.direction or n.MISSING,
            g.quantity,
            algorithm(g.longest),
            f"{n.count(g.shortest.seq_len)} to {n.count(g.longest.seq_len)}",
            *(_shown(row) for row in (g.shortest, g.longest)),
            f"{g.exponent.value:.3f}",
            n.interval(*g.exponent.interval()[1:]),
            words[g.longest.cell_id],
            g.verdict,
        ]
        for g in sorted(found, key=lambda g: -abs(g.exponent.value - 1))
    ]
    note = (
        f"The exponent c of a + b * length^c, with the fixed costs a of a call, by least squares over all lengths; a "
        f"linear cost has 1, asked for within {BAND:g}. less: surely below that. can't tell: outside, but its interval "
        "reaches into that."
    )
    numeric = frozenset({"shortest", "longest", "exponent"})
    return Table("Growth with the length", names, lines, numeric, [note], ("ran", "lengths", "95 % interval"))


def _shown(row: Row) -> str:
    if row.metric == "memory":
        return n.scaled(memory_of(row), "B")
    return f"{n.significant(row.median_ms)} ms"
