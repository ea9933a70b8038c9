"""The gate: a build fails where results have become worse than a baseline."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.compare import (
    SOURCE,
    Allow,
    Markdown,
    Metric,
    Stored,
    append,
    chosen_quantities,
    paired,
)
from benchmark.commands.options import RUNS, Json
from benchmark.console import CHECK_FAILED, NOTHING_MEASURED, OK, Progress, leave, say, show, show_json, warn

if TYPE_CHECKING:
    from benchmark.regress.builds import Builds
    from benchmark.regress.gating import Decision
    from benchmark.regress.pairing import Pairing
    from benchmark.regress.quantities import Quantity
    from benchmark.regress.settings import GateSettings


def gate(
    results: Annotated[str, typer.Argument(help=f"What was measured now. {SOURCE}")] = str(RUNS),
    baseline: Annotated[str, typer.Option("--baseline", help=f"What it is held against. {SOURCE}")] = "",
    fail_on: Annotated[
        str | None, typer.Option("--fail-on", help="How much worse is too much, as in 5%.", show_default="5%")
    ] = None,
    metric: Metric = [],
    rerun: Annotated[
        bool, typer.Option("--rerun", help="Measure suspicious cells again, by turns with the baseline's build.")
    ] = False,
    rerun_budget_s: Annotated[
        float | None,
        typer.Option("--rerun-budget-s", help="Seconds for --rerun; then the last finished look decides.", min=0),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail too where the threshold cannot be ruled out.")] = False,
    require_baseline: Annotated[
        bool, typer.Option("--require-baseline", help="Exit with 3 if any cell or metric of either side is alone.")
    ] = False,
    allow_different: Allow = [],
    folder: Stored = RUNS,
    checkout: Annotated[
        Path | None, typer.Option("--checkout", help="The git checkout whose code was measured.", show_default="own")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="TOML file with a table named gate; rotbench.toml here is read anyway."),
    ] = None,
    markdown: Markdown = None,
    junit: Annotated[Path | None, typer.Option("--junit", help="File for JUnit XML.")] = None,
    json: Json = False,
) -> None:
    """Fail if cells have become worse than a baseline: exit 1 for a regression, 3 if nothing could be compared."""
    from benchmark.regress.builds import ROOT
    from benchmark.regress.settings import read_settings
    from benchmark.regress.sources import NothingToCompareError, read_source
    from benchmark.reports.compare import source_line
    from benchmark.spec.errors import UserError

    if not baseline:
        raise UserError("gate needs --baseline: a folder, a file or a git ref to hold the results against")
    settings = read_settings(config, {"fail_on": fail_on} if fail_on else {})
    chosen = chosen_quantities(metric)
    try:
        sources = {"baseline": read_source(baseline, folder), "now": read_source(results, folder)}
        pairing = paired(sources, [*settings.allow_different, *allow_different])
        old = _stale(pairing, checkout or ROOT, rerun, Path(results).exists())
    except NothingToCompareError as error:
        _publish(_nothing(str(error)), [], markdown, junit, json)
        raise
    with _builds(rerun, checkout or ROOT, rerun_budget_s) as builds:
        decision = _decide(pairing, chosen, settings, strict, builds, require_baseline)
    decision = replace(decision, notes=(*decision.notes, *old))
    lines = [source_line(side, source) for side, source in sources.items()]
    _publish(decision, lines, markdown, junit, json)
    leave(_exit_code(decision))


def _decide(
    pairing: "Pairing",
    chosen: "list[Quantity]",
    settings: "GateSettings",
    strict: bool,
    builds: "Builds | None",
    complete: bool,
) -> "Decision":
    from datetime import UTC, datetime

    from benchmark.regress.gating import gate as decide
    from benchmark.regress.verdicts import changes, lacking

    found, alone = changes(pairing.pairs, chosen), lacking(pairing.pairs, chosen)
    return decide(found, pairing, settings, datetime.now(UTC).date(), strict, builds, alone, complete)


@contextmanager
def _builds(rerun: bool, checkout: Path, budget_s: float | None) -> "Iterator[Builds | None]":
    """What measures again, if that is asked for."""
    from benchmark.regress.builds import Builds
    from benchmark.regress.ending import unwinding

    if not rerun:
        yield None
        return
    limit_s = math.inf if budget_s is None else budget_s
    with (
        unwinding(),
        Progress("measuring again") as progress,
        Builds(checkout, progress.say, progress.advance, limit_s) as builds,
    ):
        yield builds


def _stale(pairing: "Pairing", checkout: Path, rerun: bool, is_place: bool) -> list[str]:
    """A line if what is compared was not measured at the commit that is checked out.

    A place may hold anything, so that is only said; what is measured again must be the same code.
    """
    from benchmark.regress.freshness import stale
    from benchmark.regress.sources import NothingToCompareError

    why = stale([row for pair in pairing.pairs for row in pair.after], checkout)
    if why and rerun:
        raise NothingToCompareError(f"--rerun needs rows of the code that it measures: {why}")
    return [f"careful: {why}"] if why and is_place else []


def _nothing(why: str) -> "Decision":
    """The decision where there are no two sources."""
    from benchmark.regress.gating import Decision
    from benchmark.regress.pairing import Pairing

    return Decision([], Pairing(), notes=(why,))


def _publish(decision: "Decision", lines: list[str], markdown: Path | None, junit: Path | None, json: bool) -> None:
    """Print the decision and write its files."""
    from benchmark.reports.gate import gate_json, gate_table, to_junit, to_summary, verdict_line
    from benchmark.store.files import write_whole

    if markdown:
        append(markdown, to_summary(decision, lines))
    if junit:
        write_whole(junit, to_junit(decision))
    if json:
        show_json(gate_json(decision))
        return
    for line in lines:
        say(line)
    table = gate_table(decision)
    if table.rows:
        show(table)
    else:
        for note in table.notes:
            say(note)
    say(verdict_line(decision))


def _exit_code(decision: "Decision") -> int:
    """Nothing compared is neither passed nor failed."""
    match decision.outcome:
        case "passed":
            return OK
        case "failed":
            return CHECK_FAILED
        case "incomplete":
            warn(f"--require-baseline: {decision.uncompared} cells or metrics are on one side only, or differ too much")
        case "nothing measured":
            warn("every cell ended without a result, so nothing is known")
        case "nothing compared":
            warn("nothing could be compared with the baseline, so nothing is known")
    return NOTHING_MEASURED
