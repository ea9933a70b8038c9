"""What the gate says: a table, Markdown for a summary of a build, JUnit XML, JSON."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

from benchmark.regress.gating import Decision, Gated
from benchmark.regress.verdicts import effect_of
from benchmark.reports import numbers as n
from benchmark.reports.as_json import finite
from benchmark.reports.compare import (
    CELL,
    OPTIONAL,
    cell_words,
    change_json,
    effect_text,
    interval_text,
    level_text,
)
from benchmark.reports.pairing import cell_name, pairing_json, uncompared_lines
from benchmark.reports.tables import Table, to_markdown
from benchmark.store.row import Row

MOST_OPEN = 10
"""Cells of verdict can't tell that a table shows; JSON and JUnit have all."""


def gate_table(decision: Decision) -> Table:
    """Cells that are not plainly all right, the worst first; what became of the others is counted below."""
    shown = shown_in(decision)
    words = cell_words([entry.change.row for entry in shown])
    lines = [_line(entry, words[entry.change.row.cell_id]) for entry in shown]
    names = ["verdict", "metric", *CELL, "before", "after", "effect", "95 % interval", "fails on", "processes", "note"]
    numeric = frozenset(names[10:15])
    return Table("Gate", names, lines, numeric, notes_of(decision), ("processes", *OPTIONAL))


def shown_in(decision: Decision) -> list[Gated]:
    """The cells that a table shows."""
    open_ = [entry for entry in decision.gated if entry.verdict == "can't tell"][:MOST_OPEN]
    return [entry for entry in decision.gated if entry.verdict in {"regression", "expected"} or entry in open_]


def _line(entry: Gated, words: list[str]) -> list[str]:
    quantity = entry.change.quantity
    before, after = entry.change.levels
    effect = effect_of(quantity, entry.estimate)
    return [
        entry.verdict,
        quantity.name,
        *words,
        level_text(quantity, before),
        level_text(quantity, after),
        effect_text(quantity, effect.median),
        interval_text(quantity, effect),
        n.percent(entry.share),
        f"{entry.pairs} + {entry.pairs}, again" if entry.pairs else n.MISSING,
        entry.note,
    ]


def notes_of(decision: Decision) -> list[str]:
    """Counts, what was not compared, and what the words mean."""
    counts = {
        word: sum(entry.verdict == word for entry in decision.gated)
        for word in ("regression", "can't tell", "expected", "ok")
    }
    hidden = len([e for e in decision.gated if e.verdict == "can't tell"]) - MOST_OPEN
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    notes = [f"Comparisons: {len(decision.gated)}, {told}."] if decision.gated else []
    if counts["can't tell"]:
        notes.append(
            "can't tell: not shown to be worse, but the interval reaches the threshold; --rerun or more --processes "
            f"narrow it, --strict fails on it{f' ({hidden} more than are shown)' if hidden > 0 else ''}."
        )
    if any(entry.pairs for entry in decision.gated):
        notes.append("Effects of cells measured again are of these new processes alone; before and after are not.")
    return [*notes, *uncompared_lines(decision.pairing, decision.lacking), *decision.notes]


def verdict_line(decision: Decision) -> str:
    """The whole in one line."""
    compared = f"{len(decision.gated)} compared"
    match decision.outcome:
        case "failed":
            return f"gate: FAILED, {', '.join(_failures(decision))}"
        case "incomplete":
            return f"gate: INCOMPLETE, {compared}, {decision.uncompared} cells or metrics not (--require-baseline)"
        case "passed":
            open_ = sum(entry.verdict == "can't tell" for entry in decision.gated)
            unsure = f", {open_} of them can't tell" if open_ else ""
            return f"gate: passed, {compared}{unsure}"
    return f"gate: {decision.outcome}"


