"""One line for a finished cell."""

from benchmark.reports import numbers as n
from benchmark.store.row import Row


def line(row: Row, done: int, of: int) -> str:
    """What was measured and what came out, after its number among all."""
    where = row.task or (f"length {n.count(row.seq_len)}" if row.seq_len else "")
    what = " ".join(part for part in (row.framework, row.layer, row.algorithm, row.direction, where) if part)
    if row.status != "ok":
        result = f"{row.status}: {row.reason}"
    elif row.metric == "train":
        result = f"test accuracy {n.percent(row.test_accuracy)} in {n.duration(row.train_wall_s)}"
    else:
        result = f"{n.significant(row.median_ms)} ms [{n.interval(row.ci_low_ms, row.ci_high_ms)}]"
    return f"[{done}/{of}] {what}: {result}"
