"""The command line through a real process."""

import contextlib
import json
import os
import pty
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from frameworks import INSTALLED

from benchmark.spec import LAYERS
from benchmark.sweeps.supervisor import descendants, is_running

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
        env={**os.environ, **(env or {})},
        timeout=900,
    )
    assert done.returncode == check, done.stdout + done.stderr
    return done.stdout, done.stderr


LISTENING = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.executable, sys.argv[1:])",
    sys.executable,
)
"""A shell has its background jobs, and so all they start, ignore Ctrl-C: run a command that does not."""


HUGE = "9" * 25
BAD = [
    (["speed", "--layer", "s6"], "unknown layer 's6'; known: rotrnn, lru, s4d, s5"),
    (["speed", "--algorithm", "quick"], "unknown algorithm 'quick'; known: auto, sequential"),
    (["speed", "--seq-len", "8:4:x2"], "seq-len: a range must rise"),
    (["speed", "--seq-len", "-4"], "seq-len must be a positive integer"),
    (["speed", "--seq-len", HUGE], "seq-len must be a positive integer up to"),
    (["speed", "--seq-len", "9" * 5000], "seq-len must be a positive integer up to"),
    (["speed", "--seq-len", "1:10000:+1", "--batch", "1:10000:+1"], "cells, more than"),
    (["speed", "--batch", "-1"], "batch must be a positive integer"),
    (["speed", "--d-state", "0"], "d-state must be a positive integer"),
    (["speed", "--layer", "rotrnn", "--d-state", "100"], "d_state must be divisible by heads"),
    (["speed", "--layer", "rotrnn", "--d-state", "96"], "must be even, got 96/32 = 3"),
    (["speed", "--device", "tpu"], "unknown device 'tpu'; known: cpu, cuda"),
    (["speed", "--device", "cpu:0"], "unknown device 'cpu:0'"),
    (["speed", "--framework", "mxnet"], "unknown framework 'mxnet'; known: torch, jax"),
    (["speed", "--threads", "x"], "Invalid value for '--threads'"),
    (["speed", "--threads", "-1"], "threads must lie between 0"),
    (["speed", "--seed", HUGE], "a seed must lie between 0 and"),
    (["speed", "--budget-s", "nan"], "budget_s must be a positive number"),
    (["speed", "--budget-s", "-1"], "budget_s must be a positive number"),
    (["speed", "--processes", "0"], "processes must be a positive integer"),
    (["gpu-hours", "--task", ""], "no published recipe fits; tasks: lra-"),
    (["gpu-hours", "--price", "-3"], "--price must be a number from 0, got -3"),
    (["gpu-hours", "--price", "nan"], "--price must be a number from 0, got nan"),
    (["choice", "--direction", "step"], "direction step has no algorithm to choose"),
    (["choice", "--algorithm", "fft"], "No such option: --algorithm"),
    (["limits", "--device", "cuda"], "No such option: --device"),
    (["speed", "--memory-limit", "8"], "memory_limit must be at least 512MiB"),
    (["speed", "--memory-limit", "much"], "memory_limit must be a size such as 8GiB"),
    (["speed", "--precision", "fp8"], "unknown precision 'fp8'; known: fp32, tf32, bf16"),
    (["speed", "--match", "size"], "match in command line: input should be 'none', 'state'"),
    (["speed", "--retry", "broken"], "--retry takes oom, timeout"),
    (["speed", "--preset", "huge"], "unknown preset 'huge'; known: quick, cpu, gpu, paper"),
    (["speed", "--config", "nowhere.toml"], "no configuration at nowhere.toml"),
    (["speed", "--colour"], "No such option: --colour"),
    (["speed", "--set", "heads"], "--set reads name=value"),
    (["speed", "--layer", "rotrnn", "--set", "max_phase=" + "9" * 400], "max_phase must be a finite number"),
    (["sweep", "--metric", "beauty"], "unknown metric 'beauty'; known: speed, memory"),
    (["plan", "--layer", "s6"], "unknown layer 's6'"),
    (["flops", "--direction", "up"], "unknown direction 'up'; known: forward, forward+backward, step"),
    (["gpu-hours", "--task", "lra-audio"], "unknown published task 'lra-audio'; known: lra-listops"),
    (["gpu-hours", "--examples", "-1"], "examples must not be negative, got -1"),
    (["train", "imagenet"], "unknown task 'imagenet'; known: lra-listops, lra-text"),
    (["train", "digits", "--epochs", "0"], "epochs must be a positive integer"),
    (["train", "digits", "--batch", "1258"], "batch must not exceed the 1257 training examples of digits, got 1258"),
    (["train", "digits", "--lr", "-1"], "lr must lie in"),
    (["train", "digits", "--weight-decay", "nan"], "weight_decay must lie in"),
    (["train", "digits", "--d-model", "-2"], "d_model must be a positive integer up to 2,147,483,647, got -2"),
    (["train", "digits", "--d-model", "0"], "d_model must be a positive integer up to 2,147,483,647, got 0"),
    (["train", "digits", "--seeds", "-1"], "seeds read 0, 0,1,2 or 0:5"),
    (["verify", "--dtype", "int8"], "unknown dtype 'int8'; known: float32, float64"),
    (["report", "nowhere"], "no results at nowhere"),
    (["report", "two\nlines"], "no results at two lines"),
    (["report", "--format", "pdf"], "unknown format 'pdf'; known: html, md"),
    (["report", "--format", ""], "format needs at least one of: html, md"),
    (["results", "list", "nowhere"], "no results at nowhere"),
    (["results", "prune", "--status", "broken"], "--status takes ok, oom, timeout"),
    (["config", "show", "--preset", "huge"], "unknown preset 'huge'"),
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
    assert "cannot write taken" in err
    assert out == ""
    assert (tmp_path / "taken").read_text() == "mine"


def test_help_names_every_command(tmp_path):
    out, _ = rotbench("--help", cwd=tmp_path)
    for command in ("verify", "speed", "memory", "sweep", "plan", "flops", "roofline", "gpu-hours", "train", "report"):
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


SMALL = ["--batch", "1", "--d-model", "4", "--d-state", "4", "--framework", FRAMEWORK]
QUICK = [*SMALL, "--budget-s", "0.05", "--processes", "1"]


@needs_framework
def test_speed_then_report(tmp_path):
    words = ["speed", "--layer", "lru,s4d", "--seq-len", "8:16:x2", *QUICK]
    out, err = rotbench(*words, cwd=tmp_path)
    assert "4 rows in results/runs/cells" in out
    assert len([line for line in err.splitlines() if line.startswith("[")]) == 4
    assert "\x1b" not in out + err
    assert len(list((tmp_path / "results/runs/cells").glob("*.parquet"))) == 4
    out, err = rotbench(*words, cwd=tmp_path)
    assert "4 rows" in out
    assert not [line for line in err.splitlines() if line.startswith("[")]  # nothing was missing
    out, _ = rotbench("report", cwd=tmp_path)
    assert out.split() == ["results/report/report.md", "results/report/report.html"]
    assert "s4d" in (tmp_path / "results/report/report.html").read_text()


@needs_framework
def test_json_on_stdout_is_pure_and_strict(tmp_path):
    words = ["--layer", "lru", "--seq-len", "8", *QUICK, "--json"]
    for command in (["speed"], ["memory"], ["plan"], ["flops"]):
        out, _ = rotbench(*command, *words, cwd=tmp_path)
        assert json.loads(out, parse_constant=pytest.fail)
    for command in (["results", "list", "--json"], ["config", "show", "--json"]):
        assert json.loads(rotbench(*command, cwd=tmp_path)[0])


@needs_framework
def test_a_sweep_from_a_file_and_its_plan(tmp_path):
    (tmp_path / "rotbench.toml").write_text(
        "[sweep]\nlayer = ['lru']\nseq_len = '8:16:x2'\nbatch = 1\nd_model = 4\nd_state = 4\n"
        f"framework = '{FRAMEWORK}'\nprocesses = 2\nbudget_s = 0.05\n"
    )
    out, _ = rotbench("plan", "--metric", "speed,memory", cwd=tmp_path)
    assert "4 cells, 0 done" in out
    out, _ = rotbench("sweep", cwd=tmp_path)
    assert "Memory of one call" in out
    assert "over the medians of 2 processes" in out
    out, _ = rotbench("plan", "--metric", "speed,memory", cwd=tmp_path)
    assert "4 cells, 4 done" in out
    out, _ = rotbench("config", "show", cwd=tmp_path)
    assert "rotbench.toml" in out


@needs_framework
def test_inline_measures_in_this_process(tmp_path):
    out, _ = rotbench("speed", "--layer", "lru", "--seq-len", "8", *QUICK, "--inline", cwd=tmp_path)
    assert "1 row " in out


@needs_framework
def test_what_cannot_run_is_a_row_and_exit_3_or_4(tmp_path):
    words = ["speed", "--layer", "lru", "--seq-len", "8", *QUICK]
    out, _ = rotbench(*words, "--precision", "tf32", cwd=tmp_path, check=3)
    assert "unsupported" in out
    assert "tf32 is a format of GPUs" in out
    out, _ = rotbench(*words, "--precision", "fp32,tf32", cwd=tmp_path, check=4)
    assert "2 rows" in out


@needs_framework
def test_memory_that_runs_out_skips_larger_cells(tmp_path):
    words = ["speed", "--layer", "lru", "--seq-len", "100000000,200000000", *QUICK, "--memory-limit", "2GiB"]
    out, _ = rotbench(*words, cwd=tmp_path, check=3)
    assert "oom" in out


@needs_framework
def test_interrupt_keeps_what_is_finished(tmp_path):
    words = ["speed", "--layer", "lru", "--seq-len", "1:300:+1", *SMALL, "--budget-s", "0.05", "--processes", "1"]
    running = subprocess.Popen(
        [sys.executable, "-c", *LISTENING, str(ROOT / "cli.py"), *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for line in running.stderr:
        if line.startswith("[2/"):
            break
    below = descendants(running.pid)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted; what is finished is kept" in err
    assert len(list((tmp_path / "results/runs/cells").glob("*.parquet"))) >= 2
    assert not any(is_running(pid) for pid in below)


@needs_framework
def test_interrupt_ends_verify_at_once(tmp_path):
    running = subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), "verify", "--layer", "lru", "--framework", FRAMEWORK],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(3)
    below = descendants(running.pid)
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=20)
    assert running.returncode == 130
    assert not any(is_running(pid) for pid in below)


