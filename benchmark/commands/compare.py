"""Results held against older ones, and what the gate shares with that: sources, pairs, options."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.options import RUNS, Json, Words
from benchmark.console import NOTHING_MEASURED, leave, say, show, show_json, warn

if TYPE_CHECKING:
    from benchmark.regress.pairing import Pairing
    from benchmark.regress.quantities import Quantity
    from benchmark.regress.sources import Source

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
    from benchmark.regress.verdicts import changes, judge, lacking
    from benchmark.reports.compare import comparison_json, comparison_tables, source_line
    from benchmark.reports.pairing import uncompared_lines
    from benchmark.reports.tables import to_markdown

    _check_shares(minimum_effect, alpha)
    chosen = chosen_quantities(metric)
    sources = {"before": read_source(before, folder), "after": read_source(after, folder)}
    pairing = paired(sources, allow_different)
    found = judge(changes(pairing.pairs, chosen), minimum_effect, alpha)
    alone = lacking(pairing.pairs, chosen)
    lines = [source_line(side, source) for side, source in sources.items()]
    tables = comparison_tables(found)
    if json:
        show_json(comparison_json(found, pairing, alone))
    else:
        for line in lines:
            say(line)
        for table in tables:
            show(table)
    if markdown:
        append(markdown, "\n\n".join([*lines, *map(to_markdown, tables), *uncompared_lines(pairing, alone)]) + "\n")
    for line in uncompared_lines(pairing, alone):
        warn(line)
    if not found:
        warn("nothing could be compared: no cell is in both sources under the same conditions with a value")
        leave(NOTHING_MEASURED)


def paired(sources: "dict[str, Source]", allowed: Words) -> "Pairing":
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


def chosen_quantities(names: Words) -> "list[Quantity]":
    """The quantities of --metric."""
    from benchmark.regress.quantities import quantities
    from benchmark.sweeps.grid import words

    return quantities(words(names))


def _check_shares(minimum_effect: float, alpha: float) -> None:
    from benchmark.spec.errors import UserError

    if not 0 <= minimum_effect < 1:
        raise UserError(f"--minimum-effect must lie in [0, 1), got {minimum_effect:g}")
    if not 0 < alpha < 1:
        raise UserError(f"--alpha must lie between 0 and 1, got {alpha:g}")


def append(path: Path, text: str) -> None:
    """Add to a file that others write to as well."""
    from benchmark.spec.errors import UserError

    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; choose another file with --markdown") from None
