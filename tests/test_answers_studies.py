"""Questions that studies answer, from rows with planted truths: Q5, Q6, Q8, Q9, Q10, Q11."""

import numpy as np
import pytest
from answer_rows import DOWN, UP, norms, one, period, said, studied
from result_rows import recipe, trained

from benchmark.reports.answers.layers import score_contrasts
from benchmark.reports.answers.variants import Variant, option_contrasts

# Q5, Q9, Q11: variants


def test_the_normaliser_helps():
    rows = [
        *trained("rotrnn", UP, options={"normalizer": "stationary"}),
        *trained("rotrnn", DOWN, options={"normalizer": "none"}),
    ]
    found = one("Q5", rows)
    assert found.verdict == "yes"
    assert "rotrnn with normalizer stationary is better than rotrnn with normalizer none" in said(found)
    assert any("RotRNN with P the identity: run `rotbench study" in text for text in found.missing)
    swapped = {"stationary": "none", "none": "stationary"}
    turned = [r.model_copy(update={"options": {"normalizer": swapped[r.options["normalizer"]]}}) for r in rows]
    assert one("Q5", turned).verdict == "no"


def test_one_training_is_not_put_in_the_plural():
    rows = [*trained("rotrnn", UP[:1]), *trained("rotrnn", DOWN[:1], options={"normalizer": "none"}, threads=1)]
    rows = [r.model_copy(update={"threads": 1}) for r in rows]
    text = said(one("Q5", rows))
    assert "1 pair of seeds, too few ever to decide" in text and "1 thread," in text
    assert "90.0 % against 80.0 %" in text.replace("90.1", "90.0")


def test_p_has_no_part_in_the_verdict():
    rows = [*trained("rotrnn", UP), *trained("rotrnn", DOWN, options={"mixing": "identity"})]
    found = one("Q5", rows)
    assert found.verdict == "not measured"
    assert "rotrnn with mixing learned is better than rotrnn with mixing identity" in said(found)


def test_an_option_that_old_rows_do_not_know_is_the_layers_own():
    old = trained("rotrnn", UP)
    assert not option_contrasts(old, Variant("rotrnn", "mixing", "learned", "identity"))
    two = [*old, *trained("rotrnn", DOWN, options={"mixing": "identity", "heads": 16})]
    assert not option_contrasts(two, Variant("rotrnn", "mixing", "learned", "identity")), "heads differ too"


def test_diverged_runs_are_counted():
    rows = [
        *trained("rotrnn", UP),
        *trained("rotrnn", DOWN[:6], options={"normalizer": "none"}),
        *trained("rotrnn", [0.1] * 2, options={"normalizer": "none", "heads": 1}, status="diverged"),
    ]
    assert "0 of 10 with normalizer stationary, 2 of 8 with normalizer none" in said(one("Q5", rows))


def over_ranges(layer, spread, name, seeds=8):
    rng = np.random.default_rng(5)
    base = rng.normal(0.9, 0.001, seeds)
    rows = []
    for shift, value in zip((-1, 0, 1), (0.1, 0.5, 0.9), strict=True):
        rows += trained(layer, list(base + shift * spread), options={name: value})
    return rows


def test_the_steadier_layer():
    rows = [*over_ranges("rotrnn", 0.001, "gamma_min"), *over_ranges("lru", 0.02, "r_min")]
    found = one("Q9", rows)
    assert found.verdict == "yes"
    assert "sd over 3 ranges: rotrnn 0.10 points, lru 2.00 points" in said(found)
    assert "rotrnn is steadier than lru" in said(found)
    assert one("Q9", [*over_ranges("rotrnn", 0.02, "gamma_min"), *over_ranges("lru", 0.001, "r_min")]).verdict == "no"


def test_spreads_of_two_recipes_stand_apart():
    def steadier(made, spread):
        rows = [*over_ranges("rotrnn", spread, "gamma_min"), *over_ranges("lru", spread, "r_min")]
        return [r.model_copy(update={"recipe": made, "cell_id": f"{r.cell_id}{made.epochs}"}) for r in rows]

    found = one("Q9", [*steadier(recipe(epochs=3), 0.001), *steadier(recipe(epochs=9), 0.1)])
    spreads = [text for text in found.sentences if "rotrnn, sd over 8 seeds" in text]
    assert len(spreads) == 2 and ["epochs=3," in text for text in spreads] == [True, False]


def test_ranges_of_unequal_number_are_not_compared():
    rows = [*over_ranges("rotrnn", 0.001, "gamma_min"), *over_ranges("lru", 0.02, "r_min")]
    assert one("Q9", [r for r in rows if r.options.get("r_min") != 0.9]).verdict == "not measured"
    few = [*over_ranges("rotrnn", 0.001, "gamma_min", 3), *over_ranges("lru", 0.02, "r_min", 3)]
    assert one("Q9", few).verdict == "undecided"
    assert any("3 pairs of seeds can never reach 5 %" in text for text in one("Q9", few).missing)