def test_who_stops_reading_changes_no_exit_code(tmp_path):
    command = f"{sys.executable} {ROOT / 'cli.py'} list | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_without_utf_8(tmp_path):
    out, _ = rotbench("list", cwd=tmp_path, env={"PYTHONIOENCODING": "latin-1"})
    assert out.isascii()


@needs_framework
def test_what_lies_in_the_working_directory_is_not_imported(tmp_path):
    (tmp_path / "benchmark").mkdir()
    for name in ("benchmark/__init__.py", "random.py", "numpy.py"):
        (tmp_path / name).write_text("raise SystemExit('imported from the working directory')\n")
    out, _ = rotbench("speed", "--layer", "lru", "--seq-len", "8", *QUICK, cwd=tmp_path)
    assert "1 row " in out
    rotbench("doctor", cwd=tmp_path)


@needs_framework
def test_flops_with_terms_and_counters(tmp_path):
    words = [
        "flops",
        "--layer",
        "lru,s4d",
        "--seq-len",
        "64",
        *SMALL,
        "--algorithm",
        "chunked",
        "--explain",
        "--counters",
    ]
    out, _ = rotbench(*words, cwd=tmp_path)
    assert f"{FRAMEWORK}" in out
    assert "coverage" in out
    assert "read-out, backward" in out
    assert "real add 1" in out.lower()


