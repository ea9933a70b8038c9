"""The command that measures rows of speed, memory or training again."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from benchmark.reports.recipes import preset_of
from benchmark.spec import LAYERS
from benchmark.spec.errors import UserError
from benchmark.store.row import Row
from benchmark.sweeps.config import Sweep
from benchmark.training.recipes import course

LISTED = ("framework", "algorithm", "direction", "dtype", "compiled", "precision", "cache", "mode")
SIZES = ("seq_len", "batch", "d_model", "d_state")


def again(rows: Sequence[Row]) -> str:
    """The command that measures some rows again, several joined by ``;`` where one cannot.

    Rows that differ in their state size, or whose trainings have different recipes, take one each.
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        apart = _train_flags(row) if row.metric == "train" else {"d_state": row.d_state, "seed": row.seed}
        alike = [row.metric, row.device, row.threads, row.framework if row.metric == "train" else None, row.task]
        found.setdefault(json.dumps([alike, apart], default=str), []).append(row)
    return "; ".join(_trained(part) if part[0].metric == "train" else _measured(part) for part in found.values())


def _measured(rows: Sequence[Row]) -> str:
    """Of speed and memory; what has the sweep's default is left out."""
    words = ["rotbench", rows[0].metric, *_flag("layer", (r.layer for r in rows))]
    for name in (*LISTED, *SIZES):
        values = list(dict.fromkeys(str(v) for r in rows if (v := getattr(r, name)) is not None))
        if values and (name == "framework" or values != Sweep.model_fields[name].default):
            words += _flag(name, values)
    words += _shared(rows)
    if rows[0].seed:
        words += ["--seed", str(rows[0].seed)]
    if replicates := max(row.replicate for row in rows):
        words += ["--replicates", str(replicates + 1)]
    return shlex.join([*words, "--again"])


def _trained(rows: Sequence[Row]) -> str:
    words = ["rotbench", "train", rows[0].task or "", *_flag("layer", (r.layer for r in rows))]
    words += _flag("framework", (r.framework for r in rows))
    for name, value in _train_flags(rows[0]).items():
        words += _flag(name, [value]) if not isinstance(value, bool) else [f"--{'' if value else 'no-'}{name}"]
    if (recipe := rows[0].recipe) is not None:
        words += [w for name, value in recipe.task_options.items() for w in ("--set", f"task.{name}={value}")]
    words += _flag("seeds", sorted({row.seed for row in rows}))
    return shlex.join([*words, *_shared(rows), "--again"])


def _train_flags(row: Row) -> dict[str, Any]:
    """The preset, the kind of data, and what of the recipe is not the preset's."""
    if row.recipe is None:
        return {}
    preset = preset_of(row)
    flags: dict[str, Any] = {"preset": preset or "small", "data": row.recipe.data}
    if preset is None:
        own = row.recipe.model_dump(exclude={"data", "task_options"}) | {"d_model": row.d_model, "d_state": row.d_state}
        flags |= {name: value for name, value in own.items() if value != _base(row).get(name)}
    elif row.recipe.shuffled:
        flags["shuffled"] = True
    return {name: value for name, value in flags.items() if value is not None}


def _base(row: Row) -> dict[str, Any]:
    try:
        found = course(row.task or "", row.layer)
    except UserError:
        return {}
    return found.recipe.model_dump() | found.sizes


def _shared(rows: Sequence[Row]) -> list[str]:
    words = ["--device", rows[0].device] if rows[0].device != "cpu" else []
    words += ["--threads", str(rows[0].threads)]
    return [*words, *(word for setting in _options(rows) for word in ("--set", setting))]


def _options(rows: Sequence[Row]) -> Iterable[str]:
    """Layer options that are not the layer's own, nor its preset's."""
    found: dict[str, None] = {}
    for row in rows:
        own = {field.name: field.default for field in fields(LAYERS[row.layer])} if row.layer in LAYERS else {}
        if (preset := preset_of(row)) is not None:
            own |= course(row.task or "", row.layer, preset).options
        found |= {f"{row.layer}.{name}={value}": None for name, value in row.options.items() if own.get(name) != value}
    return found


def _flag(name: str, values: Iterable[Any]) -> list[str]:
    return [f"--{name.replace('_', '-')}", ",".join(dict.fromkeys(map(str, values)))]
