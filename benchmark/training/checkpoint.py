"""Checkpoints and weights as safetensors files, written whole or not at all.

A checkpoint holds all that the next step hangs on, so that a training that was killed and one that
was not have the same losses, bit for bit where the device computes the same way twice.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from benchmark.spec import UserError
from benchmark.spec.model import subset
from benchmark.training.history import History

Arrays = dict[str, np.ndarray]

FORMAT = "rotbench 1"


class Checkpoint(NamedTuple):
    """A training between two steps."""

    step: int
    elapsed_s: float
    state: Arrays
    """Of the trainer."""
    best: Arrays
    """The weights of the best validation so far."""
    history: History
    data: str = ""
    """The fingerprint of the splits, see ``benchmark.training.fingerprint``."""


def save_checkpoint(path: Path, saved: Checkpoint) -> None:
    """Write a checkpoint; the one before stays until this one is whole. Raises UserError if it cannot be written."""
    record = asdict(saved.history)
    losses = np.array(record.pop("step_loss"), np.float64)
    arrays = {f"state/{k}": v for k, v in saved.state.items()} | {f"best/{k}": v for k, v in saved.best.items()}
    described = {"step": saved.step, "elapsed_s": saved.elapsed_s, "data": saved.data, "history": record}
    save(path, arrays | {"loss": losses}, described)


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint. Raises UserError for a file that is none, or is damaged."""
    arrays, described = load(path)
    try:
        history = History(**described["history"], step_loss=arrays["loss"].tolist())
        step, elapsed_s, data = (described[name] for name in ("step", "elapsed_s", "data"))
    except (KeyError, TypeError):
        raise UserError(f"{path} is no checkpoint of this version: remove it to start anew") from None
    return Checkpoint(step, elapsed_s, subset(arrays, "state/"), subset(arrays, "best/"), history, data)


def save(path: Path, arrays: Mapping[str, np.ndarray], described: Mapping[str, Any]) -> None:
    """Write arrays and a JSON object that describes them. Raises UserError if it cannot be done."""
    staged = path.with_name(f".{path.name}.part")
    whole = {name: np.ascontiguousarray(value).reshape(value.shape) for name, value in arrays.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(whole, staged, {"format": FORMAT, "described": json.dumps(described)})
        with staged.open("rb") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        staged.chmod(0o666 & ~mask)  # as other files are; safetensors writes for the owner alone
        staged.replace(path)
    except (OSError, SafetensorError) as error:
        with suppress(OSError):
            staged.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}; free some space") from None


def described_by(path: Path) -> dict[str, Any]:
    """What a file of weights says of itself. Raises UserError for a file that holds no weights."""
    described = _read(path, lambda _: {})[1]
    if "cell" not in described:
        raise UserError(f"{path} holds no weights of a finished training; they are in RESULTS/weights")
    return described


def load(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Arrays, and what describes them. Raises UserError for a file that is damaged or none of ours."""
    return _read(path, lambda file: {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 - no mapping


def _read(path: Path, arrays_of: Callable[[Any], Arrays]) -> tuple[Arrays, dict[str, Any]]:
    try:
        with safe_open(path, "np") as file:
            metadata, arrays = file.metadata() or {}, arrays_of(file)
    except FileNotFoundError:
        raise UserError(f"there is no {path}") from None
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} is damaged, or no safetensors file ({error})") from None
    if metadata.get("format") != FORMAT:
        raise UserError(f"{path} was not written by this version of rotbench: its format is {metadata.get('format')}")
    return arrays, json.loads(metadata.get("described", "{}"))
