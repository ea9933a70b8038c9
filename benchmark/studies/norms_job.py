"""Norms of states and gradients over time, measured in a worker of either framework."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmark import backends
from benchmark.spec import LayerSpec, UserError
from benchmark.spec.base import Params
from benchmark.spec.model import ModelSpec, subset
from benchmark.studies import norms as n
from benchmark.studies.names import ALONE, Study
from benchmark.studies.placing import coefficients, module, placed, placed_all, to_numpy
from benchmark.studies.signal_layers import exact_energies
from benchmark.sweeps.cell import Cell
from benchmark.training import checkpoint
from benchmark.training.feed import read
from benchmark.training.setup import Setting, model_of, splits_of

Array = np.ndarray


class Drive(NamedTuple):
    """What one layer was driven with, and the gradient that came back to it."""

    params: Params
    u: Array
    """(batch, length, d_model)."""
    gradient: Array
    """Mean square over features, (batch, length)."""
    lengths: Array
    """(batch,)."""


def norms(
    cell: Cell, study: Study, setting: Setting, weights: Mapping[str, str], emit: Callable[..., None]
) -> dict[str, Any]:
    """Mean squares of states over time, and of gradients over the distance from the end, of each block.

    Args:
        cell: layer, sizes and inputs; with weights or a task's data, that of the training.
        study: inputs and weights.
        setting: where data are.
        weights: files by the id of their training's cell, with the step where it is one of its course.
        emit: told of progress, a block at a time.
    """
    trained, origin = trained_weights(study, weights)
    drives = alone(cell, study, trained) if study.inputs in ALONE else in_model(cell, study, setting, trained)
    times = n.time_grid(max(int(drive.lengths.max()) for drive in drives))
    lags = [t - 1 for t in times]
    blocks = []
    for index, drive in enumerate(drives):
        blocks.append(measured(cell, study, drive, times, lags))
        emit(event="progress", done=index + 1, of=len(drives))
    found = {"times": times, "lags": lags, "blocks": blocks, "sequences": len(drives[0].u)}
    return found | origin


def trained_weights(study: Study, weights: Mapping[str, str]) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays of the training that the study names, and on what, in what and for how long it was trained.

    Both are empty for initial values.
    """
    if study.source is None:
        return {}, {}
    if study.source not in weights:
        raise UserError(f"norms need the weights of training {study.source}: name its file with --weights")
    arrays, described = checkpoint.load(Path(weights[study.source]))
    cell = described["cell"]
    origin = {"trained_on": cell["task"], "trained_in": cell["framework"], "trained_steps": described.get("steps")}
    return arrays, origin


def alone(cell: Cell, study: Study, trained: Mapping[str, Array]) -> list[Drive]:
    """Each layer driven by itself, with a white gradient that reaches its last output only."""
    spec, layers = cell.spec, backends.layers(cell.framework)
    length, rng = cell.seq_len or 1, np.random.default_rng([cell.seed, cell.seq_len or 1])
    white = rng.standard_normal((cell.batch, length, spec.d_model), np.float32)
    u = white if study.inputs == "white" else np.ones((1, length, spec.d_model), np.float32)
    w = np.zeros((cell.batch, length, spec.d_model), np.float32)
    w[:, -1] = rng.standard_normal((cell.batch, spec.d_model), np.float32)
    found = []
    for params in layer_params(spec, cell.seed, trained):
        gradient = layers.to_numpy(layers.vjp(spec, params, placed(cell, white), w)[2]).astype(np.float64)
        found.append(Drive(params, u, (gradient**2).mean(-1), np.full(cell.batch, length)))
    return found


def layer_params(spec: LayerSpec, seed: int, trained: Mapping[str, Array]) -> list[Params]:
    """Of every block that was trained, or of one layer as drawn."""
    if not trained:
        return [spec.init(seed)]
    count = len({name.split("/")[1] for name in trained if name.startswith("params/block")})
    return [subset(trained, f"params/block{i}/layer/") for i in range(count)]


def in_model(cell: Cell, study: Study, setting: Setting, trained: Mapping[str, Array]) -> list[Drive]:
    """Each layer with what reaches it in its model, on a batch of the test set, and the gradient of the loss there."""
    data = cell.model_copy(update={"task": study.inputs})
    model = dataclasses.replace(model_of(data), dropout=0.0, compute="full")
    params, stats = model.init(cell.seed)
    if trained:
        params, stats = subset(trained, "params/"), subset(trained, "stats/")
    u, gradients, lengths = probed(cell, model, params, stats, batch_of(data, setting))
    scaled = (gradients.astype(np.float64) ** 2).mean(-1)
    return [Drive(subset(params, f"block{i}/layer/"), u[i], scaled[i], lengths) for i in range(model.depth)]


def batch_of(data: Cell, setting: Setting) -> Any:
    """The first examples of the test set, as many as the cell's batch, in an order of their own."""
    splits = splits_of(data, setting.data_dir)
    rows = np.random.default_rng(data.seed).permutation(len(splits.test.labels))[: data.batch]
    return read(splits.test, splits.affine, rows)


def probed(cell: Cell, model: ModelSpec, params: Params, stats: Params, batch: Any) -> tuple[Array, Array, Array]:
    """Layer inputs and gradients (depth, batch, length, d_model), and the lengths."""
    given = placed_all(cell, params), placed_all(cell, stats)
    u, gradients = module(cell, "probe").probe(model, *given, batch.inputs, batch.labels, batch.lengths)
    lengths = np.full(u.shape[1], u.shape[2]) if batch.lengths is None else np.asarray(batch.lengths)
    return to_numpy(cell, u), to_numpy(cell, gradients), lengths


def measured(cell: Cell, study: Study, drive: Drive, times: list[int], lags: list[int]) -> dict[str, Any]:
    """One block: norms by simulation, the exact ones of white inputs, and where they tend."""
    spec, c = cell.spec, coefficients(cell, cell.spec, drive.params)
    simulated = module(cell, "signal").state_energies(spec, drive.params, placed(cell, drive.u))
    states = to_numpy(cell, simulated).astype(np.float64) / spec.real_state_size
    found: dict[str, Any] = {
        "mean_square": n.mean_over_running(states, drive.lengths[: len(states)], times),
        "gradient": n.mean_before_end(drive.gradient, drive.lengths, lags),
        "largest_modulus": float(np.abs(c.lam).max()),
    }
    if study.inputs == "white":
        exact = exact_energies((c.lam, c.B, c.first_gain), times) / spec.real_state_size
        found |= {"exact": exact.tolist(), "limit": n.stationary_mean_square(c.lam, c.B)}
    elif study.inputs == "constant":
        found["limit"] = n.constant_limit(c.lam, c.B)
    return found
