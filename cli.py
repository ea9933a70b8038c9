"""The command line: each command parses, calls one function and prints one string.

Frameworks, pandas and everything else that is slow to import are loaded inside the commands, so
that ``rotbench --help`` and shell completion answer at once. Commands that measure are in
``benchmark/commands``.
"""

import sys
from typing import Annotated

import typer

from benchmark.commands import answer, claims, compare, gate, limits, measure, report, signal, train
from benchmark.commands.data import data_app
from benchmark.commands.history import history_app
from benchmark.commands.instructions import instructions
from benchmark.commands.options import Framework, Layer, Words
from benchmark.commands.results import config_app, results_app
from benchmark.commands.study import study_app
from benchmark.console import (
    CHECK_FAILED,
    INTERRUPTED,
    OK,
    USAGE,
    ExitError,
    Progress,
    leave,
    say,
    show,
    tame_streams,
    warn,
)

app = typer.Typer(
    name="rotbench",
    help="Measure linear recurrent layers in PyTorch and JAX: correctness, speed, FLOPs, memory, accuracy and "
    "device-hours.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
def verify(
    layer: Layer = ["all"],
    framework: Framework = ["all"],
    dtype: Annotated[Words, typer.Option("--dtype", help="float32, float64.")] = ["float64,float32"],
    quick: Annotated[bool, typer.Option("--quick", help="Two variants of each layer, one shape.")] = False,
) -> None:
    """Check values and gradients of both frameworks against each other and against an independent oracle."""
    from benchmark.reports.checks import check_table, failures, verdict
    from benchmark.spec.devices import EXACT
    from benchmark.sweeps import plan
    from benchmark.verification.compare import verify as run

    with Progress("verifying") as progress:
        layers, frameworks = plan.layer_names(layer), plan.framework_names(framework)
        checks = run(layers, frameworks, plan.each("dtype", dtype, EXACT), quick, progress.advance)
    show(check_table(checks))
    for line in failures(checks):
        say(line)
    say(verdict(checks))
    leave(OK if all(check.passed for check in checks) else CHECK_FAILED)


app.command()(limits.accuracy)
for command in (measure.speed, measure.memory, measure.sweep, measure.plan, measure.flops, measure.roofline):
    app.command()(command)
for command in (limits.limits, limits.choice, limits.growth, limits.peers):
    app.command()(command)
app.command("gpu-hours")(measure.gpu_hours)
app.command()(train.train)
app.command()(train.evaluate)
app.command()(claims.claims)
app.command()(answer.answer)
app.command()(compare.compare)
app.command()(gate.gate)
app.command()(instructions)
app.command()(signal.signal)
app.command()(report.report)


@app.command("list")
def list_() -> None:
    """Layers with their options and algorithms, tasks with theirs, frameworks."""
    from benchmark.reports import catalogue

    show(catalogue.layer_table())
    show(catalogue.option_table())
    show(catalogue.task_table())
    show(catalogue.task_option_table())
    show(catalogue.framework_table())


@app.command()
def doctor() -> None:
    """Versions, devices and threads: what can run here."""
    from benchmark.reports.catalogue import doctor_table
    from benchmark.sweeps.inspect import inspect as look

    show(doctor_table(look()))


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Options of the tool itself."""
    if version:
        from importlib.metadata import version as installed

        say(f"rotbench {installed('rotbench')}")
        leave(OK)


app.add_typer(data_app, name="data")
app.add_typer(study_app, name="study")
app.add_typer(history_app, name="history")
app.add_typer(results_app, name="results")
app.add_typer(config_app, name="config")


def main() -> None:
    """Entry point: known errors are one line and exit code 2, unknown ones keep their traceback."""
    tame_streams()
    try:
        code = app(standalone_mode=False)
    except ExitError as error:
        code = error.code
    except typer.TyperException as error:
        message = " ".join(error.format_message().split())  # empty where help has been printed
        if message:
            warn(f"{message.rstrip('.')}; see rotbench --help")
        code = USAGE
    except ValueError as error:
        from benchmark.spec.errors import UserError

        if not isinstance(error, UserError):
            raise
        warn(str(error))
        code = error.exit_code
    if code == INTERRUPTED:  # what Typer makes of Ctrl-C
        warn("interrupted; what is finished is kept, and the same command goes on from there")
    sys.exit(code or OK)


if __name__ == "__main__":
    main()
