"""The command line: each command parses, calls one function and prints one string.

Frameworks, pandas and everything else that is slow to import are loaded inside the commands, so
that ``rotbench --help`` and shell completion answer at once.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from benchmark.store.row import Row

app = typer.Typer(
    name="rotbench",
    help="Measure linear recurrent layers (RotRNN, LRU, S4D, S5) in PyTorch and JAX: "
    "correctness, speed, FLOPs, memory, accuracy and device-hours.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

OK, CHECK_FAILED, USAGE, NOTHING_MEASURED, CELLS_FAILED, INTERRUPTED = 0, 1, 2, 3, 4, 130

Words = list[str]
Layer = Annotated[Words, typer.Option("--layer", help="rotrnn, lru, s4d, s5 or all; repeat or separate by commas.")]
Framework = Annotated[Words, typer.Option("--framework", help="torch, jax or all (that are installed).")]
Dtype = Annotated[Words, typer.Option("--dtype", help="float32, float64.")]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1.")]
Threads = Annotated[int, typer.Option("--threads", help="Processors that a measured process may use; 0 for all.")]
Settings = Annotated[Words, typer.Option("--set", help="A layer option, as in heads=16 or s5.blocks=4; repeat it.")]
Out = Annotated[Path, typer.Option("--out", help="Folder for the results.")]
DEFAULT_OUT = Path("results/runs")


@app.command()
def verify(
    layer: Layer = ["all"],
    framework: Framework = ["all"],
    dtype: Dtype = ["float64,float32"],
    quick: Annotated[bool, typer.Option("--quick", help="Two variants of each layer, one shape.")] = False,
) -> None:
    """Check values and gradients of both frameworks against each other and against an independent oracle."""
    from benchmark.reports.checks import check_table, failures, verdict
    from benchmark.sweeps import plan
    from benchmark.verification.compare import verify as run

    with progress("verifying") as advance:
        checks = run(
            plan.layer_names(layer), plan.framework_names(framework), list(plan.dtype_names(dtype)), quick, advance
        )
    show(check_table(checks))
    for line in failures(checks):
        print(line)
    print(verdict(checks))
    raise typer.Exit(OK if all(check.passed for check in checks) else CHECK_FAILED)


@app.command()
def speed(
    layer: Layer = ["all"],
    framework: Framework = ["all"],
    algorithm: Annotated[
        Words, typer.Option("--algorithm", help="auto, sequential, associative, chunked, fft; vandermonde for s4d.")
    ] = ["auto"],
    seq_len: Annotated[
        Words, typer.Option("--seq-len", help="Lengths: 1024, lists, ranges 1024:65536:x2 or 100:500:+100.")
    ] = ["1024"],
    batch: Annotated[Words, typer.Option("--batch", help="Sequences at once.")] = ["8"],
    d_model: Annotated[Words, typer.Option("--d-model", help="Features.")] = ["128"],
    d_state: Annotated[Words, typer.Option("--d-state", help="State size in each paper's own meaning.")] = ["128"],
    device: Device = "cpu",
    dtype: Dtype = ["float32"],
    direction: Annotated[Words, typer.Option("--direction", help="forward, forward+backward, step.")] = ["forward"],
    threads: Threads = 0,
    settings: Settings = [],
    seed: Annotated[int, typer.Option("--seed", help="Of parameters and inputs.")] = 0,
    budget: Annotated[float, typer.Option("--budget", help="Seconds of sampling a cell, at most.")] = 2.0,
    out: Out = DEFAULT_OUT,
) -> None:
    """Time the layers: one row a combination of the axes, each measured in a process of its own."""
    from benchmark.reports.results import speed_table
    from benchmark.sweeps import plan

    cells = plan.speed_cells(
        layers=layer,
        frameworks=framework,
        algorithms=algorithm,
        seq_lens=seq_len,
        batches=batch,
        d_models=d_model,
        d_states=d_state,
        directions=direction,
        dtypes=dtype,
        device=device,
        threads=threads,
        settings=settings,
        seed=seed,
    )
    rows = measure(cells, out, {"budget_s": budget})
    show(speed_table(rows))
    finish(rows, out)


@app.command()
def train(
    task: Annotated[str, typer.Argument(help="The task, see `rotbench list`.")],
    layer: Layer = ["all"],
    framework: Annotated[
        Words, typer.Option("--framework", help="torch, jax or all; the first that is installed if left out.")
    ] = [],
    seed: Annotated[list[int], typer.Option("--seed", help="Of initial values and batch order; repeat it.")] = [0],
    epochs: Annotated[int | None, typer.Option("--epochs", help="Passes over the training set.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="Sequences in an update.")] = None,
    lr: Annotated[float | None, typer.Option("--lr", help="Peak rate of the regular parameters.")] = None,
    recurrence_lr: Annotated[float | None, typer.Option("--recurrence-lr", help="Peak rate of the recurrence.")] = None,
    weight_decay: Annotated[float | None, typer.Option("--weight-decay", help="Of the regular parameters.")] = None,
    dropout: Annotated[float | None, typer.Option("--dropout", help="Rate after the GELU and after the gate.")] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Blocks.")] = None,
    d_model: Annotated[int | None, typer.Option("--d-model", help="Features.")] = None,
    d_state: Annotated[int | None, typer.Option("--d-state", help="State size in each paper's own meaning.")] = None,
    algorithm: Annotated[str, typer.Option("--algorithm", help="Of the recurrence.")] = "auto",
    device: Device = "cpu",
    threads: Threads = 0,
    settings: Settings = [],
    out: Out = DEFAULT_OUT,
) -> None:
    """Train a model around each layer, with the same initial values, batches and rates in both frameworks."""
    from benchmark import backends
    from benchmark.reports.results import training_table
    from benchmark.sweeps import plan

    cells = plan.train_cells(
        task,
        layers=layer,
        frameworks=framework or list(backends.installed()[:1]),
        seeds=seed,
        device=device,
        threads=threads,
        algorithm=algorithm,
        settings=settings,
        d_model=d_model,
        d_state=d_state,
        overrides={
            "epochs": epochs,
            "batch": batch,
            "lr": lr,
            "recurrence_lr": recurrence_lr,
            "weight_decay": weight_decay,
            "dropout": dropout,
            "depth": depth,
        },
    )
    rows = measure(cells, out)
    show(training_table(rows))
    finish(rows, out)


@app.command()
def report(
    results: Annotated[list[Path], typer.Argument(help="Results folders or files.")] = [DEFAULT_OUT],
    form: Annotated[Words, typer.Option("--format", help="html, md.")] = ["html,md"],
    out: Annotated[Path, typer.Option("--out", help="Folder for the report.")] = Path("results/report"),
) -> None:
    """Turn results into a self-contained HTML page and Markdown; prints their paths, the page's last."""
    from benchmark.reports import report as reports
    from benchmark.store import files
    from benchmark.sweeps.grid import words
    from benchmark.sweeps.plan import known

    formats = sorted({known("format", word, ("html", "md")) for word in words(form)}, key=["md", "html"].index)
    loaded = files.read(list(results))
    for path, reason in loaded.bad:
        warn(f"{path} could not be read and is left out: {reason}")
    if not loaded.rows:
        warn(f"no results in {', '.join(map(str, results))}: run `rotbench speed` or `rotbench train` first")
        raise typer.Exit(NOTHING_MEASURED)
    for path in reports.write(reports.build(loaded.rows, loaded.bad), out, formats):
        print(path)


