"""The checks of ``verify`` as a table and a verdict."""

import math
from collections.abc import Sequence

from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.verification.compare import Check

COLUMNS = (
    ("torch", "values"),
    ("torch", "gradients"),
    ("jax", "values"),
    ("jax", "gradients"),
    ("twins", "values"),
    ("twins", "gradients"),
)


def check_table(checks: Sequence[Check]) -> Table:
    """The worst error of each layer, algorithm and dtype over all cases."""
    groups: dict[tuple[str, str, str], list[Check]] = {}
    for check in checks:
        groups.setdefault((check.case.layer, check.algorithm, check.dtype), []).append(check)
    subjects = [column for column in COLUMNS if any((c.subject, c.kind) == column for c in checks)]
    rows = []
    for (layer, algorithm, dtype), members in groups.items():
        worst = [_worst([c for c in members if (c.subject, c.kind) == column]) for column in subjects]
        verdict = "ok" if all(c.passed for c in members) else "FAILED"
        rows.append([layer, algorithm, dtype, *(n.error(value) for value in worst), verdict])
    names = [f"{subject}\n{kind}" for subject, kind in subjects]
    cases = len({c.case for c in checks})
    return Table(
        f"Largest relative errors over {cases} cases",
        ["layer", "algorithm", "dtype", *names, "verdict"],
        rows,
        frozenset(names),
        [
            "torch and jax: against the oracle, complex128 loops from the papers; gradients along random directions. "
            "twins: torch against jax, elementwise."
        ],
        ("twins\nvalues", "jax\nvalues", "torch\nvalues"),
    )


def _worst(checks: Sequence[Check]) -> float | None:
    return max((math.inf if math.isnan(c.error) else c.error for c in checks), default=None)


def failures(checks: Sequence[Check]) -> list[str]:
    """One line for every check that failed."""
    return [
        f"{c.case.label}, {c.algorithm}, {c.dtype}: {c.subject} {c.kind} differ by {n.error(c.error)} in {c.worst}"
        f", more than {c.tolerance:g}"
        for c in checks
        if not c.passed
    ]


def verdict(checks: Sequence[Check]) -> str:
    """The outcome in one line."""
    failed = sum(not c.passed for c in checks)
    return f"{len(checks):,} checks passed" if not failed else f"{failed:,} of {len(checks):,} checks failed"
