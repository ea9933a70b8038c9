"""What rows say at a glance, in sentences that rank nothing beyond what was measured."""

from collections.abc import Sequence

from benchmark.reports import numbers as n
from benchmark.reports.environments import environments
from benchmark.reports.labels import algorithm, variants
from benchmark.reports.recipes import made_by
from benchmark.reports.results import data_kind, history
from benchmark.reports.trained import score_text
from benchmark.store.row import Row


def findings(rows: Sequence[Row]) -> list[str]:
    """Times at the greatest length, and scores of trainings; one line that says so if there is neither.

    Args:
        rows: the last of each cell.
    """
    ok = [row for row in rows if row.status == "ok"]
    names = environments(rows)
    if len(set(names.values())) < 2:
        names = dict.fromkeys(names, "")
    speed = [row for row in ok if row.metric == "speed" and row.subject == "layer"]
    training = [row for row in ok if row.metric == "train"]
    found = [*_speed_findings(speed, names), *_training_findings(training, names)]
    if not rows:
        return ["Nothing has been measured yet."]
    return found or ["No time and no training among these results." if ok else "No cell has a result."]


def _speed_findings(rows: Sequence[Row], names: dict[str, str]) -> list[str]:
    """For each environment, framework, direction and variant, the layers at the greatest length by their time."""
    timed = [row for row in rows if row.seq_len and row.median_ms]
    words = variants(timed, ("batch", "d_model"))
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in timed:
        common = ", ".join(word for word in words[row.cell_id].split(", ") if word.split("=")[0] not in row.options)
        key = (names[row.cell_id], row.framework, row.direction or "", common)
        groups.setdefault(key, []).append(row)
    return [_speed_finding(", ".join(filter(None, key)), members) for key, members in groups.items()]


def _speed_finding(where: str, rows: Sequence[Row]) -> str:
    longest = max(row.seq_len or 0 for row in rows)
    ranked = sorted((row for row in rows if row.seq_len == longest), key=lambda row: row.median_ms or 0)
    own = variants(ranked)
    times = "; ".join(
        f"{_who(row, own[row.cell_id])} {n.significant(row.median_ms)} ms [{n.interval(row.ci_low_ms, row.ci_high_ms)}]"
        for row in ranked
    )
    missing = sorted({row.layer for row in rows} - {row.layer for row in ranked})
    gap = f"; no result at this length: {', '.join(missing)}" if missing else ""
    return f"{where}, length {n.count(longest)}: {times}{gap}."


def _who(row: Row, variant: str) -> str:
    """A layer with what tells it from the others of a list."""
    return f"{row.layer} ({', '.join(part for part in (algorithm(row), variant) if part)})"


def _training_findings(rows: Sequence[Row], names: dict[str, str]) -> list[str]:
    ordered = sorted(rows, key=lambda row: (row.task or "", data_kind(row), row.framework, row.layer))
    return [_training_finding(members, names[members[0].cell_id]) for members in alike(ordered, names)]


def alike(rows: Sequence[Row], names: dict[str, str]) -> list[list[Row]]:
    """Trainings that differ in nothing but their seeds.

    Args:
        rows: trainings.
        names: by cell, its environment.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        recipe = row.recipe.model_dump_json() if row.recipe else ""
        sizes = (str(row.d_model), str(row.d_state), str(row.options), row.algorithm, row.dtype, row.precision)
        key = (row.task or "", row.framework, row.layer, *sizes, recipe, row.device, names[row.cell_id])
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _training_finding(rows: Sequence[Row], where: str) -> str:
    """What trainings reached that differ in nothing but their seeds."""
    first, seeds = rows[0], sorted(row.seed for row in rows)
    scores = [score for row in rows if (score := history(row).get("test_score", row.test_accuracy)) is not None]
    measure = history(first).get("measure")
    spread = f", from {score_text(measure, min(scores))} to {score_text(measure, max(scores))}" if scores[1:] else ""
    mean = score_text(measure, sum(scores) / len(scores)) if scores else "no score"
    hours = [row.device_hours for row in rows if row.device_hours is not None]
    took = f"after {n.significant(sum(hours) / len(hours))} device-hours" if hours else "in a time that is not known"
    if hours:
        took += f" ({n.duration(sum(hours) / len(hours) * 3600)}) a run"
    word = f"seeds {', '.join(map(str, seeds))}" if len(seeds) > 1 else f"seed {seeds[0]}"
    place = f"{where}, " if where else ""
    return (
        f"{place}{first.layer} in {first.framework} reaches {mean} on {first.task}, {data_kind(first)} data, "
        f"{made_by(first)} ({word}{spread}), {took}."
    )
