"""What tells cells apart that look alike: the axes in which some rows differ."""

from collections.abc import Iterable, Sequence
from typing import Any

from benchmark.reports import numbers as n
from benchmark.store.row import Row
from benchmark.sweeps.cell import Cell

MINOR = ("dtype", "device", "compiled", "precision", "threads", "cache", "mode", "seed", "replicate")
"""Axes that have no column of their own in most tables."""


def variants(rows: Sequence[Row], more: Iterable[str] = ()) -> dict[str, str]:
    """By cell, the minor axes and layer options in which the rows differ, as ``name=value`` words.

    Options are compared among rows of one layer, as each layer has its own. ``more`` names further
    axes of the cell that the table shows no column for.
    """
    differing = [name for name in (*MINOR, *more) if len({_plain(getattr(row, name)) for row in rows}) > 1]
    layered = [row for row in rows if row.metric != "roofline"]
    options = {name: _differing_options([r for r in layered if r.layer == name]) for name in {r.layer for r in rows}}
    found = {}
    for row in rows:
        words = [f"{name}={_plain(getattr(row, name))}" for name in differing]
        words += [f"{name}={row.options[name]}" for name in options[row.layer] if name in row.options]
        found[row.cell_id] = ", ".join(words)
    return found


def common(rows: Sequence[Row]) -> str:
    """The minor axes that have one value in all rows, other than the default, as ``name=value`` words."""
    found = []
    for name in MINOR:
        values = {_plain(getattr(row, name)) for row in rows}
        if len(values) == 1 and not Cell.model_fields[name].is_required():
            value = values.pop()
            found += [f"{name}={value}"] if value != _plain(Cell.model_fields[name].default) else []
    return ", ".join(found)


def _differing_options(rows: Sequence[Row]) -> list[str]:
    names = dict.fromkeys(name for row in rows for name in row.options)
    return [name for name in names if len({str(row.options.get(name)) for row in rows}) > 1]


def _plain(value: Any) -> str:
    return value.model_dump_json() if hasattr(value, "model_dump_json") else str(value)


def layer(row: Row) -> str:
    """The layer, or what was measured at its sizes; a machine's ceiling has none."""
    if row.metric == "roofline":
        return n.MISSING
    return row.layer if row.subject == "layer" else f"{row.layer}: {row.subject}"


def algorithm(row: Row) -> str:
    """The algorithm that ran, marked where it was chosen by ``auto``; a ceiling, a floor and a peer have none."""
    if row.metric == "roofline" or row.subject not in {"layer", "scan"}:
        return n.MISSING
    if row.algorithm_run is None or row.algorithm_run == row.algorithm:
        return row.algorithm
    return f"{row.algorithm_run} ({row.algorithm})"
