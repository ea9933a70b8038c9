"""`rotbench train` through a real process: workers, divergence, data that are missing, what it tells."""

import json
import shutil

import pytest
from frameworks import INSTALLED
from test_cli import rotbench
from test_resume import SMALL, TINY, losses

from benchmark.reports.again import commands
from benchmark.store import files
from benchmark.studies.names import study_of
from benchmark.training.published import RECIPES

needs_framework = pytest.mark.skipif(not INSTALLED, reason="trains")


WORKERS = [pytest.param(name, marks=pytest.mark.full) for name in ("torch", "jax")]


@pytest.mark.parametrize("framework", [case for case in WORKERS if case.values[0] in INSTALLED])
def test_data_workers_do_not_hang(framework, tmp_path):
    words = ["train", "digits", *TINY, "--framework", framework, "--threads", "1", "--epochs", "1"]
    for workers in ("0", "2"):
        rotbench(*words, "--workers", workers, "--out", workers, cwd=tmp_path)
    assert losses(tmp_path / "0") == losses(tmp_path / "2")


@needs_framework
def test_snapshots_show_norms_over_the_course_of_a_training(tmp_path):
    train = ["train", "digits", *SMALL, "--steps", "20", "--eval-steps", "10", "--snapshots", "--out", "out"]
    rotbench(*train, cwd=tmp_path)
    (row,) = files.read([tmp_path / "out"]).rows
    kept = tmp_path / "out" / "snapshots" / row.cell_id
    assert [int(path.stem) for path in sorted(kept.iterdir())] == [0, 10, 20]
    words = ["--weights", "out/snapshots", "--inputs", "none", "--batch", "2", "--threads", "1"]
    out, _ = rotbench("study", "norms", "--framework", INSTALLED[0], *words, "--out", "norms", cwd=tmp_path)
    assert "Norms over the course of training" in out
    assert {study_of(row.task).step for row in files.read([tmp_path / "norms"]).rows} == {0, 10, 20}
    assert "--snapshots" in commands([row])[0].split()
    last = str(sorted(kept.iterdir())[-1])
    out, _ = rotbench("evaluate", last, "--framework", INSTALLED[0], "--json", cwd=tmp_path)
    assert json.loads(out)[0]["noted_score"] is None
    shutil.rmtree(kept)
    _, err = rotbench(*train, cwd=tmp_path)
    assert "rows and no snapshots: 1 training; --again" in err


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


@pytest.mark.full
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
