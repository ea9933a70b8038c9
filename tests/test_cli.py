"""The command line through a real process."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from frameworks import INSTALLED

ROOT = Path(__file__).parent.parent
FRAMEWORK = INSTALLED[0] if INSTALLED else ""
needs_framework = pytest.mark.skipif(not INSTALLED, reason="measures an installed framework")


def rotbench(*words, cwd, check=0, env=None):
    """Run the command and hold it to its exit code; stdout and stderr as text."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        timeout=300,
    )
    assert done.returncode == check, done.stdout + done.stderr
    return done.stdout, done.stderr


BAD = [
    (["speed", "--layer", "s6"], "unknown layer 's6'; known: rotrnn, lru, s4d, s5"),
    (["speed", "--algorithm", "quick"], "unknown algorithm 'quick'; known: auto, sequential"),
    (["speed", "--seq-len", "8:4:x2"], "seq-len: a range must rise"),
    (["speed", "--seq-len", "-4"], "seq-len must be a positive integer or a range"),
    (["speed", "--batch", "-1"], "batch must be a positive integer"),
    (["speed", "--d-state", "0"], "d-state must be a positive integer"),
    (["speed", "--layer", "rotrnn", "--d-state", "100"], "d_state must be divisible by heads"),
    (["speed", "--layer", "rotrnn", "--d-state", "96"], "must be even, got 96/32 = 3"),
    (["speed", "--device", "tpu"], "unknown device 'tpu'; known: cpu, cuda"),
    (["speed", "--framework", "mxnet"], "unknown framework 'mxnet'; known: torch, jax"),
    (["speed", "--threads", "x"], "Invalid value for '--threads'"),
    (["speed", "--colour"], "No such option: --colour"),
    (["speed", "--set", "heads"], "--set reads name=value"),
    (["train", "mnist"], "unknown task 'mnist'; known: digits"),
    (["train", "digits", "--epochs", "0"], "epochs must be a positive integer, got 0"),
    (["train", "digits", "--lr", "-1"], "lr must be a positive number"),
    (["train", "digits", "--d-model", "-2"], "d_model must be a positive integer, got -2"),
    (["verify", "--dtype", "int8"], "unknown dtype 'int8'; known: float32, float64"),
    (["report", "nowhere"], "no results at nowhere"),
    (["report", "--format", "pdf"], "unknown format 'pdf'; known: html, md"),
    (["paint"], "No such command 'paint'"),
]


@needs_framework
@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_is_one_line_and_exit_2(words, message, tmp_path):
    out, err = rotbench(*words, cwd=tmp_path, check=2)
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err
    assert out == ""
    assert not list(tmp_path.iterdir())


@needs_framework
@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="asks for a device that is not here")
def test_a_missing_gpu_is_named_before_anything_is_measured(tmp_path):
    _, err = rotbench("speed", "--device", "cuda", "--framework", FRAMEWORK, cwd=tmp_path, check=2)
    assert "sees no CUDA device here; available: cpu" in err
    assert not list(tmp_path.iterdir())


@needs_framework
@pytest.mark.parametrize("command", [["speed"], ["train", "digits"]])
def test_a_file_in_the_folders_place(command, tmp_path):
    (tmp_path / "taken").write_text("mine")
    out, err = rotbench(*command, "--framework", FRAMEWORK, "--out", "taken", cwd=tmp_path, check=2)
    assert "results cannot be written to taken" in err
    assert out == ""
    assert (tmp_path / "taken").read_text() == "mine"


def test_help_names_every_command(tmp_path):
    out, _ = rotbench("--help", cwd=tmp_path)
    for command in ("verify", "speed", "train", "report", "list", "doctor"):
        assert command in out


def test_version_and_bare_call(tmp_path):
    assert rotbench("--version", cwd=tmp_path)[0].startswith("rotbench ")
    out, err = rotbench(cwd=tmp_path, check=2)
    assert "Usage" in out + err


