"""tests/perf/gpu_check.sh without a GPU: what it would measure, that it ends in time, its exit code."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from frameworks import INSTALLED
from typer.testing import CliRunner

SCRIPT = Path(__file__).parent / "perf" / "gpu_check.sh"
MOST_CELLS = 60
"""In 420 seconds; a process that starts CUDA and compiles takes some 5 of them."""

pytestmark = pytest.mark.skipif(not shutil.which("timeout"), reason="the script bounds itself by coreutils' timeout")


def check(tmp_path, stub, *more):
    """Run the script with a stub in place of rotbench; its result, and the calls that the stub wrote down."""
    program, told = tmp_path / "rotbench", tmp_path / "told"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{told}"\n{stub}\n')
    program.chmod(0o755)
    env = {**os.environ, "ROTBENCH": str(program)}
    done = subprocess.run(["sh", str(SCRIPT), str(tmp_path / "out"), *more], env=env, capture_output=True, text=True)
    return done, [line.split() for line in told.read_text().splitlines()]


def test_all_is_well(tmp_path):
    done, calls = check(tmp_path, "exit 0")
    assert done.returncode == 0, done.stderr
    assert [calls[0][0], calls[1][0], calls[-1][0]] == ["doctor", "accuracy", "report"]


def test_a_mark_that_jax_is_known_to_miss_is_told_and_fails_nothing(tmp_path):
    for framework, code in (("jax", 0), ("torch", 1)):
        done, calls = check(tmp_path, f'[ "$1 $3" != "accuracy {framework}" ] || exit 1')
        assert done.returncode == code
        assert calls[-1][0] == "report"


def test_one_failure_fails_the_check_and_stops_nothing(tmp_path):
    done, calls = check(tmp_path, '[ "$1" != memory ] || exit 4')
    assert done.returncode == 4
    assert calls[-1][0] == "report"


def test_the_whole_is_bounded(tmp_path):
    start = time.monotonic()
    done, calls = check(tmp_path, '[ "$1" = report ] || exec sleep 60', "1")
    assert done.returncode == 124
    assert [call[0] for call in calls] == ["doctor", "report"]
    assert time.monotonic() - start < 20


@pytest.mark.skipif(len(INSTALLED) < 2, reason="counts the cells of both frameworks")
def test_cells_are_few_and_all_can_be_served(tmp_path):
    from cli import app

    _, calls = check(tmp_path, "exit 0")
    cells = {}
    for name, *words in calls:
        if name not in {"speed", "memory"}:
            continue
        result = CliRunner().invoke(app, ["plan", "--metric", name, *words, "--json"], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        cells |= {entry["id"]: entry for entry in json.loads(result.stdout)}
    assert 0 < len(cells) <= MOST_CELLS
    fused = [entry for entry in cells.values() if entry["algorithm"] == "fused"]
    assert fused
    assert {entry["layer"] for entry in fused} == {"lru"}  # S4D's is for CPUs
