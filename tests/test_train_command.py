"""`rotbench train` through a real process: resume after kill -9, workers, divergence, bad input."""

import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest
from frameworks import INSTALLED
from test_cli import ROOT, rotbench

from benchmark.store import files
from benchmark.sweeps.supervisor import descendants

needs_framework = pytest.mark.skipif(not INSTALLED, reason="trains")
TINY = ["--layer", "lru", "--d-model", "8", "--d-state", "8", "--depth", "1"]


def losses(folder):
    (path,) = (folder / "steps").glob("*.parquet")
    return pq.read_table(path)["loss"].to_pylist()


VICTIMS = [
    pytest.param("torch", "worker"),
    pytest.param("jax", "command"),
    pytest.param("torch", "command", marks=pytest.mark.full),
    pytest.param("jax", "worker", marks=pytest.mark.full),
]


@pytest.mark.parametrize(("framework", "victim"), [case for case in VICTIMS if case.values[0] in INSTALLED])
def test_kill_9_and_the_same_command_again(framework, victim, tmp_path):
    words = ["train", "digits", *TINY, "--framework", framework, "--epochs", "20", "--dropout", "0.1", "--save-s", "0"]
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


@pytest.mark.parametrize("framework", INSTALLED)
def test_data_workers_do_not_hang(framework, tmp_path):
    words = ["train", "digits", *TINY, "--framework", framework, "--epochs", "2"]
    for workers in ("0", "2"):
        rotbench(*words, "--workers", workers, "--out", workers, cwd=tmp_path)
    assert losses(tmp_path / "0") == losses(tmp_path / "2")


@needs_framework
def test_a_rate_of_1000_diverges_in_so_many_words(tmp_path):
    words = ["--lr", "1e3", "--recurrence-lr", "1e3", "--framework", INSTALLED[0]]
    out, err = rotbench("train", "digits", *TINY, *words, cwd=tmp_path, check=3)
    assert "diverged: the loss is" in err and "try a smaller --lr" in err
    assert "Traceback" not in out + err


@needs_framework
def test_a_stand_in_is_loud_and_real_data_are_insisted_on(tmp_path):
    words = [*TINY, "--framework", INSTALLED[0], "--data-dir", str(tmp_path), "--epochs", "1", "--batch", "50"]
    small = ["--set", "task.max_length=16", "--set", "task.examples=100", "--set", "task.held_out=50"]
    out, err = rotbench("train", "lra-text", *words, *small, cwd=tmp_path)
    assert "STAND-IN" in out and "STAND-IN: lra-text runs on invented data" in err
    (row,) = files.read([tmp_path / "results/runs"]).rows
    assert row.recipe.data == "stand-in"
    assert row.recipe.task_options == {"max_length": 16, "examples": 100, "held_out": 50}
    _, err = rotbench("train", "lra-text", *words, "--data", "real", cwd=tmp_path, check=2)
    assert "imdb is not complete" in err and "rotbench data get imdb" in err


@needs_framework
def test_what_needs_data_and_has_no_stand_in_says_what_to_do(tmp_path):
    _, err = rotbench("train", "lra-image", *TINY, "--data-dir", str(tmp_path), cwd=tmp_path, check=2)
    assert "cifar10" in err and "rotbench data get cifar10" in err and len(err.splitlines()) == 1