@needs_framework
def test_roofline(tmp_path):
    words = ["--framework", FRAMEWORK, "--budget-s", "0.05"]
    out, _ = rotbench("roofline", *words, cwd=tmp_path)
    assert "FLOP/s" in out


@needs_framework
def test_matched_sizes_are_told(tmp_path):
    words = ["speed", "--layer", "lru,s5,rotrnn", "--seq-len", "8", *QUICK, "--match", "state", "--set", "heads=1"]
    out, err = rotbench(*words, cwd=tmp_path)
    assert "matched on real state size: s5" in err
    assert "takes d_state 8, 8 against 8 (+0.0 %)" in err.replace("8.00", "8")
    assert "3 rows" in out


@needs_framework
def test_results_commands(tmp_path):
    rotbench("speed", "--layer", "lru", "--seq-len", "8,16", *QUICK, cwd=tmp_path)
    out, _ = rotbench("results", "list", cwd=tmp_path)
    cell = next(line for line in out.splitlines() if " speed " in line).split()[1]
    out, _ = rotbench("results", "show", cell, cwd=tmp_path)
    assert "median_ms" in out
    out, _ = rotbench("results", "export", "--format", "csv", cwd=tmp_path)
    assert len(out.splitlines()) == 3
    out, _ = rotbench("results", "merge", "results/runs", "--out", "both", cwd=tmp_path)
    assert "2 files copied" in out
    out, _ = rotbench("results", "prune", "both", "--status", "ok", cwd=tmp_path)
    assert out.count("would delete") == 2
    rotbench("results", "prune", "both", "--status", "ok", "--yes", cwd=tmp_path)
    rotbench("results", "list", "both", cwd=tmp_path, check=3)


