"""Places that would read alike, with words that tell them apart."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from benchmark.reports.answers.contrasts import Contrast
from benchmark.reports.evidence import MACHINE
from benchmark.store.row import Row


class Placed(NamedTuple):
    """Rows of which something is said in a place; ``setting`` tells in full what they agree in."""

    what: tuple[str, ...]
    place: tuple[str, ...]
    setting: Mapping[str, Any]
    rows: Sequence[Row]


def told_apart(contrasts: Sequence[Contrast], environments: Mapping[str, str]) -> list[Contrast]:
    """The contrasts, each with what tells it from others that would read alike: environment, precision, ...

    Args:
        contrasts: of one question.
        environments: by cell, the short name of where it was measured (``reports.environments``).
    """
    placed = [Placed((c.unit, c.ours, c.theirs), c.place, c.setting, c.rows) for c in contrasts]
    places = places_apart(placed, environments)
    return [replace(entry, place=place) for entry, place in zip(contrasts, places, strict=True)]


def places_apart(entries: Sequence[Placed], environments: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The places, each with what tells it from others of which the same would be said.

    Args:
        entries: everything that stands side by side.
        environments: by cell, the short name of where it was measured.
    """
    alike: dict[tuple[str, ...], list[Placed]] = {}
    for entry in entries:
        alike.setdefault((*entry.what, "", *entry.place), []).append(entry)
    return [
        (*entry.place, *_differences(entry, alike[(*entry.what, "", *entry.place)], environments)) for entry in entries
    ]


def _differences(entry: Placed, others: Sequence[Placed], environments: Mapping[str, str]) -> list[str]:
    """The parts of its setting in which the others differ; of machine, versions and code the environment's name.

    These stand in full where one environment has several: code may differ that has no commit of its own.
    """
    names = [name for name in entry.setting if len({str(other.setting.get(name)) for other in others}) > 1]
    names = [name for name in names if name != "bidirectional" or "options" not in names]  # itself an option
    places = {(environment_of(o.rows, environments), *(str(o.setting.get(name)) for name in MACHINE)) for o in others}
    named = len({place[0] for place in places}) == len(places)
    found = [_differing(name, entry, others) for name in names if not (named and name in MACHINE)]
    own = [environment_of(entry.rows, environments)] if named and {*names} & {*MACHINE} else []
    return [*found, *own]


def _differing(name: str, entry: Placed, others: Sequence[Placed]) -> str:
    """One part of a setting; of a part that is a table (``recipes.words``) those values in which the others differ."""
    tables = [_table(other.setting.get(name)) for other in others]
    own = _table(entry.setting[name])
    keys = dict.fromkeys(key for table in tables if table for key in table)
    if own is None or not keys:
        return f"{name} {entry.setting[name]}"
    values = {key: {str((table or {}).get(key)) for table in tables} for key in keys}
    listed = ", ".join(f"{key} {own.get(key, 'usual')}" for key in keys if len(values[key]) > 1)
    return f"{name} {listed}"


def _table(value: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def environment_of(rows: Iterable[Row], environments: Mapping[str, str]) -> str:
    """The short names of where rows were measured."""
    return " ".join(dict.fromkeys(environments[row.cell_id] for row in rows if row.cell_id in environments))
