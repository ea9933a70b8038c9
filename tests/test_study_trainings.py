"""Studies that are ordinary trainings: their arms, sizes and ids."""

import json

import pytest
from frameworks import INSTALLED

from benchmark.spec import LAYERS, UserError
from benchmark.studies import trainings
from benchmark.training.recipes import course

needs_framework = pytest.mark.skipif(not INSTALLED, reason="computes")


def shared(**changes):
    base = {"frameworks": INSTALLED[:1], "seeds": ["0:2"], "device": "cpu", "threads": 1, "algorithm": "auto"}
    return base | {"precision": ["fp32"], "preset": "small", "data": "auto", "data_dir": None} | changes


@needs_framework
def test_ablations_are_ordinary_trainings(tmp_path):
    given = shared(data_dir=tmp_path)
    cells = trainings.cells_of_arms(trainings.NORMALISER, "digits", ["heads=8", "r_max=0.99"], overrides={}, **given)
    assert {c.metric for c in cells} == {"train"} and len(cells) == 2 * 7
    kinds = {(c.options["normalizer"], c.options["mixing"]) for c in cells if c.layer == "rotrnn"}
    assert kinds == {(k, "learned") for k in ("stationary", "exact", "none")} | {("stationary", "identity")}
    assert {c.options["gamma"] for c in cells if c.layer == "lru"} == {"learned", "recomputed", "none"}
    assert {c.options.get("heads", 8) for c in cells} == {8}
    assert {c.options["r_max"] for c in cells if c.layer == "lru"} == {0.99}
    with pytest.raises(UserError, match="no option 'nonsense'"):
        trainings.cells_of_arms(trainings.NORMALISER, "digits", ["nonsense=1"], overrides={}, **given)


@needs_framework
def test_initial_values_are_compared_at_one_state_size(tmp_path):
    arms = trainings.matched(trainings.initialisation(list(LAYERS)), "digits", "small", {})
    cells = trainings.cells_of_arms(arms, "digits", [], overrides={}, **shared(data_dir=tmp_path))
    assert {c.spec.real_state_size for c in cells} == {64} and {c.d_model for c in cells} == {16}
    ranges = {layer: {json.dumps(c.options) for c in cells if c.layer == layer} for layer in LAYERS}
    assert {layer: len(found) for layer, found in ranges.items()} == dict.fromkeys(LAYERS, 3)
    with pytest.raises(UserError, match="leave out --d-state"):
        trainings.matched(arms, "digits", "small", {"d_state": 4})


@needs_framework
def test_small_studies_share_their_plain_arms(tmp_path):
    """So that one folder holds each only once: 7 + 12 + 8 arms are 21 trainings a seed."""
    listed = list(LAYERS)
    found = [
        trainings.sized(trainings.NORMALISER, "digits", "small", {}),
        trainings.matched(trainings.initialisation(listed), "digits", "small", {}),
        trainings.sized(trainings.hybrid(listed), "digits", "small", {}),
    ]
    given = shared(data_dir=tmp_path, seeds=["0"])
    cells = [c for arms in found for c in trainings.cells_of_arms(arms, "digits", [], overrides={}, **given)]
    assert len(cells) == 27 and len({c.id for c in cells}) == 21
    assert {(c.d_model, c.recipe.epochs, c.spec.real_state_size) for c in cells} == {(16, 6, 64)}


def test_what_is_given_to_a_study_stays_and_published_sizes_too():
    (arm,) = trainings.sized([trainings.Arm("lru")], "digits", "small", {"d_model": 8, "epochs": 2, "d_state": 4})
    assert arm.overrides == {"d_model": 8, "epochs": 2, "d_state": 4}
    (arm,) = trainings.sized([trainings.Arm("lru")], "digits", "small", {"steps": 3})
    assert arm.overrides == {"d_model": 16, "steps": 3, "d_state": 32}
    assert trainings.sized(trainings.hybrid(["lru"]), "lra-listops", "paper", {}) == trainings.hybrid(["lru"])
    (arm,) = trainings.sized([trainings.Arm("s5")], "lra-listops", "small", {})
    assert "epochs" not in arm.overrides, "its preset counts in steps"


@needs_framework
def test_a_hybrid_is_another_cell_and_its_partner_is_not(tmp_path):
    arms = trainings.hybrid(["lru"])
    alone, hybrid = trainings.cells_of_arms(arms, "digits", [], overrides={}, **shared(data_dir=tmp_path, seeds=["0"]))
    assert "attention" not in alone.canonical_json and hybrid.recipe.attention == 1
    with pytest.raises(UserError, match="attention of a recipe: input should be less than or equal to 4"):
        course("digits", "lru", "small", {"attention": 5})