def test_list_and_doctor(tmp_path):
    out, _ = rotbench("list", cwd=tmp_path)
    assert "arXiv:2407.07239" in out
    assert "digits" in out
    out, _ = rotbench("doctor", cwd=tmp_path)
    for framework in ("torch", "jax"):
        assert framework in out


@needs_framework
def test_speed_then_report(tmp_path):
    words = ["--layer", "lru,s4d", "--seq-len", "8:16:x2", "--batch", "1", "--d-model", "4", "--d-state", "4"]
    out, err = rotbench("speed", *words, "--framework", FRAMEWORK, "--budget", "0.05", cwd=tmp_path)
    assert "4 rows in results/runs/cells" in out
    assert len([line for line in err.splitlines() if line.startswith("[")]) == 4
    assert "\x1b" not in out + err
    assert len(list((tmp_path / "results/runs/cells").glob("*.parquet"))) == 4
    out, _ = rotbench("report", cwd=tmp_path)
    assert out.split() == ["results/report/report.md", "results/report/report.html"]
    assert "s4d" in (tmp_path / "results/report/report.html").read_text()


def test_nothing_to_report_is_exit_3(tmp_path):
    (tmp_path / "empty").mkdir()
    _, err = rotbench("report", "empty", cwd=tmp_path, check=3)
    assert "no results in empty" in err


@needs_framework
def test_train_and_its_row(tmp_path):
    words = ["--layer", "lru", "--epochs", "1", "--d-model", "8", "--d-state", "8", "--depth", "1"]
    out, _ = rotbench("train", "digits", *words, "--framework", FRAMEWORK, "--out", "here", cwd=tmp_path)
    assert "digits" in out
    assert "1 rows in here/cells" in out
    from benchmark.store import files

    (row,) = files.read([tmp_path / "here"]).rows
    assert (row.metric, row.task, row.layer) == ("train", "digits", "lru")
    assert 0 <= row.test_accuracy <= 1
    assert row.device_hours == row.train_wall_s / 3600
    assert len(row.history["step_loss"]) == 25
    assert json.dumps(row.recipe)


@needs_framework
def test_verify_one_layer_in_one_framework(tmp_path):
    out, _ = rotbench(
        "verify", "--quick", "--layer", "lru", "--framework", FRAMEWORK, "--dtype", "float64", cwd=tmp_path
    )
    assert "16 checks passed" in out  # 2 variants, 4 algorithms, values and gradients


@needs_framework
def test_verify_fails_with_exit_1_where_the_math_is_wrong(tmp_path):
    """A wrong read-out, put in by a sitecustomize of this test's own."""
    (tmp_path / "sitecustomize.py").write_text(
        "import benchmark.spec.formulas as f\nwas = f.decay\nf.decay = lambda xp, x: 1.0001 * was(xp, x)\n"
    )
    path = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    words = ["verify", "--quick", "--layer", "lru", "--framework", FRAMEWORK, "--dtype", "float64"]
    out, _ = rotbench(*words, cwd=tmp_path, check=1, env=path)
    assert "FAILED" in out
    assert "checks failed" in out
    assert "values differ by" in out


@pytest.mark.full
def test_help_is_fast(tmp_path):
    """Within 0.3 s of a bare Typer application of two commands, interleaved."""
    bare = tmp_path / "bare.py"
    bare.write_text(
        "import typer\napp = typer.Typer()\n"
        "@app.command()\ndef one() -> None:\n    ...\n@app.command()\ndef two() -> None:\n    ...\napp()\n"
    )

    def seconds(script):
        start = time.perf_counter()
        subprocess.run([sys.executable, str(script), "--help"], capture_output=True, check=True, cwd=ROOT)
        return time.perf_counter() - start

    pairs = [(seconds(ROOT / "cli.py"), seconds(bare)) for _ in range(9)]
    assert statistics.median(ours - theirs for ours, theirs in pairs) < 0.3
