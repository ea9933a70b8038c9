"""The simulations of a signal study, in a worker of either framework. Matrices are drawn in numpy for both."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.spec import LayerSpec
from benchmark.studies.signal_estimate import estimate, log_variance
from benchmark.studies.signal_layers import SEQUENCES, exact_energies, matched_specs, steps_of
from benchmark.studies.signal_plan import Run, Settings, runs
from benchmark.studies.signal_table import EXACT, GAUSSIAN, Point, measured

MOST_DRIVEN_COLUMNS = 4
"""Sequences through each matrix."""


def simulate(payload: dict[str, Any], emit: Callable[..., None]) -> dict[str, Any]:
    """Every simulated point of a study, and its layers, as lists of the values of points.

    With ``exact`` in the payload also the layers' exact energies, from this framework's coefficients.
    """
    framework, settings = payload["framework"], Settings(**payload["settings"])
    wanted, specs = runs(settings), matched_specs(settings.layers, settings.d_model, settings.state)
    jobs: list[Callable[[], list[Point]]] = [
        partial(network_points, framework, run, settings.samples, settings.seed) for run in wanted
    ]
    jobs += [partial(layer_points, framework, spec, settings, payload["exact"]) for spec in specs]
    found: list[Point] = []
    for index, job in enumerate(jobs):
        found += job()
        emit(event="progress", done=index + 1, of=len(jobs))
    return {"points": [list(point) for point in found]}


def network_points(framework: str, run: Run, samples: int, seed: int) -> list[Point]:
    """What one set of matrices shows: Q; of a recurrent network also Q averaged and S, of a feedforward one V."""
    kernels, layers = backends.signal(framework), backends.layers(framework)
    powers, driven = [], []
    for W, u in draws(run, samples, seed):
        X = np.eye(run.n, run.columns, dtype=W.dtype)
        powers.append(layers.to_numpy(kernels.energies(W, X, run.depth)).astype(np.float64))
        if run.wiring == "recurrent":
            energies = layers.to_numpy(kernels.driven_energies(W[:, 0], u)).astype(np.float64)
            driven.append(energies.mean(1) / run.n)
    columns = np.concatenate(powers)
    single = columns[:, 0]
    values = {("Q", 1): estimate(single)}
    if run.wiring == "recurrent":
        values |= {
            ("Q", run.columns): estimate(columns.mean(1)),
            ("S", driven_columns(run)): estimate(np.concatenate(driven)),
        }
    else:
        values[("V", 1)] = log_variance(single)
    shared: dict[str, Any] = {
        "subject": GAUSSIAN,
        "source": framework,
        "n": run.n,
        "depth": run.depth,
        "c": run.c,
        "seed": seed,
    }
    shared |= {"wiring": run.wiring, "ensemble": run.ensemble}
    return [
        Point(quantity=quantity, columns=averaged, **shared, **measured(found))
        for (quantity, averaged), found in values.items()
    ]


def driven_columns(run: Run) -> int:
    """Sequences of inputs through each matrix."""
    return min(run.n, MOST_DRIVEN_COLUMNS)


def draws(run: Run, samples: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Chunks of matrices (S, L, n, n) with entries of variance 1/n, and of unit white inputs (S, depth + 1, n, p)."""
    for chunk, start in enumerate(range(0, samples, run.chunk)):
        rng = np.random.default_rng(np.random.SeedSequence(run.seeds(seed, chunk)))
        size = min(run.chunk, samples - start)
        W = gaussian(rng, run.ensemble, (size, run.layers, run.n, run.n)) / np.float32(np.sqrt(run.n))
        steps = run.depth + 1 if run.wiring == "recurrent" else 0
        yield W, gaussian(rng, run.ensemble, (size, steps, run.n, driven_columns(run)))


def gaussian(rng: np.random.Generator, ensemble: str, shape: tuple[int, ...]) -> np.ndarray:
    """Independent normal numbers of variance 1 in single precision, real or circular complex."""
    if ensemble == "real":
        return rng.standard_normal(shape, np.float32)
    pairs = rng.standard_normal((*shape, 2), np.float32) * np.float32(np.sqrt(0.5))
    return pairs.view(np.complex64)[..., 0]


def layer_points(framework: str, spec: LayerSpec, settings: Settings, with_exact: bool) -> list[Point]:
    """Energies of a layer's state per real coordinate at powers of 2: simulated, if there are samples, and exact."""
    simulated = _simulated_energies(framework, spec, settings) if settings.samples else []
    return simulated + (_exact_energies(framework, spec, settings) if with_exact else [])


def _simulated_energies(framework: str, spec: LayerSpec, settings: Settings) -> list[Point]:
    """With white inputs."""
    kernels, layers, size = backends.signal(framework), backends.layers(framework), spec.real_state_size
    rng = np.random.default_rng(np.random.SeedSequence([settings.seed, size, settings.seq_len]))
    u = rng.standard_normal((SEQUENCES, settings.seq_len, spec.d_model), np.float32)
    energies = layers.to_numpy(kernels.state_energies(spec, spec.init(settings.seed), u)).astype(np.float64) / size
    return [
        Point(spec.name, framework, "E", size, t, seed=settings.seed, **measured(estimate(energies[:, t - 1])))
        for t in steps_of(settings.seq_len)
    ]


def _exact_energies(framework: str, spec: LayerSpec, settings: Settings) -> list[Point]:
    """From this framework's coefficients."""
    steps, size = steps_of(settings.seq_len), spec.real_state_size
    energies = exact_energies(coefficient_arrays(framework, spec, spec.init(settings.seed)), steps) / size
    logs = zip(steps, np.log(energies), strict=True)
    return [Point(spec.name, EXACT, "E", size, t, float(log), seed=settings.seed) for t, log in logs]


def coefficient_arrays(framework: str, spec: LayerSpec, params: Any) -> list[Any]:
    """Lam, B and the first gain of a layer, in numpy."""
    layers, given = backends.layers(framework), backends.signal(framework).common(params, params["D"])[0]
    c = layers.coefficients(spec, given)
    return [None if value is None else layers.to_numpy(value) for value in (c.lam, c.B, c.first_gain)]