def test_before_attention():
    plain, hybrid = trained("rotrnn", DOWN), trained("rotrnn", UP, made=recipe(attention=1))
    found = one("Q11", [*plain, *hybrid])
    assert found.verdict == "yes"
    assert "rotrnn before attention is better than rotrnn alone" in said(found)
    assert one("Q11", plain).verdict == "not measured"
    assert not score_contrasts([*hybrid, *trained("lru", UP)]), "a hybrid is no layer"


# Q6, Q8, Q10


def over_seeds(layer, power, **changes):
    """Norms of three seeds, with both kinds of inputs that drive a layer alone."""
    return [norms(layer, power, seed, inputs, **changes) for seed in range(3) for inputs in ("white", "constant")]


def test_norms_that_grow_and_that_stay():
    growing, staying = over_seeds("lru", 1.0), over_seeds("rotrnn", 0.0, limit=1.0)
    found = one("Q6", [*growing, *staying])
    assert found.verdict == "yes"
    assert "lru with gamma learned growing, exponent 1.00" in said(found)
    assert "rotrnn with normalizer stationary bounded, exponent 0.00" in said(found)
    assert "mean square 1.00 at t = 1,024, its limit" in said(found)
    assert "lru with gamma learned x1,024" in said(found), "levels beside that of rotrnn"
    assert one("Q6", over_seeds("lru", 0.0)).verdict == "no"
    assert one("Q6", growing[:2]).verdict == "undecided"
    assert one("Q6", staying).verdict == "not measured"


def test_a_verdict_on_norms_needs_both_kinds_of_inputs():
    assert one("Q6", [norms("lru", 1.0, seed) for seed in range(3)]).verdict == "partly"
    found = one("Q6", [norms("lru", 0.0, seed) for seed in range(3)])
    assert found.verdict == "undecided"
    assert any(text.startswith("lru driven by constant inputs: run `rotbench study norms") for text in found.missing)


def test_variants_of_a_normaliser_are_told_apart():
    rows = over_seeds("lru", 1.0)
    without = [r.model_copy(update={"cell_id": f"{r.cell_id}n", "options": {"gamma": "none"}}) for r in rows]
    assert one("Q6", without).verdict == "not measured"
    constant, white = (text for text in one("Q6", [*rows, *without]).sentences if "growth of" in text)
    assert constant.startswith("constant inputs, as initialised") and white.startswith("white inputs, as initialised")
    assert "lru with gamma learned growing" in white and "lru with gamma none growing" in white


def test_trained_weights_are_taken_together_and_apart_from_initial_ones():
    initial = [norms("lru", 0.0, seed) for seed in range(3)]
    after = [norms("lru", 1.0, seed, task=f"@{seed:016x}") for seed in range(3)]
    after = [r.model_copy(update={"detail": r.detail | {"trained_on": "digits"}}) for r in after]
    found = one("Q6", [*initial, *after])
    assert any(text.startswith("white inputs, as initialised") and "3 seeds" in text for text in found.sentences)
    assert any(text.startswith("white inputs, trained on digits") and "3 seeds" in text for text in found.sentences)
    assert not any("after a training" in text for text in found.missing)
    assert any("after a training" in text for text in one("Q6", initial).missing)


def over_training(layer, levels, seeds=range(3), steps=100, **changes):
    """Norms after some of the steps of trainings, bounded at a level of each step."""
    found = []
    for step, level in levels.items():
        flat = {"mean_square": [level] * 8}
        rows = [norms(layer, 0.0, seed, task=f"@{seed:016x}:{step}", **flat | changes) for seed in seeds]
        origin = {"trained_on": "digits", "trained_in": "torch", "trained_steps": steps}
        found += [r.model_copy(update={"detail": r.detail | origin}) for r in rows]
    return found


def test_the_course_of_a_training_is_told_and_decides_nothing():
    rows = over_training("lru", {0: 0.5, 10: 4.0, 9: 2.0, 100: 1.0})
    alone = one("Q6", rows)
    assert alone.verdict == "not measured" and "over the course of training" in said(alone) and alone.missing
    initial = over_seeds("lru", 0.0)
    found = one("Q6", [*initial, *rows])
    assert one("Q6", initial).sentences == found.sentences[:-1]
    assert found.sentences[-1] == (
        "white inputs, trained on digits, torch, cpu, length 1,024, d_state 4, 8 sequences: mean square of a real "
        "coordinate at the last time over the course of training, and its growth exponents: lru with gamma learned "
        "0.500 after 0 steps, 1.00 after 100, at most 4.00 after 10, exponents 0.000 to 0.000 (3 seeds)."
    )
    assert {row.cell_id for row in rows} <= set(found.cells)
    assert not any("course" in text for text in found.missing)
    assert any("course" in text for text in one("Q6", initial).missing)


def test_a_step_that_a_seed_lacks_is_not_averaged():
    rows = over_training("lru", {0: 0.5, 10: 4.0, 20: 1.0}, steps=20)
    found = one("Q6", [*rows[:5], *rows[6:]]).sentences[-1]
    assert "after 10" not in found and "0.500 after 0 steps, 1.00 after 20" in found
    one_step = over_training("lru", {20: 0.5}, steps=20)
    assert not one("Q6", one_step).sentences


