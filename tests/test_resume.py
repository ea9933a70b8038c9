"""Trainings that are killed, in real processes: the same command goes on, bit by bit the same."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from frameworks import INSTALLED
from test_cli import ROOT, rotbench

from benchmark.store import files
from benchmark.sweeps.supervisor import descendants

needs_framework = pytest.mark.skipif(not INSTALLED, reason="trains")
TINY = ["--layer", "lru", "--d-model", "8", "--d-state", "8", "--depth", "1"]
SMALL = [*TINY, "--framework", *INSTALLED[:1], "--threads", "1"]


def losses(folder):
    (path,) = (folder / "steps").glob("*.parquet")
    return pq.read_table(path)["loss"].to_pylist()


def started(folder, *words):
    """A training that has left its first checkpoint in a folder: its process."""
    command = [sys.executable, str(ROOT / "cli.py"), "train", "digits", *words, "--save-s", "0", "--out", folder]
    process = subprocess.Popen(command, cwd=folder.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while process.poll() is None and not list((folder / "checkpoints").glob("*.safetensors")):
        time.sleep(0.01)
    return process


VICTIMS = [
    pytest.param("torch", "worker", marks=pytest.mark.full),
    pytest.param("jax", "command"),
    pytest.param("torch", "command", marks=pytest.mark.full),
    pytest.param("jax", "worker", marks=pytest.mark.full),
]


@pytest.mark.parametrize(("framework", "victim"), [case for case in VICTIMS if case.values[0] in INSTALLED])
def test_kill_9_and_the_same_command_again(framework, victim, tmp_path):
    words = ["train", "digits", *TINY, "--framework", framework, "--threads", "1"]
    words += ["--epochs", "8", "--dropout", "0.1", "--save-s", "0"]
    rotbench(*words, "--out", "whole", cwd=tmp_path)
    command = [sys.executable, str(ROOT / "cli.py"), *words, "--out", "killed"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    kept = tmp_path / "killed" / "checkpoints"
    while process.poll() is None and not list(kept.glob("*.safetensors")):
        time.sleep(0.01)
    time.sleep(0.3)
    deepest = max(descendants(process.pid), default=process.pid)
    os.kill(process.pid if victim == "command" else deepest, signal.SIGKILL)
    process.communicate(timeout=120)
    assert list(kept.glob("*.safetensors")) and not list((tmp_path / "killed" / "steps").glob("*"))
    rotbench(*words, "--out", "killed", cwd=tmp_path)
    assert losses(tmp_path / "killed") == losses(tmp_path / "whole")
    row, reference = (files.read([tmp_path / name]).rows[-1] for name in ("killed", "whole"))
    assert row.status == "ok" and row.detail["history"]["resumed_at"] and not list(kept.glob("*"))
    assert row.test_accuracy == reference.test_accuracy
    assert not reference.detail["history"]["resumed_at"]


@needs_framework
def test_an_again_that_is_killed_goes_on_and_a_damaged_checkpoint_is_told_at_once(tmp_path):
    out, words = tmp_path / "out", [*SMALL, "--epochs", "6"]
    rotbench("train", "digits", *words, "--out", "out", cwd=tmp_path)
    process = started(out, *words, "--again")
    process.kill()
    process.communicate(timeout=120)
    rotbench("train", "digits", *words, "--again", "--out", "out", cwd=tmp_path)
    first, second = files.read([out]).rows
    assert second.detail["history"]["resumed_at"] and not first.detail["history"]["resumed_at"]
    assert second.test_accuracy == first.test_accuracy
    path = out / "checkpoints" / f"{first.cell_id}.safetensors"
    path.write_bytes(b"half")
    _, err = rotbench("train", "digits", *words, "--out", "out", cwd=tmp_path)
    assert f"{INSTALLED[0]} lru digits: started anew: {path} is damaged" in err
    assert not path.exists() and path.with_suffix(".aside").exists()


@needs_framework
def test_a_data_worker_that_is_killed_is_one_line_and_the_same_command_goes_on(tmp_path):
    out, words = tmp_path / "out", [*SMALL, "--epochs", "10", "--workers", "1"]
    process = started(out, *words)
    cmdlines = {pid: Path(f"/proc/{pid}/cmdline") for pid in descendants(process.pid)}
    (worker,) = [pid for pid, path in cmdlines.items() if b"spawn_main" in path.read_bytes()]
    os.kill(worker, signal.SIGKILL)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 3 and "failed: a data worker must live as long as its training, one of 1 was" in said
    assert "BrokenProcessPool" not in said and "Traceback" not in said
    (row,) = files.read([out]).rows
    assert row.status == "failed"
    rotbench("train", "digits", *words, "--out", "out", cwd=tmp_path)
    again = files.read([out]).rows[-1]
    assert again.status == "ok" and again.detail["history"]["resumed_at"]