def test_nothing_to_report_is_exit_3(tmp_path):
    (tmp_path / "empty").mkdir()
    _, err = rotbench("report", "empty", cwd=tmp_path, check=3)
    assert "no results in empty" in err


@needs_framework
def test_train_and_its_row(tmp_path):
    words = ["--layer", "lru", "--epochs", "1", "--d-model", "8", "--d-state", "8", "--depth", "1"]
    out, _ = rotbench("train", "digits", *words, "--framework", FRAMEWORK, "--out", "here", cwd=tmp_path)
    assert "digits" in out
    assert "1 row in here/cells" in out
    from benchmark.store import files

    (row,) = files.read([tmp_path / "here"]).rows
    assert (row.metric, row.task, row.layer) == ("train", "digits", "lru")
    assert 0 <= row.test_accuracy <= 1
    assert row.train_wall_s == row.device_hours * 3600
    assert row.recipe.epochs == 1
    assert row.detail["history"]["test_score"] == row.test_accuracy
    assert row.detail["tokens_per_s"] > 0
    steps = pq.read_table(tmp_path / "here" / "steps" / f"{row.cell_id}.parquet").to_pylist()
    assert [step["step"] for step in steps] == list(range(1, 26))
    assert steps[-1]["validation_accuracy"] == row.detail["history"]["validation_score"]
    assert steps[0]["validation_accuracy"] is None and all(step["loss"] > 0 for step in steps)
    weights = tmp_path / "here" / "weights" / f"{row.cell_id}.safetensors"
    found = json.loads(rotbench("evaluate", str(weights), "--json", cwd=tmp_path)[0])
    assert [entry["evaluated_in"] for entry in found] == list(INSTALLED)
    assert all(abs(entry["score"] - row.test_accuracy) <= 2 / 360 for entry in found)
    assert not list((tmp_path / "here" / "checkpoints").glob("*"))


