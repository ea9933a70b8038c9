"""The commands that measure rows of studies again; those of studies that are trainings are trained again."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.reports.again_trainings import base_of, differing, task_words
from benchmark.reports.again_words import alike, defaults, flag, line, listed, place, recipe_flags, settings, unlike
from benchmark.spec.errors import UserError
from benchmark.store.row import Row
from benchmark.store.trained import snapshot_path, weights_path
from benchmark.studies.names import ALONE, Study, study_of
from benchmark.studies.plan import PERIOD_OPTIONS, VARIANTS, period_recipe

RUNS = Path("results/runs")
"""Where a training leaves its weights unless told otherwise."""


def study_commands(rows: Sequence[Row]) -> list[str]:
    """``study NAME``; none for a study or an option that is not known here."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if (study := _study(row)) is not None:
            found.setdefault(_maker(study), []).append(row)
    return [command for name, members in found.items() for command in MAKERS[name](members)]


def _study(row: Row) -> Study | None:
    """None where this version cannot make the row's layer or does not know its study."""
    try:
        row.spec  # noqa: B018 - raises
        return study_of(row.task)
    except UserError:
        return None


def _maker(study: Study) -> str:
    if study.name != "norms":
        return study.name
    return "norms" if study.inputs in ALONE else "norms of data"


def _norms(rows: Sequence[Row]) -> list[str]:
    """Of layers alone: as drawn, or with the weights of a training."""

    def key(row: Row) -> Any:
        study = study_of(row.task)
        sizes = None if study.weights else (row.d_model, row.spec.real_state_size, beside_variants(row))
        return row.seq_len, row.batch, place(row), bool(study.weights), sizes

    return [_norms_alone(part) for part in alike(rows, key)]


def _norms_alone(rows: Sequence[Row]) -> str:
    first, study = rows[0], study_of(rows[0].task)
    words = ["study", "norms", *flag("inputs", (study_of(row.task).inputs for row in rows))]
    words += [*listed("framework", rows), *listed("seq_len", rows), *listed("batch", rows), *place(first)]
    if study.weights:
        return line(words, weight_words(rows))
    words += [*listed("layer", rows), *flag("seeds", sorted({row.seed for row in rows})), *listed("d_model", rows)]
    return line(words, ["--state", str(first.spec.real_state_size)], settings(beside_variants(first)))


def weight_words(rows: Sequence[Row]) -> list[str]:
    """The files of the weights that were looked at; of snapshots the folder of all those of a training."""
    found: dict[Path, None] = {}
    for row in rows:
        study = study_of(row.task)
        cell, step = study.weights or "", study.step
        found[weights_path(RUNS, cell) if step is None else snapshot_path(RUNS, cell, step).parent] = None
    return [word for path in found for word in ("--weights", str(path))]


def beside_variants(row: Row) -> list[str]:
    """The options of a row that neither the layer nor a variant of it that the study measures anyway has."""
    usual = [defaults(row.layer) | dict(variant) for variant in VARIANTS.get(row.layer, ({},))]
    return min((unlike(row, options) for options in usual), key=len)


def _norms_of_data(rows: Sequence[Row]) -> list[str]:
    """Of whole models on the data of their task: as drawn, or with the weights of a training."""

    def key(row: Row) -> Any:
        study = study_of(row.task)
        own = None if study.weights else (study.inputs, data_words(row))
        return row.batch, place(row), bool(study.weights), own

    return [_norms_of_model(part) for part in alike(rows, key)]


def _norms_of_model(rows: Sequence[Row]) -> str:
    first, study = rows[0], study_of(rows[0].task)
    words = ["study", "norms", "--inputs", "none", *listed("framework", rows), *listed("batch", rows), *place(first)]
    if study.weights:
        return line(words, weight_words(rows))
    words += [*flag("task", [study.inputs]), *listed("layer", rows)]
    return line(words, flag("seeds", sorted({row.seed for row in rows})), settings(data_words(first)))


def data_words(row: Row) -> list[str]:
    """Options of layer and task that are not those of preset small."""
    as_trained = row.model_copy(update={"task": study_of(row.task).inputs})
    base = base_of(as_trained, "small")
    return [*task_words(row), *unlike(row, defaults(row.layer) | (base.options if base else {}))]


def _equivalence(rows: Sequence[Row]) -> list[str]:
    def key(row: Row) -> Any:
        return row.d_model, row.d_state, row.seq_len, row.batch, place(row), unlike(row, defaults(row.layer))

    return [
        line(
            ["study", "equivalence", *listed("framework", part), *flag("seeds", sorted({row.seed for row in part}))],
            *(listed(name, part) for name in ("d_model", "d_state", "seq_len", "batch")),
            place(part[0]),
            settings(unlike(part[0], defaults(part[0].layer))),
        )
        for part in alike(rows, key)
    ]


def _period(rows: Sequence[Row]) -> list[str]:
    def key(row: Row) -> Any:
        return period_flags(row), row.spec.real_state_size, place(row), _period_words(row)

    return [_period_of(part) for part in alike(rows, key)]


def _period_of(rows: Sequence[Row]) -> str:
    first = rows[0]
    words = ["study", "period", *listed("layer", rows), *listed("framework", rows)]
    words += [*flag("seeds", sorted({row.seed for row in rows})), "--state", str(first.spec.real_state_size)]
    return line(words, recipe_flags(period_flags(first)), place(first), settings(_period_words(first)))


def period_flags(row: Row) -> dict[str, Any]:
    """Features, and the values of the recipe that are not the study's own."""
    found = differing(row, period_recipe([row.layer], {}, []).model_dump() | {"d_state": row.d_state})
    return found | {"d_model": row.d_model}


def _period_words(row: Row) -> list[str]:
    usual = {**defaults(row.layer), **PERIOD_OPTIONS.get(row.layer, {})}
    return [*task_words(row), *unlike(row, usual)]


MAKERS: Mapping[str, Callable[[Sequence[Row]], list[str]]] = {
    "norms": _norms,
    "norms of data": _norms_of_data,
    "equivalence": _equivalence,
    "period": _period,
}
