"""What befalls a training: other data, full disks, divergence, lost workers; and what is kept of it."""

import itertools
import os
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from frameworks import INSTALLED
from test_engine import cells, ok, scripted  # noqa: F401 - a fixture
from test_training import Fake, run, toy_splits

from benchmark.console import SweepProgress
from benchmark.data.arrays import assemble, flatten, read_arrays, write_arrays
from benchmark.spec import UserError
from benchmark.store import files
from benchmark.store.trained import checkpoint_path, steps_path, weights_path
from benchmark.sweeps.outcome import Outcome
from benchmark.sweeps.run import Effort, Watcher, run_cells
from benchmark.sweeps.train_plan import train_cells
from benchmark.tasks import Splits
from benchmark.training import fingerprint as prints
from benchmark.training import loop
from benchmark.training.checkpoint import load_checkpoint
from benchmark.training.feed import feed_ahead, rows_by_step
from benchmark.training.loop import DivergedError, Fit

needs_framework = pytest.mark.skipif(not INSTALLED, reason="trains")


# the data


def test_a_fingerprint_is_that_of_the_contents(tmp_path):
    splits = toy_splits()
    found = prints.fingerprint(splits)
    assert found == prints.fingerprint(toy_splits()) and len(found) == 16
    for name in ("train", "validation", "test"):
        part = getattr(splits, name)
        inputs, labels = part.inputs.copy(), part.labels[::-1].copy()
        inputs[-1, -1, 0] += 1
        for other in (part._replace(inputs=inputs), part._replace(labels=labels)):
            assert prints.fingerprint(splits._replace(**{name: other})) != found


def test_of_a_cache_no_array_is_read(tmp_path, monkeypatch):
    write_arrays(tmp_path, flatten(toy_splits()), {})
    mapped = assemble(Splits, read_arrays(tmp_path))
    expected = prints.fingerprint(toy_splits())
    backwards = mapped._replace(train=mapped.train._replace(inputs=mapped.train.inputs[::-1]))
    assert prints.fingerprint(backwards) != expected, "a view is not what lies in the file"
    monkeypatch.setattr(prints, "_Sum", None)
    assert prints.fingerprint(mapped) == expected


def test_a_checkpoint_of_other_data_is_not_taken_up(tmp_path):
    notes, path = [], tmp_path / "c.safetensors"
    options = {"path": path, "save_s": 0.0, "on_note": notes.append}
    run(epochs=1, options=options | {"data": "a"})
    assert load_checkpoint(path).data == "a"
    same, other = Fake(), Fake()
    run(same, epochs=1, options=options | {"data": "a"})
    assert not notes and not same.seen
    run(other, epochs=1, options=options | {"data": "b"})
    assert len(other.seen) == 3
    why = f"{path} is of other data than those that are here now"
    assert notes == [f"started anew: {why}; it is kept as {path.with_suffix('.aside')}"]


# the disk


def test_a_checkpoint_that_cannot_be_written_costs_one_note(tmp_path, monkeypatch):
    notes, path, written = [], tmp_path / "c.safetensors", itertools.count(1)
    save = loop.save_checkpoint

    def full(at, saved):
        if next(written) > 4:
            raise UserError(f"cannot write {at}: No space left on device; free some space")
        save(at, saved)

    monkeypatch.setattr(loop, "save_checkpoint", full)
    options = {"path": path, "save_s": 0.0, "on_note": notes.append}
    history = run(epochs=3, options=options)
    assert len(history.step_loss) == 9 and history.test_score is not None
    reason = f"cannot write {path}: No space left on device; free some space"
    assert notes == [f"no checkpoint at step 5, training goes on: {reason}"]
    assert load_checkpoint(path).step == 4, "the last good one stays"


def tiny(**overrides):
    small = {"d_model": 8, "d_state": 8, "depth": 1, "epochs": 1, "batch": 400}
    return train_cells(
        "digits",
        layers=["lru"],
        frameworks=INSTALLED[:1],
        seeds=["0"],
        device="cpu",
        threads=1,
        algorithm="auto",
        precision=["fp32"],
        settings=[],
        preset="small",
        data="auto",
        data_dir=Path("nowhere"),
        overrides=small | overrides,
    )


def train_inline(folder, notes=None, retry=(), **overrides):
    """The row of one small training in this process."""

    def hear(_, event):
        if notes is not None and event["event"] == "note":
            notes.append(event["text"])

    effort = Effort(inline=True, training={"save_s": 0.0, "snapshots": True}, retry=retry)
    (row,) = run_cells(tiny(**overrides), folder, effort, Watcher(on_event=hear))
    return row


@needs_framework
def test_only_weights_that_cannot_be_written_fail_a_training(tmp_path):
    for name in ("checkpoints", "snapshots", "steps", "weights"):
        (tmp_path / name).write_text("in the way")
    row = train_inline(tmp_path)
    assert row.status == "failed" and row.reason.startswith(f"cannot write {weights_path(tmp_path, row.cell_id)}: ")
    assert "\n" not in row.reason and row.reason.endswith("; free some space")
    (tmp_path / "weights").unlink()
    row = train_inline(tmp_path, said := [], retry=("failed",))
    assert row.status == "ok" and row.detail["notes"] == said
    starts = (
        "no snapshots from step 0 on: ",
        "no checkpoint at step 1, training goes on: ",
        "the losses by step are lost: ",
    )
    assert all(line.startswith(start) for line, start in zip(said, starts, strict=True))


# divergence