def test_states_that_learn_to_explode_are_told():
    inside = over_training("s5", {0: 0.5, 20: 4.0}, steps=20, largest_modulus=0.9999)
    beyond = over_training("s5", {0: 0.5, 20: 4.0}, steps=20, largest_modulus=1.0011)
    assert "|lam|" not in said(one("Q6", inside))
    assert "4.00 after 20, exponents 0.000 to 0.000, |lam| up to 1.00110 in the end" in said(one("Q6", beyond))


def test_trainings_that_did_not_end_are_in_no_course():
    rows = over_training("lru", {0: 0.5, 10: 4.0, 20: 1.0}, steps=20)
    killed = over_training("lru", {0: 9.0, 10: 9.0}, seeds=[3], steps=20)
    found = one("Q6", [*rows, *killed]).sentences[-1]
    assert "0.500 after 0 steps, 1.00 after 20, at most 4.00 after 10" in found
    assert found.endswith("without 1 training that did not end (3 seeds).")


def test_trainings_in_two_frameworks_are_two_courses():
    rows = over_training("lru", {0: 0.5, 20: 1.0}, steps=20)
    other = [
        r.model_copy(update={"cell_id": f"{r.cell_id}j", "detail": r.detail | {"trained_in": "jax"}}) for r in rows
    ]
    found = one("Q6", [*rows, *other]).sentences
    assert len(found) == 2 and all("(3 seeds)" in text for text in found)
    assert sum("trained on digits in jax" in text for text in found) == 1


def test_norms_that_are_known_exactly_are_not_drawn():
    found = one("Q6", over_seeds("lru", 1.0, exact=[2.0] * 8))
    assert found.verdict == "no"
    assert "mean square 2.00 (exact) at t = 1,024" in said(found)


def test_a_line_of_the_chart_of_norms_is_one_contrast():
    base = over_seeds("lru", 1.0)
    other = [
        r.model_copy(update={"cell_id": f"{r.cell_id}o", "environment": {"cpu": "other"}, "d_state": 2}) for r in base
    ]
    points = one("Q6", [*base, *other]).chart["data"]["values"]
    lines = {p["place"] for p in points}
    assert len(lines) == 4 and len(points) == 4 * 8
    first = [p["value"] for p in points if p["place"] == points[0]["place"]]
    assert first[-1] == pytest.approx(1024 * 1.001), "the mean over seeds"


def test_norms_over_too_few_steps_are_said_to_be_short():
    short = studied("lru", "norms/white", {"times": [1], "blocks": [{"mean_square": [1.0]}]})
    assert "of more steps than those that were measured: run" in one("Q6", [short]).missing[0]


def test_a_norm_that_falls_silent_has_no_exponent():
    row_ = studied("lru", "norms/digits", {"times": [1, 2], "blocks": [{"mean_square": [1.0, None]}]})
    assert one("Q6", [row_]).verdict == "not measured"


def book(layer, heads):
    values = {"layer": layer, "heads": heads, "mixing": "learned", "real_state_size": 8, "parameters": 99}
    return values | {"decays": heads or 4, "angles": 4, "free": 80, "redundant": 19}


def test_equivalence():
    books = [book("lru", None), book("rotrnn", 2)]
    good = studied("lru", "equivalence", {"errors": {"there, oracle": 1e-15}, "books": books})
    found = one("Q8", [good])
    assert found.verdict == "yes"
    assert "of at most 1.0e-15, float64" in said(found)
    assert "rotrnn with 2 heads, P learned: 99 parameters, of which 80 make a difference, 2 decays" in said(found)
    bad = studied("lru", "equivalence", {"errors": {"there, oracle": 1e-3}, "books": books}, seed=1)
    assert one("Q8", [good, bad]).verdict == "no"
    assert one("Q8", [good, bad]).table.rows == [["there, oracle", "1.0e-03", "DIFFERENT"]]


def test_a_period_that_is_found_and_one_that_can_be_held():
    learned = [period("rotrnn", "learned", 0.3 + 0.01 * seed, 0.01, 0.1, seed) for seed in range(8)]
    held = [period("rotrnn", "fixed", 0.0, 0.0, 0.02 + 0.001 * seed, seed) for seed in range(8)]
    found = one("Q10", [*learned, *held])
    assert found.verdict == "yes"
    assert "the angle of rotrnn ends nearer to the truth than it began" in said(found)
    assert "truth 0.500 radians a step" in said(found) and "period 12.57 steps" in said(found)
    assert "rotrnn with its angles held is better than a constant answer" in said(found)
    bad = [period("rotrnn", "fixed", 0.0, 0.0, 0.7 + 0.001 * seed, seed) for seed in range(8)]
    assert one("Q10", [*learned, *bad]).verdict == "partly"
    assert one("Q10", learned[:3]).verdict == "undecided"
    assert any("with its angles held" in text for text in one("Q10", learned).missing)
