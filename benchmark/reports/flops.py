"""FLOPs of cells as tables: totals, terms, and what the frameworks' counters see of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.spec.costs import MACS
from benchmark.spec.devices import item_bytes
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.process import Limits, Pool, worker_environment

CONVENTION = (
    "Real add 1, mul 1; complex add 2, mul 6; product of matrices 2 m k n; FFT 5 n log2 n, half if real; "
    "exponentials 0 (docs/costs.md)."
)


@dataclass(frozen=True)
class Cost:
    """The FLOPs of one cell by term, and by framework what its counter says."""

    cell: Cell
    algorithm: str
    terms: dict[str, int]
    traffic: int
    counters: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """FLOPs of one call."""
        return sum(self.terms.values())

    @property
    def macs(self) -> int:
        """Multiply-accumulates in the terms that consist of nothing else: products of matrices."""
        return sum(count // 2 for name, count in self.terms.items() if name in MACS)


def resolved_costs(cells: Sequence[Cell]) -> list[Cost]:
    """Costs of the cells, equal for both frameworks and so once for cells that differ in the framework alone.

    ``auto`` differs between frameworks, so it is asked of each.
    """
    names = _resolve([cell for cell in cells if cell.algorithm == "auto"])
    found: dict[tuple[Any, ...], Cost] = {}
    for cell in cells:
        spec, algorithm = cell.spec, names.get(cell.id, cell.algorithm)
        terms = spec.flops(cell.seq_len or 1, cell.batch, algorithm, cell.direction or "forward")
        traffic = spec.traffic_bytes(cell.seq_len or 1, cell.batch, cell.direction or "forward", item_bytes(cell.dtype))
        key = (spec, cell.seq_len, cell.batch, algorithm, cell.direction, cell.dtype)
        found.setdefault(key, Cost(cell, algorithm, terms, sum(traffic.values())))
    return list(found.values())


def _resolve(cells: Sequence[Cell]) -> dict[str, str]:
    """The algorithm that ``auto`` stands for, by cell, from each framework in a process of its own."""
    names: dict[str, str] = {}
    with Pool("spawn") as pool:
        for framework in dict.fromkeys(cell.framework for cell in cells):
            asked = [cell.cell_values() for cell in cells if cell.framework == framework]
            variables = worker_environment(threads=0, device="cpu")
            outcome = pool.run("benchmark.sweeps.jobs:resolve", {"cells": asked}, variables)
            names |= outcome.result or {}
    return names


def counted(costs: Sequence[Cost], on_progress: Callable[[int, int], None] = lambda *_: None) -> list[Cost]:
    """The costs with the counters of every framework beside them; a counter that fails says why."""
    from benchmark import backends

    frameworks = backends.installed()
    found = []
    with Pool() as pool:
        for index, cost in enumerate(costs):
            seen = {}
            for number, framework in enumerate(frameworks):
                cell = cost.cell.model_copy(update={"framework": framework, "algorithm": cost.algorithm})
                variables = worker_environment(threads=cell.threads, device=cell.device, dtype=cell.dtype)
                payload = {"cell": cell.cell_values()}
                outcome = pool.run(
                    "benchmark.sweeps.jobs:count",
                    payload,
                    variables,
                    framework=framework,
                    limits=Limits(timeout_s=600),
                )
                seen[framework] = outcome.result or {"counter": f"{outcome.status}: {outcome.reason}"}
                on_progress(index * len(frameworks) + number + 1, len(costs) * len(frameworks))
            found.append(replace(cost, counters=seen))
    return found


def flops_table(costs: Sequence[Cost]) -> Table:
    """One line a call."""
    frameworks = list(dict.fromkeys(name for cost in costs for name in cost.counters))
    names = ["layer", "algorithm", "direction", "length", "batch", "FLOPs", "FLOPs a token", "MACs", "FLOP/B"]
    names += [part for framework in frameworks for part in (f"{framework}\ncounter", f"{framework}\ncoverage")]
    lines = []
    for cost in costs:
        cell = cost.cell
        line = [cell.layer, cost.algorithm, cell.direction or n.MISSING, n.count(cell.seq_len), n.count(cell.batch)]
        line += [n.scaled(cost.total), n.count(round(cost.total / cell.tokens)), n.scaled(cost.macs)]
        line += [n.significant(cost.total / cost.traffic)]
        for framework in frameworks:
            counter = cost.counters.get(framework, {}).get("counter_flops")
            line += [n.scaled(counter), n.percent(None if counter is None else counter / cost.total)]
        lines.append(line)
    notes = [CONVENTION, "MACs: of the matrix products, where a multiplication and an addition always come together."]
    if frameworks:
        notes += ["counter: torch's FlopCounterMode, XLA's cost_analysis; coverage: their share of the analytic count."]
        notes += sorted({c["counter"] for cost in costs for c in cost.counters.values() if "counter" in c})
    return Table("FLOPs of one call", names, lines, frozenset(names[3:]), notes, ("FLOP/B", "MACs", "batch"))


def explained(costs: Sequence[Cost]) -> list[Table]:
    """Each call's terms, largest first."""
    tables = []
    for cost in costs:
        lines = [
            [name, f"{count:,}", n.percent(count / cost.total)]
            for name, count in sorted(cost.terms.items(), key=lambda item: -item[1])
        ]
        lines.append(["total", f"{cost.total:,}", n.percent(1.0)])
        cell = cost.cell
        title = f"{cell.layer}, {cost.algorithm}, {cell.direction}, length {n.count(cell.seq_len)}, batch {cell.batch}"
        tables.append(Table(title, ["term", "FLOPs", "share"], lines, frozenset({"FLOPs", "share"})))
    return tables


def as_json(costs: Sequence[Cost]) -> list[dict[str, Any]]:
    """The costs as JSON values."""
    return [
        {
            "cell": cost.cell.cell_values(),
            "algorithm": cost.algorithm,
            "flops": cost.total,
            "macs": cost.macs,
            "traffic_bytes": cost.traffic,
            "terms": cost.terms,
            "counters": cost.counters,
        }
        for cost in costs
    ]
