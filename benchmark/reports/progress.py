"""One line for a finished cell."""

from benchmark.reports import numbers as n
from benchmark.reports.labels import algorithm, layer
from benchmark.reports.trained import score_text
from benchmark.store.row import Row


def line(row: Row, done: int, of: int) -> str:
    """What was measured and what came out, after its number among all."""
    where = row.task or (f"length {n.count(row.seq_len)}" if row.seq_len else "")
    parts = [row.framework, layer(row), algorithm(row), row.direction, where]
    if row.metric == "roofline":
        parts = [row.framework, row.device, row.dtype, row.precision]
    what = " ".join(part for part in parts if part)
    return f"[{done}/{of}] {what}: {_result(row)}"


def _result(row: Row) -> str:
    if row.status != "ok":
        return f"{row.status}: {row.reason}"
    match row.metric:
        case "train":
            history = row.detail.get("history", {})
            score = score_text(history.get("measure"), history.get("test_score", row.test_accuracy))
            return f"test score {score} in {n.duration(row.train_wall_s)}"
        case "study":
            from benchmark.reports.studies import result_line  # its answers lead back here

            return result_line(row)
        case "roofline":
            return f"{n.scaled(row.detail['flops_per_s'], 'FLOP/s')}, {n.scaled(row.detail['bytes_per_s'], 'B/s')}"
        case "memory":
            return f"RSS +{n.scaled(row.rss_delta_bytes, 'B')}, peak {n.scaled(row.rss_peak_bytes, 'B')}"
    return f"{n.significant(row.median_ms)} ms [{n.interval(row.ci_low_ms, row.ci_high_ms)}]{_warning(row)}"


def _warning(row: Row) -> str:
    """The first warning of any process, if there is one."""
    said = warnings_of(row)
    return f" ({said[0]})" if said else ""


def warnings_of(row: Row) -> list[str]:
    """The warnings of all processes of a row."""
    return [word for words in _lists(row.detail.get("warnings", [])) for word in words]


def _lists(value: list[object]) -> list[list[str]]:
    """One list a process: where all processes agree there is only one."""
    return value if value and isinstance(value[0], list) else [value]  # type: ignore[list-item,return-value]
