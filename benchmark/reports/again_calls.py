"""The commands that measure single calls again: of layers, of what stands beside them, of ceilings, of steps."""

from collections.abc import Sequence
from typing import Any

from benchmark.reports.again_words import alike, defaults, flag, line, listed, place, settings, unlike
from benchmark.store.row import Row
from benchmark.sweeps import limits
from benchmark.sweeps.config import Sweep
from benchmark.training.published import RECIPES

AXES = ("framework", "algorithm", "direction", "dtype", "compiled", "precision", "cache", "mode")
SIZES = ("seq_len", "batch", "d_model", "d_state")


def call_commands(rows: Sequence[Row]) -> list[str]:
    """``speed`` and ``memory``. Rows of other batches, state sizes, algorithms or options take a command each."""

    def key(row: Row) -> Any:
        return row.metric, row.device, row.threads, row.batch, row.d_state, row.algorithm, row.seed, unlike_own(row)

    return [_call(members) for members in alike(rows, key)]


def unlike_own(row: Row) -> list[str]:
    """The options that are not the layer's own."""
    return unlike(row, defaults(row.layer))


def _call(rows: Sequence[Row]) -> str:
    words = [rows[0].metric, *flag("layer", (row.layer for row in rows))]
    for name in (*AXES, *SIZES):
        words += listed(name, rows, _usual(rows[0].metric, name))
    words += [*place(rows[0]), *settings(unlike_own(rows[0]))]
    words += ["--seed", str(rows[0].seed)] if rows[0].seed else []
    replicates = max(row.replicate for row in rows)
    return line(words, ["--replicates", str(replicates + 1)] if replicates else [])


def _usual(metric: str, name: str) -> Any:
    """The default of an axis, as a row has it; None where it is named always."""
    if name == "framework" or (metric, name) == ("memory", "direction"):
        return None
    (value,) = Sweep.model_fields[name].default
    return int(value) if name in SIZES else value


def beside_commands(rows: Sequence[Row]) -> list[str]:
    """``peers`` for times of public implementations, ``limits`` for the rest, at the sizes that these have."""
    sized = [row for row in rows if (row.d_model, row.d_state) == (limits.H, limits.STATES.get(row.layer))]
    marked = [row for row in sized if not _of_peer(row) and (row.seq_len, row.batch) == (limits.L, limits.B)]
    return [*_peers([row for row in sized if _of_peer(row)]), *_limits(marked)]


def _of_peer(row: Row) -> bool:
    return row.metric == "speed" and row.subject not in {"projections", "scan"}


def _peers(rows: Sequence[Row]) -> list[str]:
    return [
        line(["peers"], listed("seq_len", part), listed("batch", part), _threads(part))
        for part in alike(rows, lambda row: row.threads)
    ]


def _limits(rows: Sequence[Row]) -> list[str]:
    return [
        line(["limits"], listed("framework", part), _threads(part)) for part in alike(rows, lambda row: row.threads)
    ]


def _threads(rows: Sequence[Row]) -> list[str]:
    return ["--threads", str(rows[0].threads)]


def ceiling_commands(rows: Sequence[Row]) -> list[str]:
    """``roofline``."""
    return [
        line(
            ["roofline"],
            listed("framework", part),
            listed("dtype", part, "float32"),
            listed("precision", part, "fp32"),
            place(part[0]),
        )
        for part in alike(rows, lambda row: (row.device, row.threads))
    ]


def step_commands(rows: Sequence[Row]) -> list[str]:
    """``gpu-hours``, which times a step of a published recipe."""
    return [_step(part) for part in alike(rows, lambda row: (row.device, row.threads, row.seed, _examples(row)))]


def _step(rows: Sequence[Row]) -> str:
    words = ["gpu-hours", *listed("task", rows), *listed("layer", rows), *listed("framework", rows)]
    words += [*listed("precision", rows, "fp32"), *place(rows[0]), *listed("seed", rows, 0)]
    return line(words, ["--examples", str(_examples(rows[0]))] if _examples(rows[0]) else [])


def _examples(row: Row) -> int:
    """Sequences in the step, 0 for as many as the recipe has."""
    recipe = RECIPES.get(row.task or "", {}).get(row.layer)
    return 0 if recipe is not None and recipe.batch == row.batch else row.batch
