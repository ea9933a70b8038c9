"""Who may import whom, in child processes, since sys.modules is global."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from frameworks import INSTALLED

ROOT = Path(__file__).parent.parent
OTHER = {"torch": ["jax", "jaxlib", "optax", "layers_jax"], "jax": ["torch", "layers_torch"]}
BOTH = ["torch", "jax", "jaxlib", "layers_torch", "layers_jax"]


def child(code, absent=()):
    blocked = f"import sys; sys.modules.update(dict.fromkeys({list(absent)!r}))\n"
    done = subprocess.run([sys.executable, "-c", blocked + code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_frameworks_under_test_are_the_expected_ones():
    """So that a framework that went missing cannot take its tests away unseen."""
    assert ",".join(INSTALLED) == os.environ.get("ROTBENCH_EXPECTED", "torch,jax")


@pytest.mark.parametrize("framework", INSTALLED)
def test_a_twin_runs_without_the_other_framework(framework):
    child(
        f"""
import numpy as np
import layers_{framework} as layers
import layers_{framework}.train
from benchmark.spec import LAYERS
for name, spec in LAYERS.items():
    made = spec(d_model=4, d_state=64)
    assert layers.apply(made, made.init(0), np.zeros((1, 3, 4), np.float32)).shape == (1, 3, 4)
""",
        OTHER[framework],
    )


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("benchmark.spec", [*BOTH, "typer", "rich", "pandas", "pydantic", "scipy", "pyarrow"]),
        ("benchmark.spec.reference", [*BOTH, "scipy"]),
        ("benchmark.store.files", BOTH),
        ("benchmark.reports.report", BOTH),
        ("benchmark.sweeps.plan", BOTH),
        ("benchmark.verification.compare", BOTH),
    ],
)
def test_imports_without(module, absent):
    child(f"import {module}", absent)


@pytest.mark.parametrize("words", [["--help"], ["speed", "--help"], ["--show-completion"], []])
def test_the_command_line_answers_without_the_slow_modules(words):
    complete = {"_ROTBENCH_COMPLETE": "complete_bash", "COMP_WORDS": "rotbench spe", "COMP_CWORD": "1"}
    code = f"""
import os, sys
os.environ.update({complete if not words else {}!r})
sys.argv = ["rotbench", *{words!r}]
import cli
try:
    cli.main()
except SystemExit:
    pass
slow = {{"torch", "jax", "pandas", "numpy", "pyarrow", "scipy", "altair"}} & set(sys.modules)
assert not slow, slow
"""
    child(code)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("twin", ["layers_torch", "layers_jax"])
def test_twins_know_only_the_spec_and_their_framework(twin):
    foreign = {"torch": "jax", "jax": "torch"}[twin.removeprefix("layers_")]
    for path in (ROOT / twin).glob("*.py"):
        for name in imports(path):
            assert name.split(".")[0] not in {foreign, f"layers_{foreign}", "optax" if foreign == "jax" else foreign}
            assert not name.startswith("benchmark") or name.startswith("benchmark.spec"), f"{path.name}: {name}"


def test_only_backends_names_the_twins():
    for path in (ROOT / "benchmark").rglob("*.py"):
        if path.name != "backends.py":
            found = [
                name for name in imports(path) if name.split(".")[0] in {"torch", "jax", "layers_torch", "layers_jax"}
            ]
            assert not found, f"{path}: {found}"


def test_the_oracle_shares_no_formula_with_the_twins():
    names = set(imports(ROOT / "benchmark/spec/reference.py"))
    assert not names & {"benchmark.spec.formulas", "benchmark.spec.hippo", "benchmark.spec.costs"}
