"""What two measurements must share to be compared: the axes of their cells, the machine, the versions, the flags."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from benchmark.spec import LAYERS
from benchmark.spec.errors import unknown
from benchmark.store.row import Row
from benchmark.sweeps.cell import Cell

MACHINE = ("cpu", "cores", "cpus", "cpu_governor", "system", "python", "start", "plan")
"""Of a row's environment: what stays as it is while a machine and its settings do. Clocks and load do not."""

REPEATED = ("replicate",)
"""Axes that tell repetitions apart, not cells."""

Conditions = dict[str, Any]


def axes(row: Row) -> Conditions:
    """The cell of a row by axis, its layer options one by one. What has its default is left out."""
    found = row.cell_values(exclude_defaults=True)
    skipped = (*REPEATED, "options", *(("seed",) if row.metric == "train" else ()))
    known = LAYERS.get(row.layer)
    defaults = {field.name: field.default for field in fields(known)} if known else {}
    options = {f"options.{name}": v for name, v in row.options.items() if v != defaults.get(name)}
    return {name: value for name, value in found.items() if name not in skipped} | options


def surroundings(row: Row) -> Conditions:
    """Device, machine, versions and the variables of the measured process. The code's own version is what changes."""
    told = row.environment
    versions = {f"versions.{name}": v for name, v in (told.get("versions") or {}).items() if name != "rotbench"}
    worker = {f"worker.{name}": value for name, value in (told.get("worker") or {}).items()}
    own = {"device_name": row.detail.get("device_name")} | {name: told.get(name) for name in MACHINE}
    return own | _measured_with(versions, row.framework) | worker


def _measured_with(versions: Conditions, framework: str) -> Conditions:
    """The versions that this framework's measurements hang on."""
    others = {"torch": ("jax", "jaxlib", "optax"), "jax": ("torch",)}.get(framework, ())
    return {name: value for name, value in versions.items() if name.partition(".")[2] not in others}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Conditions:
    """By name, the two values of what is not equal."""
    names = dict.fromkeys([*before, *after])
    pairs = {name: (before.get(name), after.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def named(found: Conditions) -> list[str]:
    """Differences in words.

    >>> named({"threads": (1, 2), "cache": (None, "cold")})
    ['threads 1 against 2', 'cache default against cold']
    """
    return [f"{name} {_word(a)} against {_word(b)}" for name, (a, b) in found.items()]


def _word(value: Any) -> str:
    return "default" if value is None else value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def is_allowed(name: str, allowed: Iterable[str]) -> bool:
    """Whether a difference is allowed, by its name or by that of its group, as in ``versions``."""
    return name in (given := tuple(allowed)) or name.partition(".")[0] in given


def check_allowed(given: Iterable[str]) -> tuple[str, ...]:
    """The keys of --allow-different. Raises UserError for one that names nothing."""
    groups = ("versions", "worker", "options")
    known = [name for name in Cell.model_fields if name not in (*REPEATED, "metric", "options")]
    known += ["device_name", *MACHINE, *groups]
    for key in (keys := tuple(given)):
        if key not in known and key.partition(".")[0] not in groups:
            raise unknown("key of --allow-different", key, known)
    return keys