@app.command("list")
def list_() -> None:
    """Layers with their options, tasks, frameworks and algorithms."""
    from benchmark.reports.catalogue import layer_table, option_table, task_table

    for table in (layer_table(), option_table(), task_table()):
        show(table)


@app.command()
def doctor() -> None:
    """Versions, devices and threads: what can run here."""
    from benchmark.reports.catalogue import doctor_table
    from benchmark.sweeps.inspect import inspect

    show(doctor_table(inspect()))


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Options of the tool itself."""
    if version:
        from importlib.metadata import version as installed

        print(f"rotbench {installed('rotbench')}")
        raise typer.Exit(OK)


def measure(cells: list[Any], out: Path, plan: dict[str, Any] | None = None) -> "list[Row]":
    """Run the cells with one line or one bar of progress each."""
    from benchmark.reports.progress import line
    from benchmark.sweeps.run import run_cells

    with progress("measuring") as advance:
        done: list[Any] = []

        def on_event(_: Any, event: dict[str, Any]) -> None:
            advance(len(done) * event["epochs"] + event["epoch"], len(cells) * event["epochs"])

        def on_row(row: "Row") -> None:
            done.append(row)
            advance(len(done), len(cells), line(row, len(done), len(cells)))

        return run_cells(cells, out, plan=plan, on_event=on_event, on_row=on_row)


def finish(rows: "list[Row]", out: Path) -> None:
    """Name what failed and where the rows are, and leave with the exit code that says how it went."""
    from benchmark.reports.results import failure_table

    failed = [row for row in rows if row.status != "ok"]
    if failed:
        show(failure_table(failed))
    print(f"{len(rows)} rows in {out}/cells")
    if failed:
        raise typer.Exit(NOTHING_MEASURED if len(failed) == len(rows) else CELLS_FAILED)


def show(table: Any) -> None:
    """Print a table: as wide as the terminal, or as wide as it needs where there is none."""
    from benchmark.reports.tables import to_terminal
    from benchmark.reports.terminal import terminal_width, use_color

    print(to_terminal(table, terminal_width(), use_color()))


@contextmanager
def progress(title: str) -> Iterator[Any]:
    """A bar on a terminal, plain lines otherwise, on stderr: advance(done, of, line)."""
    from benchmark.reports.terminal import Progress

    with Progress(title, sys.stderr) as bar:
        yield bar.advance


def warn(text: str) -> None:
    """One line on stderr."""
    print(f"rotbench: {text}", file=sys.stderr)


def main() -> None:
    """Entry point: known errors are one line and exit code 2, unknown ones keep their traceback."""
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as error:
        message = " ".join(error.format_message().split())  # empty where help has been printed
        if message:
            warn(f"{message.rstrip('.')}; see rotbench --help")
        code = USAGE
    except KeyboardInterrupt:
        warn("interrupted; finished rows are kept")
        code = INTERRUPTED
    except ValueError as error:
        from benchmark.spec.errors import UserError

        if not isinstance(error, UserError):
            raise
        warn(str(error))
        code = USAGE
    sys.exit(code or OK)


if __name__ == "__main__":
    main()
