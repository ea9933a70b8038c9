"""Words of commands, made from rows."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from benchmark.reports.recipes import words
from benchmark.spec import LAYERS
from benchmark.store.row import Row


def line(*parts: Iterable[str]) -> str:
    """A command that measures also what has a row already."""
    return shlex.join(["rotbench", *(word for part in parts for word in part), "--again"])


def flag(name: str, values: Iterable[Any]) -> list[str]:
    """An option that takes a list, each value once."""
    return [f"--{name.replace('_', '-')}", ",".join(dict.fromkeys(map(str, values)))]


def listed(name: str, rows: Sequence[Row], usual: Any = None) -> list[str]:
    """An option with what the rows have; nothing if that is what is usual."""
    values = list(dict.fromkeys(value for row in rows if (value := getattr(row, name)) is not None))
    return flag(name, values) if values and values != [usual] else []


def recipe_flags(values: Mapping[str, Any]) -> list[str]:
    """Values of a recipe, one option each."""
    found = []
    for name, value in values.items():
        word = name.replace("_", "-")
        found += [f"--{'' if value else 'no-'}{word}"] if isinstance(value, bool) else [f"--{word}", str(value)]
    return found


def place(row: Row) -> list[str]:
    """Where it was measured, and with how many threads."""
    return [*(["--device", row.device] if row.device != "cpu" else []), "--threads", str(row.threads)]


def settings(values: Iterable[str]) -> list[str]:
    """``--set`` words."""
    return [word for value in values for word in ("--set", value)]


@cache
def defaults(layer: str) -> dict[str, Any]:
    """The layer's own options; none of a layer that is not known here."""
    return {field.name: field.default for field in fields(LAYERS[layer])} if layer in LAYERS else {}


def unlike(row: Row, usual: Mapping[str, Any]) -> list[str]:
    """The layer options of a row that are not the usual ones, as they are given to ``--set``."""
    return [f"{row.layer}.{name}={value}" for name, value in row.options.items() if usual.get(name) != value]


def alike(rows: Iterable[Row], key: Callable[[Row], Any]) -> list[list[Row]]:
    """Rows of equal keys together, in the order in which they came."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(words({"key": key(row)}), []).append(row)
    return list(found.values())
