"""The JSON of pytest-benchmark, of all versions since 2.5: times in seconds, one machine and one commit a file.

What changed over its versions and matters here: 2.5 has no ``params``, no ``extra_info`` and only the
commit's id; ``ops`` came with 3.1, ``total`` and ``data`` were not always written; the processor is
``brand`` or ``brand_raw`` and may be missing; old dates have no time zone and are UTC.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import mean, quantiles, stdev
from typing import Any

from benchmark.metrics.statistics import median_interval
from benchmark.spec.errors import UserError
from benchmark.store.interchange import KEY, Imported, NothingImportedError, cell_from, row_from, words_of
from benchmark.store.row import Row
from benchmark.store.soundness import is_positive

VERSION = "5.0.0"
"""Of the format that is written."""


def rows_of(document: Any, name: str) -> Imported:
    """The rows of a document.

    A result is a row if ``extra_info`` holds one (``document`` puts it there), or if ``params`` and
    ``extra_info`` together name a cell. Its processes are one, whatever its rounds.

    Raises:
        UserError: if it is no document of pytest-benchmark.
        NothingImportedError: if no benchmark is in it.
    """
    if not isinstance(document, dict) or not isinstance(document.get("benchmarks"), list):
        raise UserError(f"{name} must be JSON of pytest-benchmark, with a list named benchmarks; see --benchmark-json")
    if not document["benchmarks"]:
        raise NothingImportedError(f"{name} holds no benchmark: pytest selected none, or all were skipped")
    found = Imported([], [])
    for entry in document["benchmarks"]:
        title = str(entry.get("fullname") or entry.get("name")) if isinstance(entry, dict) else "an entry"
        row = _row(entry, document) if isinstance(entry, dict) else "it is no table"
        found.passed_over.append((title, row)) if isinstance(row, str) else found.rows.append(row)
    return found


def _row(entry: Mapping[str, Any], document: Mapping[str, Any]) -> Row | str:
    stats, extra = entry.get("stats"), _table(entry, "extra_info")
    if not isinstance(stats, dict) or not is_positive(stats.get("median")):
        return "it has no median"
    data = stats["data"] if isinstance(stats.get("data"), list) else []
    samples_ms = [second * 1e3 for second in data] if all(map(is_positive, data)) else []
    if isinstance(extra.get(KEY), dict) and "cell_id" in extra[KEY]:
        return row_from(extra[KEY] | ({"samples_ms": samples_ms} if samples_ms else {}))
    own = extra[KEY] if isinstance(extra.get(KEY), dict) else {}
    cell = cell_from(_table(entry, "params") | extra | own)
    if isinstance(cell, str):
        return cell
    median_ms = stats["median"] * 1e3
    interval = median_interval(samples_ms) if len(samples_ms) > 1 else None
    found = {
        "cell_id": cell.id,
        "created_at": _when(document.get("datetime")),
        "status": "ok",
        "median_ms": median_ms,
        "ci_low_ms": interval.low if interval else None,
        "ci_high_ms": interval.high if interval else None,
        "process_medians_ms": [median_ms],
        "samples_ms": samples_ms or None,
        "detail": {"imported": f"pytest-benchmark {document.get('version')}", "test": str(entry.get("fullname"))},
        "environment": _environment(document),
    }
    return row_from(cell.cell_values() | found)


def _table(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name)
    return dict(found) if isinstance(found, dict) else {}


def _when(text: Any) -> datetime:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return datetime.now(UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _environment(document: Mapping[str, Any]) -> dict[str, Any]:
    """Machine and commit in the words of our own rows. The host's name stays behind."""
    machine, commit = _table(document, "machine_info"), _table(document, "commit_info")
    cpu = _table(machine, "cpu")
    commit_id = commit.get("id") if commit.get("id") not in ("unknown", "unversioned") else None
    found = {
        "cpu": cpu.get("brand_raw") or cpu.get("brand"),
        "cpus": cpu.get("count"),
        "system": " ".join(str(machine[name]) for name in ("system", "machine") if name in machine) or None,
        "python": machine.get("python_version"),
        "commit": commit_id,
        "dirty": commit.get("dirty") if commit_id else None,
        "start": "pytest-benchmark",
    }
    return {name: value for name, value in found.items() if value is not None}


