"""Commands that hold results against older ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.options import RUNS, Json, Words
from benchmark.console import CHECK_FAILED, NOTHING_MEASURED, OK, Progress, leave, say, show, show_json, warn

if TYPE_CHECKING:
    from benchmark.regress.gating import Decision
    from benchmark.regress.pairing import Pairing
    from benchmark.regress.quantities import Quantity
    from benchmark.regress.settings import GateSettings
    from benchmark.regress.sources import Source
    from benchmark.regress.verdicts import Change

SOURCE = "A folder, a file (.parquet, or .json of results export), REF or REF:FOLDER of git, or FOLDER@COMMIT."
Metric = Annotated[
    Words, typer.Option("--metric", help="ms, tokens/s, energy_j, accuracy, ...; the usual if left out.")
]
Allow = Annotated[
    Words, typer.Option("--allow-different", help="Compare in spite of this difference, as in versions; repeat it.")
]
Stored = Annotated[Path, typer.Option("--folder", help="Where results are, for a REF that names no folder.")]
Markdown = Annotated[Path | None, typer.Option("--markdown", help="File to append to, as $GITHUB_STEP_SUMMARY.")]


def compare(
    before: Annotated[str, typer.Argument(help=SOURCE)],
    after: Annotated[str, typer.Argument(help=SOURCE)],
    metric: Metric = [],
    allow_different: Allow = [],
    folder: Stored = RUNS,
    minimum_effect: Annotated[
        float, typer.Option("--minimum-effect", help="Smallest relative difference that is called one.")
    ] = 0.02,
    alpha: Annotated[float, typer.Option("--alpha", help="Share of verdicts that may be false.")] = 0.05,
    markdown: Markdown = None,
    json: Json = False,
) -> None:
    """Compare two sources of results cell by cell: faster, slower, the same or can't tell; exit 3 if nothing fits."""
    from benchmark.regress.sources import read_source
    from benchmark.regress.verdicts import changes, judge
    from benchmark.reports.compare import comparison_json, comparison_tables, pairing_lines, source_line
    from benchmark.reports.tables import to_markdown

    _check_shares(minimum_effect, alpha)
    chosen = _quantities(metric)
    sources = {"before": read_source(before, folder), "after": read_source(after, folder)}
    pairing = _paired(sources, allow_different)
    found = judge(changes(pairing.pairs, chosen), minimum_effect, alpha)
    lines = [source_line(side, source) for side, source in sources.items()]
    tables = comparison_tables(found)
    if json:
        show_json(comparison_json(found, pairing))
    else:
        for line in lines:
            say(line)
        for table in tables:
            show(table)
    if markdown:
        _append(markdown, "\n\n".join([*lines, *map(to_markdown, tables), *pairing_lines(pairing)]) + "\n")
    for line in pairing_lines(pairing):
        warn(line)
    if not found:
        warn("nothing could be compared: no cell is in both sources under the same conditions with a value")
        leave(NOTHING_MEASURED)


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
    strict: Annotated[bool, typer.Option("--strict", help="Fail too where the threshold cannot be ruled out.")] = False,
    require_baseline: Annotated[
        bool, typer.Option("--require-baseline", help="Exit with 3 if any cell has no baseline to be compared with.")
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
    from benchmark.regress.settings import read_settings
    from benchmark.regress.sources import read_source
    from benchmark.regress.verdicts import changes
    from benchmark.reports.compare import source_line
    from benchmark.spec.errors import UserError

    if not baseline:
        raise UserError("gate needs --baseline: a folder, a file or a git ref to hold the results against")
    settings = read_settings(config, {"fail_on": fail_on} if fail_on else {})
    chosen = _quantities(metric)
    sources = {"baseline": read_source(baseline, folder), "now": read_source(results, folder)}
    pairing = _paired(sources, [*settings.allow_different, *allow_different])
    found = changes(pairing.pairs, chosen)
    decision = _decide(found, pairing, settings, strict, checkout if rerun else None, rerun)
    lines = [source_line(side, source) for side, source in sources.items()]
    _publish(decision, lines, markdown, junit, json)
    leave(_exit_code(decision, require_baseline))


def _decide(
    found: "list[Change]",
    pairing: "Pairing",
    settings: "GateSettings",
    strict: bool,
    checkout: Path | None,
    rerun: bool,
) -> "Decision":
    from datetime import UTC, datetime

    from benchmark.regress.builds import ROOT, Builds
    from benchmark.regress.gating import gate as decide

    today = datetime.now(UTC).date()
    if not rerun:
        return decide(found, pairing, settings, today, strict)
    with Progress("measuring again") as progress, Builds(checkout or ROOT, progress.say, progress.advance) as builds:
        return decide(found, pairing, settings, today, strict, builds)


def _publish(decision: "Decision", lines: list[str], markdown: Path | None, junit: Path | None, json: bool) -> None:
    """Print the decision and write its files."""
    from benchmark.reports.gate import gate_json, gate_table, to_junit, to_summary, verdict_line
    from benchmark.store.files import write_whole

    if markdown:
        _append(markdown, to_summary(decision, lines))
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


def _exit_code(decision: "Decision", require_baseline: bool) -> int:
    """Nothing compared is neither passed nor failed."""
    if decision.failed:
        return CHECK_FAILED
    if not decision.gated:
        warn("nothing could be compared with the baseline, so nothing is known")
        return NOTHING_MEASURED
    missing = len(decision.pairing.only_after) + len(decision.pairing.refused)
    if require_baseline and missing:
        warn(f"--require-baseline: {missing} cells have no baseline that they can be compared with")
        return NOTHING_MEASURED
    return OK


def _paired(sources: "dict[str, Source]", allowed: Words) -> "Pairing":
    """The two sources side by side; files that could not be read are named."""
    from benchmark.regress.conditions import check_allowed
    from benchmark.regress.pairing import pair
    from benchmark.sweeps.grid import words

    keys = check_allowed(words(allowed))
    for source in sources.values():
        for path, reason in source.bad:
            warn(f"{path} could not be read and is left out: {reason}")
    before, after = sources.values()
    return pair(before.rows, after.rows, keys)


def _quantities(names: Words) -> "list[Quantity]":
    from benchmark.regress.quantities import quantities
    from benchmark.sweeps.grid import words

    return quantities(words(names))


def _check_shares(minimum_effect: float, alpha: float) -> None:
    from benchmark.spec.errors import UserError

    if not 0 <= minimum_effect < 1:
        raise UserError(f"--minimum-effect must lie in [0, 1), got {minimum_effect:g}")
    if not 0 < alpha < 1:
        raise UserError(f"--alpha must lie between 0 and 1, got {alpha:g}")


def _append(path: Path, text: str) -> None:
    """Add to a file that others write to as well."""
    from benchmark.spec.errors import UserError

    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; choose another file with --markdown") from None
