"""Commands on results that are there, and on settings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.options import RUNS, Json, Words
from benchmark.console import NOTHING_MEASURED, leave, rows_as_json, say, show, show_json, warn
from benchmark.sweeps.config import PRESETS, resolve

if TYPE_CHECKING:
    from benchmark.store.row import Row

results_app = typer.Typer(
    help="Look at results, take them out, put them together, clear them up.", no_args_is_help=True
)
config_app = typer.Typer(help="The settings of a sweep.", no_args_is_help=True)


@results_app.command("list")
def results_list(
    results: Annotated[list[Path], typer.Argument(help="Results folders or files.")] = [RUNS],
    status: Annotated[Words, typer.Option("--status", help="Only rows of these statuses.")] = [],
    json: Json = False,
) -> None:
    """List the cells that have rows."""
    from benchmark.reports.listing import row_table
    from benchmark.sweeps.grid import words

    rows, _ = read_results(results)
    chosen = [row for row in rows if not status or row.status in words(status)]
    show_json(rows_as_json(chosen)) if json else show(row_table(chosen))


@results_app.command("show")
def results_show(
    cell: Annotated[str, typer.Argument(help="A cell's id, or the beginning of one; see rotbench results list.")],
    results: Annotated[list[Path], typer.Argument(help="Results folders or files.")] = [RUNS],
    json: Json = False,
) -> None:
    """Show everything that is known of one cell."""
    from benchmark.reports.listing import detail_table, one_row

    row = one_row(read_results(results)[0], cell)
    show_json(rows_as_json([row])[0]) if json else show(detail_table(row))


@results_app.command("export")
def results_export(
    results: Annotated[list[Path], typer.Argument(help="Results folders or files.")] = [RUNS],
    form: Annotated[str, typer.Option("--format", help="csv, json, md.")] = "csv",
    out: Annotated[Path | None, typer.Option("--out", help="File; stdout if left out.")] = None,
) -> None:
    """Write all rows in another form."""
    from benchmark.reports.listing import exported
    from benchmark.store.files import write_whole

    text = exported(read_results(results)[0], form)
    write_whole(out, text) if out else say(text.rstrip("\n"))


@results_app.command("merge")
def results_merge(
    results: Annotated[list[Path], typer.Argument(help="Results folders or files.")],
    out: Annotated[Path, typer.Option("--out", help="Folder that gets copies of all rows.")],
) -> None:
    """Put the rows of several folders into one; a row that is there already is not copied again."""
    from benchmark.store.maintenance import merge

    say(f"{merge(results, out)} rows copied to {out}/cells")


@results_app.command("prune")
def results_prune(
    results: Annotated[list[Path], typer.Argument(help="Results folders.")] = [RUNS],
    status: Annotated[Words, typer.Option("--status", help="Also rows of these statuses.")] = [],
    yes: Annotated[bool, typer.Option("--yes", help="Do it, instead of only saying what would be done.")] = False,
) -> None:
    """Delete rows that newer ones of the same cell have replaced, left-over temporaries and damaged files."""
    from benchmark.store.maintenance import prune
    from benchmark.sweeps.grid import words

    count = 0
    for path, why in prune(results, words(status), yes):
        say(f"{'deleted' if yes else 'would delete'} {path}: {why}")
        count += 1
    if not count:
        say("nothing to delete")
    elif not yes:
        say(f"{count} files; --yes deletes them")


@config_app.command("show")
def config_show(
    preset: Annotated[str | None, typer.Option("--preset", help=f"One of {', '.join(PRESETS)}.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="TOML file with a table named sweep.")] = None,
    json: Json = False,
) -> None:
    """Print every setting of a sweep, and where its value comes from."""
    from benchmark.reports.catalogue import settings_table

    resolved = resolve({}, preset, config)
    values = resolved.sweep.model_dump(by_alias=True)
    if json:
        show_json({name: {"value": values[name], "from": resolved.origins[name]} for name in values})
    else:
        show(settings_table(resolved))


def read_results(results: list[Path]) -> "tuple[list[Row], list[tuple[Path, str]]]":
    """Rows and damaged files, each of which is named; ends the command where there is no row."""
    from benchmark.store import files

    rows, bad = files.read(list(results))
    for path, reason in bad:
        warn(f"{path} could not be read and is left out: {reason}")
    if not rows:
        warn(f"no results in {', '.join(map(str, results))}: run `rotbench speed` or `rotbench train` first")
        leave(NOTHING_MEASURED)
    return rows, bad
