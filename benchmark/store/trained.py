"""Where a results folder keeps what belongs to a training besides its row: FOLDER/KIND/CELL_ID.SUFFIX."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.spec.errors import UserError
from benchmark.store.files import STEPS, write_table

if TYPE_CHECKING:
    from benchmark.training.history import History


CHECKPOINTS = "checkpoints"


def checkpoint_path(folder: Path, cell_id: str) -> Path:
    """A training that has not ended; removed once its row is on disk."""
    return folder / CHECKPOINTS / f"{cell_id}.safetensors"


def remove_checkpoint(folder: Path, cell_id: str) -> None:
    """Take away what an ended training left; where that fails it does no harm, as it is older than the row."""
    with suppress(OSError):
        checkpoint_path(folder, cell_id).unlink(missing_ok=True)


def weights_path(folder: Path, cell_id: str) -> Path:
    """The weights that were best on the validation split."""
    return folder / "weights" / f"{cell_id}.safetensors"


def snapshot_path(folder: Path, cell_id: str, step: int) -> Path:
    """The weights after so many steps of a training that keeps its course; named so that names sort by step."""
    return folder / "snapshots" / cell_id / f"{step:08d}.safetensors"


def weight_files(paths: Sequence[Path]) -> list[Path]:
    """Files as they are given, and of each folder all weights in it, however deep, in order; checkpoints are none.

    Raises:
        UserError: for a folder that holds none.
    """
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("[!.]*.safetensors")) if path.is_dir() else [path]
        inside = [file for file in inside if file.parent.name != CHECKPOINTS or file == path]
        if not inside:
            raise UserError(f"{path} holds no files of weights; a training leaves them in RESULTS/weights")
        found += inside
    return found


def steps_path(folder: Path, cell_id: str) -> Path:
    """The losses by step."""
    return folder / STEPS / f"{cell_id}.parquet"


def write_steps(path: Path, history: "History", rates: Sequence[float]) -> None:
    """Write the training step by step, whole or not at all.

    Columns: step from 1; loss before it; rate, as a share of the peak; and where there was a
    validation after the step, its score and the seconds of training until then, else null.

    Raises:
        UserError: if it cannot be written.
    """
    import pyarrow as pa

    steps = list(range(1, len(history.step_loss) + 1))
    at = dict(
        zip(history.epoch_step, zip(history.epoch_validation_score, history.epoch_end_s, strict=True), strict=True)
    )
    columns = {
        "step": pa.array(steps, pa.int64()),
        "loss": pa.array(history.step_loss, pa.float64()),
        "rate_share": pa.array(rates, pa.float64()),
        f"validation_{history.measure}": pa.array([at.get(step, (None, None))[0] for step in steps], pa.float64()),
        "end_s": pa.array([at.get(step, (None, None))[1] for step in steps], pa.float64()),
    }
    write_table(path, pa.table(columns))
