"""Ceilings, and how near a measurement comes to them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.store.row import Row

IMPOSSIBLE = 1.1
"""A rate above this share of a ceiling cannot be: the time or the count is wrong."""


class Share(NamedTuple):
    """A row against its machine's ceilings. ``mfu``: FLOP/s over the peak. ``roof``: over what intensity allows."""

    intensity: float
    mfu: float
    roof: float
    bound: str

    @property
    def impossible(self) -> bool:
        """Whether it is faster than the machine."""
        return self.mfu > IMPOSSIBLE


Key = tuple[str, ...]
Ceilings = dict[Key, Row]


def key(row: Row) -> Key:
    """What a ceiling holds for."""
    machine = str(row.environment.get("cpu")), str(row.detail.get("device_name"))
    return row.framework, row.device, row.dtype, row.precision, str(row.threads), *machine


def ceilings(rows: Iterable[Row]) -> Ceilings:
    """The newest roofline row of each framework, device, dtype, precision and number of threads."""
    return {key(row): row for row in rows if row.metric == "roofline" and row.status == "ok"}


def share(row: Row, found: Ceilings) -> Share | None:
    """How near a timed row comes to its ceilings; None where one of the numbers is unknown."""
    ceiling, traffic = found.get(key(row)), row.detail.get("traffic_bytes")
    if ceiling is None or not row.flops_per_s or not row.flops or not traffic:
        return None
    peak, bandwidth = ceiling.detail["flops_per_s"], ceiling.detail["bytes_per_s"]
    intensity = row.flops / traffic
    allowed = min(peak, intensity * bandwidth)
    bound = "memory" if allowed < peak else "compute"
    return Share(intensity, row.flops_per_s / peak, row.flops_per_s / allowed, bound)


def roofline_table(rows: Sequence[Row]) -> Table:
    """The ceilings themselves."""
    lines = [
        [
            r.framework,
            str(r.detail.get("device_name", r.device)),
            r.dtype,
            r.precision,
            str(r.threads),
            n.scaled(r.detail.get("flops_per_s"), "FLOP/s"),
            n.scaled(r.detail.get("bytes_per_s"), "B/s"),
            n.significant(_ridge(r)),
            r.status,
        ]
        for r in rows
    ]
    names = ["framework", "device", "dtype", "precision", "threads", "matrix product", "copy", "ridge FLOP/B", "status"]
    note = "The fastest sample of a large square product and of a copy (read plus written); ridge: their ratio."
    return Table("Ceilings", names, lines, frozenset(names[4:8]), [note], ("precision", "dtype"))


def _ridge(row: Row) -> float | None:
    peak, bandwidth = row.detail.get("flops_per_s"), row.detail.get("bytes_per_s")
    return peak / bandwidth if peak and bandwidth else None
