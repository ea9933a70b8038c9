"""Small presets learn what they must; with shuffled labels they learn nothing, so that nothing gives labels away."""

import math

import pytest
from frameworks import INSTALLED
from test_cli import rotbench

from benchmark.store import files

pytestmark = [pytest.mark.full, pytest.mark.skipif(not INSTALLED, reason="trains")]

STAND_INS = {"lra-text": (400, 0.80), "lra-retrieval": (300, 0.65)}
"""Updates, fewer than the preset's 1,000, and the accuracy that they must reach; chance is one half."""
SHUFFLED_STEPS, ADDING_STEPS = 100, 600


def trained(folder, task, *words):
    """The rows of trainings by the small preset, with the layer and framework that are quickest there."""
    places = ["--data-dir", str(folder), "--out", str(folder / "out"), "--threads", "1"]
    rotbench("train", task, "--layer", "lru", "--framework", INSTALLED[-1], *places, *words, cwd=folder)
    return files.read([folder / "out"]).rows


@pytest.mark.parametrize("task", STAND_INS)
def test_a_stand_in_is_learnt(tmp_path, task):
    steps, accuracy = STAND_INS[task]
    (row,) = trained(tmp_path, task, "--data", "stand-in", "--steps", str(steps))
    assert row.test_accuracy >= accuracy


@pytest.mark.parametrize("task", STAND_INS)
def test_a_stand_in_with_shuffled_labels_stays_at_chance(tmp_path, task):
    """Within four standard errors of a fair coin thrown for each of the 1,000 test examples.

    The mean of three seeds: by chance shuffled labels agree a little with what tells the true ones apart, and a model
    that finds this is further from one half, to either side, than a coin.
    """
    words = ["--data", "stand-in", "--shuffled", "--steps", str(SHUFFLED_STEPS), "--seeds", "0:3"]
    rows = trained(tmp_path, task, *words)
    assert len(rows) == 3 and all(row.recipe.shuffled and row.detail["history"]["chance"] == 0.5 for row in rows)
    assert abs(sum(row.test_accuracy for row in rows) / 3 - 0.5) < 4 * math.sqrt(0.5 * 0.5 / 1000)


def test_the_adding_problem_is_solved_at_length_400(tmp_path):
    (row,) = trained(tmp_path, "adding", "--set", "task.length=400", "--steps", str(ADDING_STEPS))
    assert row.detail["history"]["measure"] == "mse" and row.detail["history"]["test_score"] < 0.02
