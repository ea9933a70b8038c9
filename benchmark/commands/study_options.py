"""What the study commands share: options, and how a study is run and told."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmark.commands.options import Words
from benchmark.commands.running import run
from benchmark.console import finish, rows_as_json, say, show, show_json

if TYPE_CHECKING:
    from benchmark.store.row import Row
    from benchmark.sweeps.cell import Cell
    from benchmark.sweeps.run import Effort

Seeds = Annotated[Words, typer.Option("--seeds", "--seed", help="Numbers, or ranges such as 0:3 for the first three.")]
SEEDS: Words = ["0:12"]
"""So many that a test over pairs of seeds can decide, also among the comparisons of all studies."""

Set = Annotated[
    Words, typer.Option("--set", help="An option of layer or task: heads=16, s5.blocks=4, task.length=100; repeat it.")
]
State = Annotated[int, typer.Option("--state", help="Real numbers of state of every layer.")]
Width = Annotated[int, typer.Option("--d-model", help="Features.")]


def frameworks_or_first(given: Words) -> Words:
    """Those that are named, else the first that is installed."""
    from benchmark import backends
    from benchmark.sweeps.plan import framework_names

    return framework_names(given or list(backends.installed()[:1]))


def axes_of(frameworks: Words, seeds: Words) -> list[dict[str, Any]]:
    """Framework and seed of every cell."""
    from benchmark.sweeps.grid import product
    from benchmark.sweeps.grid import seeds as seeds_of
    from benchmark.sweeps.plan import check_seed

    return product(framework=frameworks, seed=[check_seed(seed) for seed in seeds_of(seeds)])


def measure_and_tell(
    name: str, cells: "list[Cell]", out: Path, effort: "Effort", wait: bool, as_json: bool
) -> "list[Row]":
    """Measure, print the study's tables and findings; end the command where cells have no result, else return all."""
    from benchmark.reports.studies import findings, tables

    rows = run(cells, out, effort, wait)
    if as_json:
        show_json(rows_as_json(rows))
    else:
        for table in tables(rows, name):
            show(table)
        for finding in findings(rows, name):
            say(finding.text)
    finish(rows, out, len(cells), as_json)
    return rows