def document(rows: Sequence[Row]) -> dict[str, Any]:
    """Timed rows as pytest-benchmark writes them; their whole record is in ``extra_info``.

    Raises:
        NothingImportedError: if no row has a time.
        UserError: if rows were measured on different machines or commits, of which a file has one.
    """
    timed = [row for row in rows if row.status == "ok" and row.median_ms]
    if not timed:
        raise NothingImportedError("no row has a time, and pytest-benchmark's form holds nothing else; measure speed")
    for name in ("commit", "cpu", "cpus", "python"):
        found = {str(row.environment.get(name)) for row in timed}
        if len(found) > 1:
            raise UserError(
                f"a file of pytest-benchmark has one {name}, these rows have {len(found)}: {', '.join(sorted(found))}; "
                "choose rows with --commit, or name fewer folders"
            )
    newest = max(timed, key=lambda row: row.created_at)
    return {
        "machine_info": _machine_info(newest.environment),
        "commit_info": _commit_info(newest.environment),
        "benchmarks": [_benchmark(row) for row in timed],
        "datetime": newest.created_at.isoformat(),
        "version": VERSION,
    }


def _machine_info(environment: Mapping[str, Any]) -> dict[str, Any]:
    system, _, machine = str(environment.get("system", "")).partition(" ")
    return {
        "node": "",
        "processor": machine,
        "machine": machine,
        "python_version": environment.get("python", ""),
        "system": system,
        "release": "",
        "cpu": {"brand_raw": environment.get("cpu", ""), "count": environment.get("cpus")},
    }


def _commit_info(environment: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": environment.get("commit") or "unversioned",
        "time": None,
        "author_time": None,
        "dirty": bool(environment.get("dirty")),
        "project": KEY,
        "branch": "(unknown)",
    }


def _benchmark(row: Row) -> dict[str, Any]:
    title = f"test_{row.metric.replace('-', '_')}[{words_of(row)}]"
    seconds = [sample / 1e3 for sample in row.samples_ms or [row.median_ms or 0.0]]
    return {
        "group": f"{row.metric} {row.direction or ''}".strip(),
        "name": title,
        "fullname": f"{KEY}::{title}",
        "params": {"layer": row.layer, "framework": row.framework, "seq_len": row.seq_len},
        "param": words_of(row),
        "extra_info": {KEY: row.model_dump(mode="json", exclude_none=True, exclude={"samples_ms"})},
        "options": {"disable_gc": False, "timer": "perf_counter", "min_rounds": 5, "max_time": 0.0, "warmup": True},
        "stats": _stats(seconds, (row.median_ms or 0.0) / 1e3),
    }


def _stats(seconds: Sequence[float], median: float) -> dict[str, Any]:
    """The figures that pytest-benchmark compares and prints; ``median`` is the row's own, over its processes."""
    middle, spread = mean(seconds), stdev(seconds) if len(seconds) > 1 else 0.0
    q1, _, q3 = quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else [median] * 3
    reach = 1.5 * (q3 - q1)
    beyond = sum(abs(value - middle) > spread for value in seconds)
    fences = [value for value in seconds if q1 - reach <= value <= q3 + reach]
    return {
        "min": min(seconds),
        "max": max(seconds),
        "mean": middle,
        "stddev": spread,
        "rounds": len(seconds),
        "median": median,
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": len(seconds) - len(fences),
        "stddev_outliers": beyond,
        "outliers": f"{beyond};{len(seconds) - len(fences)}",
        "ld15iqr": min(fences, default=q1),
        "hd15iqr": max(fences, default=q3),
        "ops": 1 / middle,
        "total": sum(seconds),
        "data": list(seconds),
        "iterations": 1,
    }
