"""Result rows as tables: speed, training, costs, failures."""

from collections.abc import Iterable

from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.store.row import Row


def latest(rows: Iterable[Row]) -> list[Row]:
    """The last row of every cell, in the order in which the cells first came."""
    return list({row.cell_id: row for row in rows}.values())


def speed_table(rows: list[Row], title: str = "Speed") -> Table:
    """One line a timed cell, shortest sequences first."""
    ordered = sorted(rows, key=lambda r: (r.direction or "", r.seq_len or 0, r.layer, r.framework, r.algorithm))
    return Table(
        title,
        [
            "layer",
            "framework",
            "algorithm",
            "direction",
            "length",
            "batch",
            "d_model",
            "state",
            "median ms",
            "95 % interval",
            "tokens/s",
            "GFLOP/s",
            "compile s",
            "gate error",
            "status",
        ],
        [
            [
                r.layer,
                r.framework,
                r.algorithm,
                r.direction or n.MISSING,
                n.count(r.seq_len),
                n.count(r.batch),
                n.count(r.d_model),
                n.count(r.real_state_size),
                n.significant(r.median_ms),
                n.interval(r.ci_low_ms, r.ci_high_ms),
                n.scaled(r.tokens_per_s),
                n.significant(_gflops(r)),
                n.significant(r.compile_s),
                n.error(r.gate_error),
                r.status,
            ]
            for r in ordered
        ],
        frozenset(
            {
                "length",
                "batch",
                "d_model",
                "state",
                "median ms",
                "95 % interval",
                "tokens/s",
                "GFLOP/s",
                "compile s",
                "gate error",
            }
        ),
        [
            "state: real numbers carried from step to step. GFLOP/s: analytic FLOPs over the median (docs/costs.md). "
            "gate error: relative, of a small call against the oracle, before timing."
        ],
        ("gate error", "GFLOP/s", "compile s", "d_model", "batch", "tokens/s", "state", "95 % interval"),
    )


def _gflops(row: Row) -> float | None:
    return row.flops / row.median_ms / 1e6 if row.flops and row.median_ms else None


def training_table(rows: list[Row], title: str = "Training") -> Table:
    """One line a training."""
    ordered = sorted(rows, key=lambda r: (r.task or "", r.framework, r.layer, r.seed))
    return Table(
        title,
        [
            "task",
            "layer",
            "framework",
            "seed",
            "parameters",
            "test accuracy",
            "validation",
            "best epoch",
            "wall time",
            "device-hours",
            "device",
            "status",
        ],
        [
            [
                r.task or n.MISSING,
                r.layer,
                r.framework,
                str(r.seed),
                n.count(r.param_count),
                n.percent(r.test_accuracy),
                n.percent(r.validation_accuracy),
                str(r.history["best_epoch"]) if r.history else n.MISSING,
                n.duration(r.train_wall_s),
                n.significant(r.device_hours),
                str(r.notes.get("device_name", r.device)),
                r.status,
            ]
            for r in ordered
        ],
        frozenset({"seed", "parameters", "test accuracy", "validation", "best epoch", "wall time", "device-hours"}),
        [
            "Test accuracy is that of the epoch that was best on the validation split. "
            "Device-hours are wall time x devices of the device named."
        ],
        ("device", "best epoch", "validation", "seed", "wall time", "task"),
    )


def cost_table(rows: list[Row], title: str = "Parameters, state and FLOPs") -> Table:
    """What each timed layer costs on paper: the same for both frameworks."""
    lines = {}
    for r in sorted(rows, key=lambda r: (r.layer, r.algorithm, r.direction or "", r.seq_len or 0)):
        if r.flops is None:
            continue
        tokens = r.batch * (r.seq_len or 1)
        key = (r.layer, r.algorithm, r.direction, r.seq_len, r.batch, r.d_model, r.d_state)
        lines[key] = [
            r.layer,
            r.algorithm,
            r.direction or n.MISSING,
            n.count(r.seq_len),
            n.count(r.param_count),
            n.count(r.real_state_size),
            n.scaled(r.flops, "FLOP"),
            n.count(round(r.flops / tokens)),
            n.scaled(r.traffic_bytes, "B"),
        ]
    return Table(
        title,
        [
            "layer",
            "algorithm",
            "direction",
            "length",
            "parameters",
            "state",
            "FLOPs a call",
            "FLOPs a token",
            "bytes a call",
        ],
        list(lines.values()),
        frozenset({"length", "parameters", "state", "FLOPs a call", "FLOPs a token", "bytes a call"}),
        ["Analytic, one convention for both frameworks: real add 1, mul 1; complex add 2, mul 6; see docs/costs.md."],
        ("bytes a call", "state"),
    )


def failure_table(rows: list[Row], title: str = "Cells without a result") -> Table:
    """Every cell that did not end well, with the reason."""
    return Table(
        title,
        ["status", "metric", "layer", "framework", "algorithm", "length or task", "reason"],
        [
            [r.status, r.metric, r.layer, r.framework, r.algorithm, r.task or n.count(r.seq_len), r.reason or n.MISSING]
            for r in rows
            if r.status != "ok"
        ],
    )
