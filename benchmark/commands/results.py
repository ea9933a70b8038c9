"""Commands on results that are there, and on settings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from benchmark.commands.options import RUNS, Json, Words
from benchmark.console import NOTHING_MEASURED, leave, rows_as_json, say, show, show_json, warn
from benchmark.sweeps.config import PRESETS, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    form: Annotated[
        str,
        typer.Option(
            "--format", help="csv, json, md, parquet; the newest of each cell: pytest-benchmark, action-json."
        ),
    ] = "csv",
    commit: Annotated[str, typer.Option("--commit", help="Only rows of the commit that begins so.")] = "",
    better: Annotated[
        str, typer.Option("--better", help="action-json: figures of which smaller, or bigger, is better.")
    ] = "smaller",
    out: Annotated[Path | None, typer.Option("--out", help="File; stdout if left out.")] = None,
) -> None:
    """Write all rows in another form; parquet is one file of results for as many as there are."""
    from benchmark.spec import UserError
    from benchmark.store.files import write_rows, write_whole

    rows = _of_commit(read_results(results)[0], commit)
    if form == "parquet":
        if out is None:
            raise UserError("parquet is not text: name a file with --out; it reads as results do")
        write_rows(out, rows)
        return
    text = _exported(rows, form, better)
    write_whole(out, text) if out else say(text.rstrip("\n"))


@results_app.command("import")
def results_import(
    files: Annotated[list[Path], typer.Argument(help="Files of another tool.")],
    form: Annotated[str, typer.Option("--format", help="pytest-benchmark, action-json.")] = "pytest-benchmark",
    out: Annotated[Path, typer.Option("--out", help="Folder for the rows.")] = Path("results/runs/imported"),
) -> None:
    """Turn another tool's results into rows; those that do not say which cell they measured are named.

    A test of pytest-benchmark says so by parameters or extra_info with a cell's names: layer, framework, seq_len, ...
    """
    from benchmark.store.files import prepare_folder, write
    from benchmark.store.interchange import imported

    found = [imported(path, form) for path in files]
    prepare_folder(out)
    rows = [row for entry in found for row in entry.rows]
    for row in rows:
        write(out, row)
    for name, why in (passed for entry in found for passed in entry.passed_over):
        warn(f"{name} is left out: {why}")
    say(f"{len(rows)} row{'s' if len(rows) != 1 else ''} in {out}/cells")


def _of_commit(rows: "list[Row]", commit: str) -> "list[Row]":
    """The rows measured at a commit; ends the command where there is none."""
    found = [row for row in rows if str(row.environment.get("commit") or "").startswith(commit)]
    if not found:
        warn(f"no row was measured at a commit that begins with {commit!r}; `rotbench results list --json` has them")
        leave(NOTHING_MEASURED)
    return found


def _exported(rows: "list[Row]", form: str, better: str) -> str:
    from benchmark.reports import listing
    from benchmark.spec.errors import unknown
    from benchmark.store import interchange

    if form in listing.FORMS:
        return listing.exported(rows, form)
    if form not in interchange.FORMS:
        raise unknown("format", form, (*listing.FORMS, "parquet", *interchange.FORMS))
    if better not in get_args(interchange.Better):
        raise unknown("--better", better, get_args(interchange.Better))
    return interchange.exported(rows, form, "bigger" if better == "bigger" else "smaller")


@results_app.command("merge")
def results_merge(
    results: Annotated[list[Path], typer.Argument(help="Results folders or files.")],
    out: Annotated[Path, typer.Option("--out", help="Folder that gets copies of all rows.")],
) -> None:
    """Put the rows of several folders into one; a row that is there already is not copied again."""
    from benchmark.reports.numbers import counted
    from benchmark.store.maintenance import merge

    copied, bad = merge(results, out)
    tell_bad(bad)
    say(f"{counted(copied, 'file')} copied to {out}/cells")


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


def read_results(results: list[Path], needed: bool = True) -> "tuple[list[Row], list[tuple[Path, str]]]":
    """Rows and damaged files, each of which is named; ends the command where rows are needed and there is none."""
    from benchmark.store import files

    rows, bad = files.read(list(results))
    tell_bad(bad)
    if needed and not rows:
        warn(f"no results in {', '.join(map(str, results))}: run `rotbench speed` or `rotbench train` first")
        leave(NOTHING_MEASURED)
    return rows, bad


def tell_bad(bad: "Sequence[tuple[Path, str]]") -> None:
    """Name the files that could not be read."""
    for path, reason in bad:
        warn(f"{path} could not be read and is left out: {reason}")