@needs_framework
def test_verify_one_layer_in_one_framework(tmp_path):
    out, _ = rotbench(
        "verify", "--quick", "--layer", "lru", "--framework", FRAMEWORK, "--dtype", "float64", cwd=tmp_path
    )
    assert "20 checks passed" in out  # 2 variants, 4 algorithms, values and gradients


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


@needs_framework
def test_a_step_is_measured_and_counted(tmp_path):
    words = ["--layer", "lru,s4d", *QUICK, "--direction", "step"]
    out, _ = rotbench("speed", *words, "--json", cwd=tmp_path)
    rows = json.loads(out)
    assert len(rows) == 2
    assert all(row["flops"] > 0 and row["median_ms"] > 0 and "seq_len" not in row for row in rows)
    out, _ = rotbench("flops", "--layer", "lru", *SMALL, "--direction", "step", cwd=tmp_path)
    assert "step" in out


@needs_framework
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").write_text("in the way")
    env = {"XDG_CACHE_HOME": str(tmp_path / "file")}
    out, _ = rotbench("speed", "--layer", "lru", "--seq-len", "8", *QUICK, cwd=tmp_path, env=env)
    assert "1 row " in out


def in_terminal(*words, cwd, env):
    """What the command writes to a terminal, stdout and stderr together."""
    ours, theirs = pty.openpty()
    command = [sys.executable, str(ROOT / "cli.py"), *words]
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "GITHUB_ACTIONS"}}
    running = subprocess.Popen(command, cwd=cwd, stdout=theirs, stderr=theirs, env=kept | env)
    os.close(theirs)
    text = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while data := os.read(ours, 1 << 12):
            text += data
    os.close(ours)
    assert running.wait(60) == 0, text
    return text.decode()


@needs_framework
@pytest.mark.parametrize(
    ("env", "present", "absent"),
    [
        ({"TERM": "xterm-256color"}, ["\x1b["], []),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, [], [r"\x1b\[[\d;]*3\d(;\d+)*m"]),  # bold is no colour
        ({"TERM": "dumb"}, ["[1/1]"], ["\x1b"]),
        ({"TERM": "xterm-256color", "GITHUB_ACTIONS": "true", "NO_COLOR": "1"}, ["[1/1]"], ["\x1b"]),
    ],
    ids=["colour", "no-colour", "dumb", "actions"],
)
def test_what_terminals_are_told(env, present, absent, tmp_path):
    text = in_terminal("speed", "--layer", "lru", "--seq-len", "8", *QUICK, cwd=tmp_path, env=env)
    assert all(word in text for word in present)
    assert not any(re.search(pattern, text) for pattern in absent)


@pytest.mark.full
@pytest.mark.parametrize("framework", INSTALLED)
def test_every_layer_learns_the_digits(framework, tmp_path):
    """At least 97 % of the test split, each in under 3 minutes on 2 cores."""
    out, _ = rotbench("train", "digits", "--framework", framework, "--json", cwd=tmp_path)
    rows = json.loads(out)
    assert {row["layer"] for row in rows} == set(LAYERS)
    assert all(row["test_accuracy"] >= 0.97 for row in rows)
    assert all(row["device_hours"] * 3600 < 180 for row in rows)


@pytest.mark.full
@needs_framework
def test_every_length_runs_within_2_gib(tmp_path):
    """Each layer's auto at batch 1, forward and backward, to 65,536 steps."""
    lengths = ["--seq-len", "1,2,63,1000,16384,65536", "--batch", "1", "--direction", "forward+backward"]
    out, _ = rotbench("memory", *lengths, "--json", cwd=tmp_path)
    rows = json.loads(out)
    assert len(rows) == 6 * len(LAYERS) * len(INSTALLED)
    assert all(row["status"] == "ok" and row["rss_peak_bytes"] < 2 << 30 for row in rows)


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
