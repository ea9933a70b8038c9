"""Path-X, 16,384 steps, in published sizes: one optimiser step of batch 4 in a process of its own, and its memory."""

import os
import subprocess
import sys

import pytest
from frameworks import INSTALLED
from test_imports import ROOT

from benchmark.spec import LAYERS
from benchmark.sweeps.process import worker_environment

MOST_BYTES = 8 << 30

ONE_STEP = """
import sys
import numpy as np
from benchmark.metrics.memory import rss_peak_bytes
from benchmark.sweeps.cell import Cell, layer_spec
from benchmark.training.published import TASKS
from benchmark.training.recipes import course
from benchmark.training.setup import model_around, trainer_of

name, framework = sys.argv[1:]
found, size = course("lra-pathx", name, "paper", {"batch": 4}), TASKS["lra-pathx"]
spec = layer_spec(name, **found.sizes, options=found.options)
cell = Cell(
    metric="train", layer=name, framework=framework, **found.sizes, options=spec.options, batch=4, threads=2,
    task="lra-pathx", recipe=found.recipe,
)
trainer = trainer_of(cell, model_around(cell, size.inputs, size.outputs, size.tokens, size.documents))
x = np.random.default_rng(0).standard_normal((4, size.seq_len, size.inputs), dtype=np.float32)
rates = {"recurrence": found.recipe.recurrence_lr, "regular": found.recipe.lr}
loss = float(trainer.update(x, np.array([0, 1, 1, 0]), None, rates))
assert np.isfinite(loss)
assert all(np.isfinite(value).all() for value in trainer.weights().values())
print(rss_peak_bytes())
"""


@pytest.mark.full
@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("layer", LAYERS)
def test_a_step_of_published_size_fits_into_8_gib(layer, framework):
    env = os.environ | worker_environment(threads=2, device="cpu")
    command = [sys.executable, "-c", ONE_STEP, layer, framework]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    peak_bytes = int(done.stdout)
    assert (1 << 30) < peak_bytes < MOST_BYTES, f"{peak_bytes / 2**30:.2f} GiB"
