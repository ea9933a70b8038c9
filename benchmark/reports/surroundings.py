"""Where cells without a result were run: they tell of neither device nor code, their neighbours that ended well do."""

from collections.abc import Iterable
from typing import Any

from benchmark.reports.evidence import machine
from benchmark.reports.recipes import words
from benchmark.store.row import Row

TOLD = ("device_name", "source_hash")
"""What the detail of a row that ended well says of where it was run, and of what."""


def with_surroundings(rows: Iterable[Row]) -> list[Row]:
    """The rows, those without a result with the device and code of the one place that they can be of.

    Where cells of one machine, commit and metric tell of several devices, such rows stay as they are.
    """
    listed = list(rows)
    known: dict[str, list[dict[str, Any]]] = {}
    for row in listed:
        told = {name: row.detail[name] for name in TOLD if name in row.detail}
        if row.status == "ok" and told not in known.setdefault(_host(row), []):
            known[_host(row)].append(told)
    return [row if row.status == "ok" else _placed(row, known.get(_host(row), [])) for row in listed]


def _placed(row: Row, known: list[dict[str, Any]]) -> Row:
    return row.model_copy(update={"detail": known[0] | row.detail}) if len(known) == 1 else row


def _host(row: Row) -> str:
    """What rows with and without a result tell alike."""
    found = {name: value for name, value in machine(row).items() if name not in {"device name", "code"}}
    found |= {name: getattr(row, name) for name in ("metric", "framework", "device")}
    return words(found | {name: row.environment.get(name) for name in ("memory_bytes", "commit", "dirty")})
