"""`rotbench train` through a real process: resume after kill -9, workers, divergence, bad input."""

import json
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
from benchmark.training.published import RECIPES

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


SMALL = [*TINY, "--framework", *INSTALLED[:1], "--threads", "1"]


def started(folder, *words):
    """A training that has left its first checkpoint in a folder: its process."""
    command = [sys.executable, str(ROOT / "cli.py"), "train", "digits", *words, "--save-s", "0", "--out", folder]
    process = subprocess.Popen(command, cwd=folder.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while process.poll() is None and not list((folder / "checkpoints").glob("*.safetensors")):
        time.sleep(0.01)
    return process


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


@needs_framework
def test_a_slower_test_set_stands_in_tables_and_is_evaluated_too(tmp_path):
    words = [*SMALL, "--data-dir", str(tmp_path), "--epochs", "1", "--batch", "35"]
    small = [word for name in ("stride=64", "examples=70", "held_out=70") for word in ("--set", f"task.{name}")]
    out, _ = rotbench("train", "speech-commands", *words, *small, "--out", "out", cwd=tmp_path)
    assert "test 0.125khz" in out and "test 0.125khz: the test set at that rate" in out
    (row,) = files.read([tmp_path / "out"]).rows
    noted = row.detail["history"]["extra"]["0.125khz"]
    assert 0 <= noted <= 1
    weights = str(tmp_path / "out" / "weights" / f"{row.cell_id}.safetensors")
    out, _ = rotbench("evaluate", weights, "--framework", "all", "--data-dir", str(tmp_path), "--json", cwd=tmp_path)
    found = json.loads(out)
    assert [entry["evaluated_in"] for entry in found] == list(INSTALLED)
    assert all(entry["extra"]["0.125khz"] == pytest.approx(noted, abs=0.03) for entry in found)


@needs_framework
def test_a_published_recipe_says_what_it_leaves_open(tmp_path):
    words = [*SMALL, "--data-dir", str(tmp_path), "--preset", "paper", "--steps", "2"]
    small = [f"task.{name}" for name in ("min_length=4", "max_length=16", "max_depth=3", "examples=100")]
    options = [word for option in small for word in ("--set", option)]
    _, err = rotbench("train", "lra-listops", *words, "--batch", "10", *options, "--out", "out", cwd=tmp_path)
    assert "lru on lra-listops: recipe from the LRU paper, arXiv:2303.06349" in err
    assert "lru on lra-listops, unknown or done otherwise here: the paper tuned" in err
    (row,) = files.read([tmp_path / "out"]).rows
    assert row.detail["deviations"] == list(RECIPES["lra-listops"]["lru"].deviations)
