"""The command that holds sentences to results."""

from pathlib import Path
from typing import Annotated

import typer

from benchmark.commands.options import RUNS, Json
from benchmark.commands.results import read_results
from benchmark.console import CHECK_FAILED, NOTHING_MEASURED, OK, leave, show, show_json, warn


def claims(
    file: Annotated[Path, typer.Argument(help="Markdown whose sentences claim something, such as a paper's abstract.")],
    results: Annotated[list[Path], typer.Argument(help="Results folders or files.")] = [RUNS],
    json: Json = False,
    allow_undecided: Annotated[
        bool, typer.Option("--allow-undecided", help="Exit with 0 also where data do not decide.")
    ] = False,
    alpha: Annotated[float, typer.Option("--alpha", help="Chance of any false verdict in the file.")] = 0.05,
    minimum_effect: Annotated[
        float, typer.Option("--minimum-effect", help="Smallest relative difference of time or memory that counts.")
    ] = 0.02,
    minimum_points: Annotated[
        float, typer.Option("--minimum-points", help="Likewise of accuracy, in percentage points; needed for 'equal'.")
    ] = 0.0,
) -> None:
    """Judge the claims of a Markdown file by results; exit 1 unless all are supported, 3 if none could be judged."""
    from benchmark.reports.claim_criteria import Criteria
    from benchmark.reports.claim_file import claims_in, text_of
    from benchmark.reports.claim_table import claim_table, claims_json, unclear_table
    from benchmark.reports.claims import judge

    criteria = Criteria(alpha, minimum_effect, minimum_points / 100)
    text = text_of(file)
    rows, _ = read_results(results)
    found, unclear = claims_in(text, rows)
    judged = judge(found, rows, criteria)
    if json:
        show_json(claims_json(judged, unclear))
    else:
        if judged:
            show(claim_table(judged))
        if unclear:
            show(unclear_table(unclear))
    verdicts = {entry.verdict for entry in judged}
    if not verdicts - {"not measured"}:
        warn("no claim could be judged" if judged else f"no sentence of {file} was understood as a claim")
        leave(NOTHING_MEASURED)
    fine = {"supported", "undecided"} if allow_undecided else {"supported"}
    leave(OK if verdicts <= fine else CHECK_FAILED)