def _failures(decision: Decision) -> list[str]:
    bad = sum(entry.verdict == "regression" for entry in decision.gated)
    parts = [f"{bad} of {len(decision.gated)} comparisons are regressions"] if bad else []
    if broken := len(decision.pairing.broken):
        parts.append(f"{broken} cells have no result any more")
    open_ = sum(entry.verdict == "can't tell" for entry in decision.gated)
    if decision.strict and open_:
        parts.append(f"{open_} cannot rule the threshold out (--strict)")
    return parts


def to_summary(decision: Decision, sources: Sequence[str] = ()) -> str:
    """Markdown, for the summary of a build."""
    table = gate_table(decision)
    lines = [f"## rotbench {verdict_line(decision)}", *sources]
    body = to_markdown(table) if table.rows else "\n\n".join(table.notes)
    return "\n\n".join([*lines, body]) + "\n"


def to_junit(decision: Decision) -> str:
    """JUnit XML: a test case a comparison; regressions are failures, what cannot be told is skipped.

    Where nothing is known of the whole, one more case is an error: it is neither passed nor failed.
    """
    suite = ET.Element("testsuite", name="rotbench gate")
    for entry in decision.gated:
        _case(suite, entry, decision.strict)
    for _, after in decision.pairing.broken:
        case = ET.SubElement(suite, "testcase", classname=f"rotbench.{after.metric}", name=_name(after, "result"))
        _told(case, "failure", f"{after.status}: {after.reason or ''}")
    for refused in decision.pairing.refused:
        row = refused.row
        case = ET.SubElement(suite, "testcase", classname=f"rotbench.{row.metric}", name=_name(row, "comparable"))
        _told(case, "skipped", f"not comparable: {'; '.join(refused.why)}")
    if decision.outcome not in {"passed", "failed"}:
        case = ET.SubElement(suite, "testcase", classname="rotbench", name="gate")
        _told(case, "error", "; ".join([verdict_line(decision), *decision.notes]))
    for kind, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
        suite.set(kind, str(len(suite.findall(f".//{tag}"))))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _told(case: ET.Element, kind: str, message: str) -> None:
    """Why a case has not passed; XML has no place for control characters."""
    ET.SubElement(case, kind, message="".join(c if c.isprintable() else " " for c in message))


def _name(row: Row, what: str) -> str:
    return f"{cell_name(row)} {what} [{row.cell_id}]"


def _case(suite: ET.Element, entry: Gated, strict: bool) -> None:
    row, quantity = entry.change.row, entry.change.quantity
    case = ET.SubElement(suite, "testcase", classname=f"rotbench.{row.metric}", name=_name(row, quantity.name))
    effect = effect_of(quantity, entry.estimate)
    message = f"{effect_text(quantity, effect.median)} ({interval_text(quantity, effect)}), fails on {entry.share:.1%}"
    message += f"; {entry.note}" if entry.note else ""
    if entry.verdict == "regression" or (strict and entry.verdict == "can't tell"):
        _told(case, "failure", f"{entry.verdict}: {message}")
    elif entry.verdict in {"can't tell", "expected"}:
        _told(case, "skipped", f"{entry.verdict}: {message}")


def gate_json(decision: Decision) -> dict[str, Any]:
    """All that the gate has found, as JSON values."""
    return {
        "outcome": decision.outcome,
        "failed": decision.failed,
        "strict": decision.strict,
        "comparisons": [_as_json(entry) for entry in decision.gated],
        "notes": list(decision.notes),
    } | pairing_json(decision.pairing, decision.lacking)


def _as_json(entry: Gated) -> dict[str, Any]:
    effect = effect_of(entry.change.quantity, entry.estimate)
    name = "ratio" if entry.change.quantity.scale == "ratio" else "difference"
    return change_json(entry.change) | {
        name: finite(effect.median),
        "ci_low": finite(effect.low),
        "ci_high": finite(effect.high),
        "test": entry.estimate.test,
        "verdict": entry.verdict,
        "fails_on": entry.share,
        "pairs_measured_again": entry.pairs,
        "note": entry.note,
        "expected_until": str(entry.expectation.until) if entry.expectation else None,
    }
