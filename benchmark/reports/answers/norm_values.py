"""What rows of the study of norms say: their growth, their level, and which of them belong together."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmark.reports import numbers as n
from benchmark.reports.answers.studied import studied
from benchmark.reports.answers.variants import named
from benchmark.reports.evidence import machine
from benchmark.reports.recipes import trained_as, words
from benchmark.store.row import Row
from benchmark.studies.names import study_of
from benchmark.studies.norms import growth_exponent

TOLD = ("normalizer", "gamma")
"""Options that make a state what it is, and are named even where they are the layer's own."""

SHARED = ("layer", "framework", "seq_len", "d_model", "d_state", "options", "dtype", "device", "threads", "batch")


def alike(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of norms that differ in their seeds alone; of trained weights, in the seeds of the trainings."""
    found: dict[str, list[Row]] = {}
    for row in studied(rows, "norms"):
        found.setdefault(words(setting_of(row)), []).append(row)
    return list(found.values())


def setting_of(row: Row) -> dict[str, Any]:
    """What rows that are taken together agree in."""
    study = study_of(row.task)
    found = {name: getattr(row, name) for name in SHARED} | machine(row)
    found |= {"inputs": study.inputs, "weights": weights_of(row)}
    if study.weights:
        found |= trained_as(row)
    return {name: words(value) for name, value in found.items()}


def subject_of(row: Row) -> str:
    """The layer with its normaliser, as a sentence names it."""
    return named(row, TOLD)


def drive_of(row: Row) -> str:
    """What the layer was driven with, and whether it had been trained."""
    return f"{study_of(row.task).inputs} inputs, {weights_of(row)}"


def weights_of(row: Row) -> str:
    """Where the weights come from."""
    study = study_of(row.task)
    if study.weights is None:
        return "as initialised"
    return origin_of(row) if study.step is None else f"{origin_of(row)} for {n.counted(study.step, 'step')}"


def origin_of(row: Row) -> str:
    """On what trained weights were trained, and in what, where it was another framework than looked at them."""
    task, trained_in = row.detail.get("trained_on"), row.detail.get("trained_in", row.framework)
    text = f"trained on {task}" if task else "trained"
    return text if trained_in == row.framework else f"{text} in {trained_in}"


def ended(rows: Iterable[Row]) -> list[Row]:
    """Rows of norms as initialised or after a training, without those of its course."""
    return [row for row in studied(rows, "norms") if study_of(row.task).step is None]


def snapshots(rows: Iterable[Row]) -> list[Row]:
    """Rows of norms in the course of a training."""
    return [row for row in studied(rows, "norms") if study_of(row.task).step is not None]


def exponents(rows: Sequence[Row]) -> list[float]:
    """By seed, the growth of the mean square over the last decade of time; of several blocks that which grows most."""
    found = []
    for row in rows:
        grown = [_exponent(row.detail["times"], squares(block)) for block in row.detail["blocks"]]
        known = [value for value in grown if value is not None]
        if known:
            found.append(max(known))
    return found


def squares(block: Mapping[str, Any]) -> list[float | None]:
    """Mean squares over time: of all white inputs where these are known exactly, else of those that were drawn."""
    return list(block.get("exact") or block["mean_square"])


def _exponent(times: Sequence[int], values: Sequence[float | None]) -> float | None:
    known = [(t, v) for t, v in zip(times, values, strict=True) if v is not None]
    return growth_exponent([t for t, _ in known], [v for _, v in known]) if known else None


def curve(rows: Sequence[Row]) -> list[tuple[int, float]]:
    """The mean square of the last block over time, mean over seeds, at the times at which all of them have one."""
    found = [dict(zip(row.detail["times"], squares(row.detail["blocks"][-1]), strict=True)) for row in rows]
    values = [(t, [by_time.get(t) for by_time in found]) for t in found[0]]
    known = [(t, [value for value in listed if value]) for t, listed in values]
    return [(t, statistics.fmean(listed)) for t, listed in known if len(listed) == len(rows)]


def level(rows: Sequence[Row]) -> float | None:
    """The mean square at the last time that is known, of the largest block, mean over seeds."""
    found = [value for row in rows if (value := _level(row)) is not None]
    return statistics.fmean(found) if found else None


def _level(row: Row) -> float | None:
    last = [next((v for v in reversed(squares(b)) if v is not None), None) for b in row.detail["blocks"]]
    return max((value for value in last if value is not None), default=None)


def limit(rows: Sequence[Row]) -> float | None:
    """Where the mean square of a layer's one block tends by formula, mean over seeds; None where that is not known."""
    found = [row.detail["blocks"][0].get("limit") if len(row.detail["blocks"]) == 1 else None for row in rows]
    known = [float(value) for value in found if value is not None]
    return statistics.fmean(known) if known and len(known) == len(found) else None


def is_exact(rows: Sequence[Row]) -> bool:
    """Whether all levels are those of all white inputs, by formula."""
    return all(block.get("exact") for row in rows for block in row.detail["blocks"])
