"""Judged claims as a table and as JSON."""

from collections.abc import Sequence
from typing import Any

from benchmark.metrics.inference import Exact
from benchmark.reports import numbers as n
from benchmark.reports.claim_grammar import Unclear
from benchmark.reports.claim_tests import labels
from benchmark.reports.claims import Judged
from benchmark.reports.listing import SHORT_ID
from benchmark.reports.tables import Table

MOST_SHOWN = 6
"""Comparisons of a claim that the table shows; JSON has all."""


def claim_table(found: Sequence[Judged]) -> Table:
    """One line a claim; below, for each, where it was compared and the command that measures that again."""
    names = ["claim", "", "verdict", "evidence", "why", "p", "p adjusted"]
    rows = [
        [f"[{i}]", entry.claim.text, entry.verdict, _evidence(entry), entry.why, _p(entry.p), _p(entry.p_adjusted)]
        for i, entry in enumerate(found, 1)
    ]
    family = sum(entry.p is not None for entry in found)
    notes = [
        f"p: two-sided, of the verdict's statement; adjusted: over the {family} claims here in which chance has a part "
        "(Holm). x: ratio of the first layer to the other, with its 95 % interval. See docs/statistics.md.",
        *(f"[{i}] line {entry.claim.line}: {_source(entry)}" for i, entry in enumerate(found, 1)),
    ]
    return Table("Claims", names, rows, frozenset({"p", "p adjusted"}), notes, ("p",))


def unclear_table(found: Sequence[Unclear]) -> Table:
    """Sentences that look like claims and were not judged."""
    rows = [[str(entry.line), entry.text, entry.why] for entry in found]
    note = "Not judged: say it in a form of docs/statistics.md, one claim a sentence."
    return Table("Not understood", ["line", "sentence", "why"], rows, frozenset({"line"}), [note])


def _evidence(entry: Judged) -> str:
    """The figures of each comparison; where all were made stands in the note."""
    if len(entry.tests) == 1:
        return entry.tests[0].figures
    lines = [f"{words}: {test.figures}" for words, test in zip(labels(entry.tests)[1], entry.tests, strict=True)]
    more = [f"and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
    return "\n".join([*lines[:MOST_SHOWN], *more]) or n.MISSING


def _p(value: float | None) -> str:
    if value is None:
        return n.MISSING
    return "<1e-4" if value < 1e-4 else n.significant(value, 2)


def _source(entry: Judged) -> str:
    """Where a claim was compared, by what, the command, and the cells."""
    if not entry.tests:
        return f"run {entry.command}"
    common, own = labels(entry.tests)
    bases = dict.fromkeys(test.basis for test in entry.tests)
    cells = [cell[:SHORT_ID] for cell in entry.cell_ids]
    listed = ", ".join(cells[:MOST_SHOWN]) + (f" and {len(cells) - MOST_SHOWN} more" if len(cells) > MOST_SHOWN else "")
    return f"{common or own[0]} ({'; '.join(bases)}; cells {listed}): {entry.command}"


def claims_json(found: Sequence[Judged], unclear: Sequence[Unclear]) -> dict[str, Any]:
    """Everything that is known of each claim, as JSON values."""
    return {
        "claims": [_judged_json(entry) for entry in found],
        "not_understood": [entry._asdict() for entry in unclear],
    }


def _judged_json(entry: Judged) -> dict[str, Any]:
    return {
        "line": entry.claim.line,
        "claim": entry.claim.text,
        "verdict": entry.verdict,
        "why": entry.why,
        "p": entry.p,
        "p_adjusted": entry.p_adjusted,
        "command": entry.command,
        "cell_ids": entry.cell_ids,
        "comparisons": [
            {
                "where": test.label,
                "figures": test.figures,
                "n": test.size,
                "test": test.estimate.test,
                "chance": not isinstance(test.estimate, Exact),
                "cell_ids": [row.cell_id for row in test.rows],
            }
            for test in entry.tests
        ],
    }
