"""Result rows as tables: speed, memory, costs, failures; those of trainings are in ``benchmark.reports.trained``."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.labels import algorithm, common, layer, variants
from benchmark.reports.roofline import Ceilings, Share, share
from benchmark.reports.tables import Table
from benchmark.store.row import Row
from benchmark.sweeps.run import ENDED


class Column(NamedTuple):
    """A column's name, its text for a row, and whether it is numeric."""

    name: str
    text: Callable[[Row], str]
    numeric: bool = True


def latest(rows: Iterable[Row]) -> list[Row]:
    """The last row of every cell, in the order in which the cells first came."""
    return list({row.cell_id: row for row in rows}.values())


def table_of(
    title: str, rows: Sequence[Row], columns: list[Column], notes: list[str], optional: tuple[str, ...]
) -> Table:
    """A table with one line a row, and a column ``variant`` if rows would look alike without it."""
    words = variants(rows)
    if shared := common(rows):
        notes = [f"All rows: {shared}.", *notes]
    if any(words.values()):
        columns = [*columns[:-1], Column("variant", lambda row: words[row.cell_id], False), columns[-1]]
    return Table(
        title,
        [column.name for column in columns],
        [[column.text(row) for column in columns] for row in rows],
        frozenset(column.name for column in columns if column.numeric),
        notes,
        optional,
    )


def by_size(rows: Iterable[Row]) -> list[Row]:
    """Shortest sequences first."""
    return sorted(rows, key=lambda r: (r.direction or "", r.seq_len or 0, r.batch, r.layer, r.framework, r.algorithm))


CALL = [
    Column("layer", layer, False),
    Column("framework", lambda r: r.framework, False),
    Column("algorithm", algorithm, False),
    Column("direction", lambda r: r.direction or n.MISSING, False),
    Column("length", lambda r: n.count(r.seq_len)),
    Column("batch", lambda r: n.count(r.batch)),
    Column("d_model", lambda r: n.count(r.d_model)),
    Column("state", lambda r: n.count(r.real_state_size)),
]
STATUS = Column("status", lambda r: r.status, False)

SPEED = [
    *CALL,
    Column("median ms", lambda r: n.significant(r.median_ms)),
    Column("95 % interval", lambda r: n.interval(r.ci_low_ms, r.ci_high_ms)),
    Column("tokens/s", lambda r: n.scaled(r.tokens_per_s)),
    Column("GFLOP/s", lambda r: n.significant(r.flops_per_s / 1e9 if r.flops_per_s else None)),
    Column("compile s", lambda r: n.significant(r.compile_s)),
    Column("gate error", lambda r: n.error(r.gate_error)),
    STATUS,
]

MEMORY = [
    *CALL,
    Column("RSS peak", lambda r: n.scaled(r.rss_peak_bytes, "B")),
    Column("RSS delta", lambda r: n.scaled(r.rss_delta_bytes, "B")),
    Column("allocator peak", lambda r: n.scaled(r.allocator_peak_bytes, "B")),
    Column("reserved", lambda r: n.scaled(r.allocator_reserved_bytes, "B")),
    Column("XLA temp", lambda r: n.scaled(r.xla_temp_bytes, "B")),
    Column("NVML process", lambda r: n.scaled(r.nvml_process_bytes, "B")),
    STATUS,
]


def history(row: Row) -> dict[str, Any]:
    """What a training noted of itself."""
    found = row.detail.get("history")
    return found if isinstance(found, dict) else {}


def data_kind(row: Row) -> str:
    """What a training saw; what was not the task itself is in capitals."""
    if row.recipe is None:
        return n.MISSING
    kind = "STAND-IN" if row.recipe.data == "stand-in" else row.recipe.data
    return f"{kind}, labels SHUFFLED" if row.recipe.shuffled else kind


def speed_table(rows: Sequence[Row], title: str = "Speed", ceilings: Ceilings | None = None) -> Table:
    """One line a timed cell; with ceilings, how near each comes to those of its machine."""
    shares = {row.cell_id: found for row in rows if (found := share(row, ceilings or {})) is not None}
    processes = sorted({len(r.process_medians_ms) for r in rows if r.process_medians_ms})
    notes = [
        "state: real numbers carried from step to step. GFLOP/s: analytic FLOPs over the median (docs/costs.md). "
        "gate error: relative, of a small call against the oracle, before timing.",
        *_interval_notes(processes),
    ]
    if shares:
        notes.append(
            "FLOP/B: analytic FLOPs over bytes that unfused stages must move. MFU: FLOP/s over those of a large matrix "
            "product here. roof: over what that intensity allows; above 100 % where stages keep to the caches."
        )
    if impossible := sum(found.impossible for found in shares.values()):
        notes.append(f"{impossible} rows are faster than this machine can be: their time or their count is wrong.")
    optional = (
        "FLOP/B",
        "roof",
        "gate error",
        "GFLOP/s",
        "compile s",
        "d_model",
        "batch",
        "tokens/s",
        "state",
        "95 % interval",
        "variant",
    )
    return table_of(title, by_size(rows), [*SPEED[:-1], *_share_columns(shares), STATUS], notes, optional)


