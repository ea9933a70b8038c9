"""The command that studies signal propagation."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.options import RUNS, Folder, Framework, Json, Layer, Words
from benchmark.console import Progress, say, show, show_json, warn

if TYPE_CHECKING:
    from benchmark.metrics.statistics import Interval
    from benchmark.studies.signal_plan import Settings
    from benchmark.studies.signal_table import Point
    from benchmark.studies.signal_threshold import Threshold

FORMATS = ("svg", "pdf", "json")


def signal(
    n: Annotated[Words, typer.Option("--n", help="Widths of the exact part.")] = ["100,1000,10000,100000"],
    depth_c: Annotated[Words, typer.Option("--depth-c", help="Depths over sqrt(n): 1:5, or 0:2:+0.25,3.")] = [
        "0.5:2:+0.5,3:5"
    ],
    depth: Annotated[Words, typer.Option("--depth", help="More depths of the exact part, in steps.")] = [],
    simulate: Annotated[Words, typer.Option("--simulate", help="Widths of the simulations.")] = ["16,32,64"],
    samples: Annotated[
        int, typer.Option("--samples", help="Random matrices a point; 0 simulates nothing: all is exact.")
    ] = 256,
    ensemble: Annotated[Words, typer.Option("--ensemble", help="Of random matrices: complex, real.")] = [
        "complex,real"
    ],
    framework: Framework = ["all"],
    layer: Layer = ["all"],
    d_model: Annotated[int, typer.Option("--d-model", help="Features of the layers.")] = 16,
    state: Annotated[int, typer.Option("--state", help="Real numbers of state of every layer.")] = 256,
    seq_len: Annotated[int, typer.Option("--seq-len", help="Steps that the layers run.")] = 1024,
    tolerance: Annotated[float, typer.Option("--tolerance", help="A signal has left 1 above 1 + this.")] = 0.1,
    horizon: Annotated[
        Words, typer.Option("--horizon", help="Steps up to which Glorot's scale is corrected; else 1, 3, 5 sqrt(n).")
    ] = [],
    seed: Annotated[int, typer.Option("--seed", help="Of matrices, inputs and initial values.")] = 0,
    out: Folder = RUNS,
    form: Annotated[Words, typer.Option("--format", help="Also write the figures: svg, pdf, json (Vega-Lite).")] = [],
    json: Json = False,
) -> None:
    """Show how signals grow with depth in linear recurrences: exact, simulated in both frameworks, and in the layers.

    Exact energies of random recurrent matrices with the limits of three regimes, simulations with standard errors,
    the depth at which a signal leaves 1, a rescaling of Glorot that holds it there for longer, and state energies of
    the layers as initialised.
    """
    from benchmark.reports.signal import signal_tables
    from benchmark.store.files import prepare_folder
    from benchmark.studies import signal_table
    from benchmark.studies.signal_plan import Settings, reals
    from benchmark.studies.signal_run import study
    from benchmark.studies.signal_threshold import check_tolerance, thresholds
    from benchmark.sweeps import plan
    from benchmark.sweeps.grid import numbers, words

    horizons = numbers("horizon", horizon) if horizon else []
    formats = plan.each("format", form, FORMATS) if words(form) else []
    settings = Settings(
        widths=tuple(numbers("n", n)),
        depth_c=reals("depth-c", depth_c),
        depths=tuple(numbers("depth", depth)) if depth else (),
        simulated_widths=tuple(numbers("simulate", simulate)),
        samples=samples,
        ensembles=tuple(plan.each("ensemble", ensemble, ("complex", "real"))),
        seed=plan.check_seed(seed),
        layers=tuple(plan.layer_names(layer)),
        d_model=d_model,
        state=state,
        seq_len=seq_len,
    )
    check_tolerance(tolerance)
    frameworks = frameworks_for(framework, samples)
    prepare_folder(out)
    with Progress("simulating" if samples else "computing") as progress:
        points = study(settings, frameworks, progress.advance)
    found = thresholds(points, tolerance)
    path = signal_table.write(out, points, settings.as_json())
    if json:
        show_json(_as_json(points, settings, found, horizons))
    else:
        for table in signal_tables(points, found, horizons):
            show(table)
    for written in (path, *_write_figures(points, path, formats)):
        (warn if json else say)(str(written))


def frameworks_for(given: list[str], samples: int) -> list[str]:
    """Those asked for; without simulations none is needed, but then the layers' exact energies are left out."""
    from benchmark import backends
    from benchmark.sweeps import plan
    from benchmark.sweeps.grid import words

    if not samples and not backends.installed() and set(words(given)) <= {"all"}:
        warn(
            "the layers' state energies are left out: their coefficients come from torch or jax, and none is installed"
        )
        return []
    return plan.framework_names(given)


def _as_json(
    points: "list[Point]", settings: "Settings", found: "list[Threshold]", horizons: list[int]
) -> dict[str, object]:
    """Everything that the tables show."""
    from benchmark.reports.signal import rescalings

    exact = [point for point in points if point.source == "exact" and point.subject == "gaussian"]
    return {
        "settings": settings.as_json(),
        "points": [{**p._asdict(), "undersampled": p.undersampled} for p in points],
        "thresholds": [t._asdict() | {"slope": _finite(t.slope)} for t in found],
        "rescalings": [r._asdict() for r in rescalings(exact, horizons)],
    }


def _finite(interval: "Interval | None") -> dict[str, float | None] | None:
    """JSON has no infinity: an end that is unknown is null."""
    if interval is None:
        return None
    return {name: value if math.isfinite(value) else None for name, value in interval._asdict().items()}


def _write_figures(points: "list[Point]", path: Path, formats: list[str]) -> list[Path]:
    """Each figure in each format, beside the table."""
    if not formats:
        return []
    from benchmark.reports.signal_charts import figures, rendered

    written = []
    for index, (_, chart) in enumerate(figures(points), 1):
        for form in formats:
            target = path.with_name(f"{path.stem}-{index}.{form}")
            target.write_bytes(rendered(chart, form))
            written.append(target)
    return written
