"""The conversions between LRU and RotRNN, held to the oracle and to one framework in a worker."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.spec import LayerSpec, reference
from benchmark.spec.base import doubled
from benchmark.spec.lru import LRU
from benchmark.spec.rotrnn import RotRNN
from benchmark.studies import equivalence as e
from benchmark.studies.bookkeeping import books
from benchmark.studies.names import Study
from benchmark.sweeps.cell import Cell
from benchmark.training.setup import Setting

Array = np.ndarray


def equivalence(
    cell: Cell, study: Study, setting: Setting, weights: Mapping[str, str], emit: Callable[..., None]
) -> dict[str, Any]:
    """Relative errors of every conversion, by what it was held against; and the accounts of both layers.

    The cell is an LRU's, in float64; ``seed`` draws parameters and inputs.
    """
    del study, setting, weights
    rng = np.random.default_rng([cell.seed, cell.d_model, cell.d_state])
    u = rng.standard_normal((cell.batch, cell.seq_len or 1, cell.d_model))
    errors: dict[str, float] = {}
    todo = cases(cell)
    for index, (name, spec, params, made) in enumerate(todo):
        expected = reference.apply(spec, params, u)
        errors[f"{name}, oracle"] = error(reference.apply(made.spec, made.params, u), expected)
        errors[f"{name}, {cell.framework}"] = error(twin(cell, made.spec, made.params, u), expected)
        emit(event="progress", done=index + 1, of=len(todo) + 1)
    errors["lru as a real system, numpy"] = real_error(cell, u)
    return {
        "errors": errors,
        "conjugate_pairs": conjugate_pairs(cell),
        "books": [book._asdict() | {"redundant": book.redundant} for book in books_of(cell)],
    }


Case = tuple[str, LayerSpec, Mapping[str, Array], e.Converted]


def cases(cell: Cell) -> list[Case]:
    """Each conversion: its name, the layer it starts from, and what came out."""
    lru, rot = lru_of(cell), rotrnn_of(cell)
    lru_params, rot_params = drawn(lru, cell.seed), drawn(rot, cell.seed)
    there = {kind: e.lru_to_rotrnn(lru, lru_params, kind) for kind in ("none", "stationary")}
    back = e.rotrnn_to_lru(there["stationary"].spec, there["stationary"].params)  # type: ignore[arg-type]
    return [
        ("lru as rotrnn, no normaliser", lru, lru_params, there["none"]),
        ("lru as rotrnn, normalised", lru, lru_params, there["stationary"]),
        ("lru as rotrnn and back", lru, lru_params, back),
        ("rotrnn as lru", rot, rot_params, e.rotrnn_to_lru(rot, rot_params)),
        ("rotrnn without P", rot, rot_params, e.without_mixing(rot, rot_params)),
    ]


def lru_of(cell: Cell) -> LRU:
    """The cell's own layer."""
    assert isinstance(cell.spec, LRU)
    return cell.spec


def rotrnn_of(cell: Cell) -> RotRNN:
    """A RotRNN of the same real state, with two planes a head where they come out even."""
    return RotRNN(d_model=cell.d_model, d_state=2 * cell.d_state, heads=shared_heads(cell.d_state))


def shared_heads(states: int) -> int:
    """Heads of two planes, or of one where the planes are odd in number."""
    return states // 2 if states % 2 == 0 else states


def drawn(spec: LayerSpec, seed: int) -> dict[str, Array]:
    """Initial values, of which each is moved, so that no conversion leans on how they were drawn."""
    rng = np.random.default_rng([seed, 1])
    return {name: value + 0.1 * rng.standard_normal(value.shape) for name, value in doubled(spec.init(seed)).items()}


def twin(cell: Cell, spec: LayerSpec, params: Mapping[str, Array], u: Array) -> Array:
    """Outputs in the cell's framework."""
    layers = backends.layers(cell.framework)
    return np.asarray(layers.to_numpy(layers.apply(spec, params, u)))


def error(found: Array, expected: Array) -> float:
    """Relative, over all outputs."""
    return reference.relative_error(found, expected)


def real_error(cell: Cell, u: Array) -> float:
    """Of an LRU written with real numbers against the oracle."""
    spec, params = lru_of(cell), drawn(cell.spec, cell.seed)
    return error(e.real_outputs(e.real_system(spec, params), u), reference.apply(spec, params, u))


def conjugate_pairs(cell: Cell) -> float:
    """The largest distance between an eigenvalue of the real system and the nearest of lam and its conjugates."""
    params = drawn(cell.spec, cell.seed)
    lam = np.exp(-np.exp(params["nu_log"]) + 1j * np.exp(params["theta_log"]))
    found = np.linalg.eigvals(e.real_system(lru_of(cell), params).A)
    distances = np.abs(found[:, None] - np.concatenate([lam, lam.conj()]))
    return float(max(distances.min(0).max(), distances.min(1).max()))


def books_of(cell: Cell) -> list[Any]:
    """The accounts at the cell's sizes."""
    return books(cell.d_model, cell.d_state, sorted({shared_heads(cell.d_state), 1}, reverse=True))