def _interval_notes(processes: Sequence[int]) -> list[str]:
    """How the intervals of rows of so many processes came about."""
    several = [str(count) for count in processes if count > 1]
    notes = [f"95 % interval: Student's over the medians of {' or '.join(several)} processes."] if several else []
    if 1 in processes or not processes:
        rows = "of rows of one process" if several else "one process was run"
        notes.append(f"95 % interval, {rows}: of its median, by bootstrap; spread between processes is not in it.")
    return notes


def _share_columns(shares: dict[str, Share]) -> list[Column]:
    """Intensity, MFU and share of the roof by cell; none where no ceiling is known."""

    def column(name: str, text: Callable[[Share], str]) -> Column:
        return Column(name, lambda r: text(shares[r.cell_id]) if r.cell_id in shares else n.MISSING)

    columns = [
        column("FLOP/B", lambda found: n.significant(found.intensity)),
        column("MFU", lambda found: n.percent(found.mfu) + (" impossible" if found.impossible else "")),
        column("roof", lambda found: n.percent(found.roof)),
    ]
    return columns if shares else []


def memory_table(rows: Sequence[Row], title: str = "Memory of one call") -> Table:
    """One line a cell, each kind of memory a column of its own."""
    notes = [
        "RSS: resident memory of the fresh process, at its peak during the first call, and above what it was before. "
        "allocator, reserved: the framework's own count. XLA temp: planned by the compiler. "
        f"{n.MISSING}: not known here, the reason is in the results."
    ]
    optional = ("NVML process", "reserved", "allocator peak", "d_model", "batch", "state", "RSS peak", "variant")
    return table_of(title, by_size(rows), MEMORY, notes, optional)


def cost_table(rows: Sequence[Row], title: str = "Parameters, state and FLOPs") -> Table:
    """What each timed layer costs on paper: the same for both frameworks."""
    words = variants(rows)
    lines = {}
    for r in by_size(rows):
        if r.flops is not None:
            line = [
                r.layer,
                r.algorithm_run or r.algorithm,
                r.direction or n.MISSING,
                n.count(r.seq_len),
                n.count(r.d_model),
                n.count(r.layer_param_count),
                n.count(r.real_state_size),
                n.scaled(r.flops, "FLOP"),
                n.count(round(r.flops / r.tokens)),
                n.scaled(r.detail.get("traffic_bytes"), "B"),
                words[r.cell_id],
            ]
            lines[(*line, r.batch)] = line
    names = ["layer", "algorithm", "direction", "length", "d_model", "parameters", "state"]
    names += ["FLOPs a call", "FLOPs a token", "bytes a call", "variant"]
    return Table(
        title,
        names,
        list(lines.values()),
        frozenset(names) - {"layer", "algorithm", "direction", "variant"},
        ["Analytic, one convention for both frameworks: real add 1, mul 1; complex add 2, mul 6; see docs/costs.md."],
        ("bytes a call", "state", "d_model"),
    )


def failure_table(rows: Sequence[Row], title: str = "Cells without a result") -> Table:
    """Every cell that did not end well, with the reason."""
    failed = [row for row in rows if row.status != "ok"]
    words = variants(rows)
    lines = [
        [
            r.status,
            r.metric,
            layer(r),
            r.framework,
            algorithm(r),
            r.direction or n.MISSING,
            r.task or n.count(r.seq_len),
            words[r.cell_id],
            r.reason or n.MISSING,
        ]
        for r in failed
    ]
    names = ["status", "metric", "layer", "framework", "algorithm", "direction", "length or task", "variant", "reason"]
    again = ",".join(dict.fromkeys(r.status for r in failed))
    notes = [f"The same command leaves these as they are; with --retry {again} it measures them again."]
    if any(r.metric == "train" and r.status not in ENDED for r in failed):
        notes.append("But a training that left a checkpoint goes on from it with the same command.")
    return Table(title, names, lines, notes=notes, optional=("variant", "metric", "direction", "algorithm"))