def test_losses_are_kept_up_to_the_one_that_diverged():
    from test_training import recipe

    fit = Fit(Fake(lambda at: float("inf") if at == 4 else 1 / (1 + at)), toy_splits(), recipe(batch=10, epochs=3), 0)
    with pytest.raises(DivergedError, match="at step 5"):
        fit.run()
    assert fit.history.step_loss == [1, 1 / 2, 1 / 3, 1 / 4, float("inf")]
    assert fit.history.epoch_step == [3]


@needs_framework
def test_a_diverged_training_keeps_its_losses_and_its_row_the_history(tmp_path):
    row = train_inline(tmp_path, epochs=8, lr=1e3, recurrence_lr=1e3)
    assert row.status == "diverged" and "at step" in row.reason
    step = int(row.reason.split("at step ")[1].split(";")[0])
    losses = pq.read_table(steps_path(tmp_path, row.cell_id))["loss"].to_pylist()
    assert len(losses) == step and not abs(losses[-1]) <= loop.HOPELESS and abs(losses[0]) < 10
    assert row.detail["history"]["test_score"] is None and row.detail["data_fingerprint"]
    assert not checkpoint_path(tmp_path, row.cell_id).exists()


# what a row says of how it came about


@needs_framework
def test_a_row_knows_its_data_and_its_code(tmp_path):
    from benchmark.sweeps.gate import source_hash
    from benchmark.tasks import task

    row = train_inline(tmp_path)
    assert row.detail["data_fingerprint"] == prints.fingerprint(task("digits").load())
    assert row.detail["source_hash"] == source_hash(INSTALLED[0], "training", "tasks") != source_hash(INSTALLED[0])
    assert row.detail["deviations"] == ()


def test_a_source_hash_leaves_no_source_out():
    from benchmark.sweeps.gate import source_files

    hashed = source_files("torch", "training", "tasks")
    root = Path(loop.__file__).parents[1]
    for folder in (root / "spec", root / "training", root / "tasks", root.parent / "layers_torch"):
        known = {path for path in folder.iterdir() if path.is_file() and path.suffix not in {".toml", ".pyc"}}
        assert known <= set(hashed), known - set(hashed)
    assert not any("layers_jax" in str(path) for path in hashed)


# workers


def doomed():
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_lost_worker_is_one_line():
    with pytest.raises(UserError) as caught:
        list(feed_ahead(doomed, rows_by_step(30, 7, 0, 0, 4), 1))
    text = str(caught.value)
    assert text.startswith("a data worker must live as long as its training, one of 1 was killed") and "\n" not in text
    assert "0 to read without" in text and "the same command goes on" in text


# notes


def test_a_note_is_told_at_once():
    class Told:
        bar, lines = None, []

        def say(self, line):
            self.lines.append(line)

    (cell,) = cells(8)
    SweepProgress(Told()).on_event(cell, {"event": "note", "text": "started anew"})
    assert Told.lines == [f"{cell.framework} {cell.layer} {cell.task or ''}: started anew"]


# going on and beginning anew


def leave_checkpoint(folder, cell, after_s):
    """A checkpoint so many seconds younger than the newest row."""
    path = checkpoint_path(folder, cell.id)
    path.parent.mkdir(exist_ok=True)
    path.write_text("half")
    at = files.read([folder]).rows[-1].created_at.timestamp() + after_s
    os.utime(path, (at, at))
    return path


@pytest.mark.parametrize("again", [False, True])
def test_an_again_that_was_killed_goes_on(scripted, tmp_path, again):  # noqa: F811
    found = []
    visits = scripted(lambda cell, nth: found.append(checkpoint_path(tmp_path, cell.id).exists()) or ok())
    run_cells(cells(8), tmp_path, Effort(processes=1))
    path = leave_checkpoint(tmp_path, cells(8)[0], after_s=5)
    run_cells(cells(8), tmp_path, Effort(processes=1, again=again))
    assert found == [False, True] and len(visits) == 2 and not path.exists()
    run_cells(cells(8), tmp_path, Effort(processes=1))
    assert len(visits) == 2, "now it is done"


def test_an_again_of_what_has_ended_begins_anew(scripted, tmp_path):  # noqa: F811
    found = []
    scripted(lambda cell, nth: found.append(checkpoint_path(tmp_path, cell.id).exists()) or ok())
    run_cells(cells(8), tmp_path, Effort(processes=1))
    leave_checkpoint(tmp_path, cells(8)[0], after_s=-5)  # of the training that ended, killed before it was removed
    run_cells(cells(8), tmp_path, Effort(processes=1))
    assert found == [False]
    run_cells(cells(8), tmp_path, Effort(processes=1, again=True))
    assert found == [False, False]


@pytest.mark.parametrize("status", ["failed", "oom", "killed", "crashed", "timeout"])
def test_what_failed_half_way_goes_on(scripted, tmp_path, status):  # noqa: F811
    script = [Outcome(status, reason="no"), ok()]
    visits = scripted(lambda cell, nth: script[nth - 1])
    run_cells(cells(8), tmp_path, Effort(processes=1))
    run_cells(cells(8), tmp_path, Effort(processes=1))
    assert len(visits) == 1, "it left nothing to go on from"
    leave_checkpoint(tmp_path, cells(8)[0], after_s=-5)
    assert run_cells(cells(8), tmp_path, Effort(processes=1))[0].status == "ok"


def test_what_diverged_does_not_go_on(scripted, tmp_path):  # noqa: F811
    visits = scripted(lambda cell, nth: Outcome("diverged", reason="no", detail={"history": {"best_epoch": 2}}))
    (row,) = run_cells(cells(8), tmp_path, Effort(processes=1))
    assert row.detail == {"history": {"best_epoch": 2}}
    leave_checkpoint(tmp_path, cells(8)[0], after_s=-5)
    run_cells(cells(8), tmp_path, Effort(processes=1))
    assert len(visits) == 1
