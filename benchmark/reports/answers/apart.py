"""Contrasts that would read alike, with words that tell them apart."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmark.reports.answers.contrasts import Contrast
from benchmark.reports.evidence import MACHINE
from benchmark.store.row import Row


def told_apart(contrasts: Sequence[Contrast], environments: Mapping[str, str]) -> list[Contrast]:
    """The contrasts, each with what tells it from others that would read alike: environment, precision, ...

    Args:
        contrasts: of one question.
        environments: by cell, the short name of where it was measured (``reports.environments``).
    """
    alike: dict[tuple[str, ...], list[Contrast]] = {}
    for entry in contrasts:
        alike.setdefault((entry.unit, entry.ours, entry.theirs, *entry.place), []).append(entry)
    return [
        _with_differences(entry, alike[entry.unit, entry.ours, entry.theirs, *entry.place], environments)
        for entry in contrasts
    ]


def _with_differences(entry: Contrast, others: Sequence[Contrast], environments: Mapping[str, str]) -> Contrast:
    """With the parts of its setting in which the others differ; of machine, versions and code the environment's name.

    These stand in full where one environment has several: code may differ that has no commit of its own.
    """
    names = [name for name in entry.setting if len({str(other.setting.get(name)) for other in others}) > 1]
    places = {(environment_of(c.rows, environments), *(str(c.setting.get(name)) for name in MACHINE)) for c in others}
    named = len({place[0] for place in places}) == len(places)
    words = [_differing(name, entry, others) for name in names if not (named and name in MACHINE)]
    own = [environment_of(entry.rows, environments)] if named and {*names} & {*MACHINE} else []
    return replace(entry, place=(*entry.place, *words, *own))


def _differing(name: str, entry: Contrast, others: Sequence[Contrast]) -> str:
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
