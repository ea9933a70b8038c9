"""Questions answered from rows with planted truths, and the text forms of a report."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from test_store import row

from benchmark.commands import answer as command
from benchmark.console import ExitError
from benchmark.reports import report
from benchmark.reports.answers import (
    QUESTIONS,
    Answer,
    Case,
    Question,
    Results,
    added,
    answers,
    published_tables,
    questions,
)
from benchmark.reports.answers.contrasts import decided
from benchmark.reports.answers.layers import score_contrasts, time_contrasts
from benchmark.reports.answers.matched import USUAL, Size, costs, nearest
from benchmark.reports.answers.places import place
from benchmark.reports.answers.text import brief, full
from benchmark.reports.answers.variants import Variant, option_contrasts
from benchmark.reports.as_json import answer_values, finite, table_values, to_json
from benchmark.reports.charts import drawn
from benchmark.reports.latex import LONG, escaped, to_latex
from benchmark.reports.tables import Table
from benchmark.spec import LAYERS, UserError
from benchmark.store import files
from benchmark.sweeps.cell import Recipe
from benchmark.training.recipes import course

MACHINE = {"cpu": "one", "cpus": 2, "versions": {"torch": "2.9"}, "commit": "abc"}
SIZES = {"rotrnn": 256, "lru": 128, "s4d": 2, "s5": 256}
"""Each layer's d_state for a real state of 256 at d_model 128."""


def timed(layer, length, medians, **changes):
    """A row of speed, of 256 real numbers of state."""
    fields = {
        "cell_id": f"{layer}{length}{sorted(changes.items())}",
        "layer": layer,
        "options": {},
        "algorithm": "auto",
        "seq_len": length,
        "batch": 1,
        "d_model": 128,
        "d_state": SIZES[layer],
        "real_state_size": 256,
        "flops": 1000 * length,
        "median_ms": float(np.exp(np.mean(np.log(medians)))),
        "process_medians_ms": [float(ms) for ms in medians],
        "samples_ms": None,
        "environment": MACHINE,
    }
    return row(**(fields | changes))


def noisy(layer, length, ms, spread, rng, processes=3, **changes):
    return timed(layer, length, ms * np.exp(rng.normal(0, spread, processes)), **changes)


def recipe(data="real", **changes):
    values = {"epochs": 3, "batch": 8, "depth": 1, "lr": 1e-3, "recurrence_lr": 1e-3, "weight_decay": 0.0}
    values |= {"dropout": 0.0, "warmup": 0.1, "norm": "batch", "activation": "gelu", "data": data}
    return Recipe(**(values | changes))


def trained(layer, scores, data="real", task="digits", measure="accuracy", made=None, **changes):
    """Rows of trainings, one a seed."""
    fields = {"metric": "train", "layer": layer, "options": {}, "task": task, "direction": None, "seq_len": None}
    fields |= {"median_ms": None, "samples_ms": None, "device_hours": 0.01, "real_state_size": 8}
    fields |= {"recipe": made or recipe(data), "environment": MACHINE} | changes
    return [
        row(
            cell_id=f"{layer}{data}{seed}{task}{made}{sorted(changes.items(), key=str)}",
            seed=seed,
            test_accuracy=score if measure == "accuracy" else None,
            detail={"history": {"test_score": score, "measure": measure}},
            **fields,
        )
        for seed, score in enumerate(scores)
    ]


def as_published(layer, scores, task="lra-listops"):
    found = course(task, layer, "paper")
    return trained(layer, scores, task=task, made=found.recipe, **found.sizes)


def studied(layer, task, detail, seed=0, **changes):
    fields = {"cell_id": f"{layer}{task}{seed}{sorted(changes.items())}", "metric": "study", "layer": layer}
    fields |= {"task": task, "seed": seed, "detail": detail, "options": {}, "algorithm": "auto", "direction": None}
    return row(**(fields | {"median_ms": None, "samples_ms": None, "environment": MACHINE} | changes))


def one(name, rows):
    (found,) = answers(rows, [QUESTIONS[name]])
    return found


def said(found):
    return " ".join(found.sentences)


RNG = np.random.default_rng(7)
UP = [0.9005 + 0.001 * i for i in range(10)]
DOWN = [0.80 + 0.002 * i for i in range(10)]
"""Scores of ten seeds with means 0.905 and 0.809."""


# What holds for all of them


def test_nothing_measured():
    found = answers([])
    assert [entry.id for entry in found] == list(QUESTIONS) == [f"Q{i}" for i in range(1, 12)]
    assert [entry.verdict for entry in found] == ["no", *["not measured"] * 10]
    assert all(any("run `rotbench " in text for text in entry.missing) for entry in found)
    assert all(entry.again for entry in found if entry.id == "Q1")


def mixed():
    """Rows of everything at once: hardware, failures, one seed, one process, an unknown study, other versions."""
    return [
        timed("rotrnn", 1024, [1.0, 1.1, 1.0]),
        timed("lru", 1024, [2.0, 2.1, 2.2]),
        timed("lru", 1024, [0.2], device="cuda", detail={"device_name": "H200"}),
        timed("s5", 1024, [3.0]),
        timed("s5", 2048, [3.0, 3.0, 3.0], environment={}),
        timed("s4d", 4096, [1.0], median_ms=None, process_medians_ms=None, status="oom", reason="host"),
        timed("s4d", 1024, [1.0], options={"A_init": "legs"}),
        *trained("rotrnn", [0.9]),
        *trained("lru", [0.8], data="stand-in"),
        *trained("s5", [0.8], status="diverged"),
        *trained("lru", [0.4], measure="mse", task="adding"),
        *trained("s4d", [0.4], task="lra-listops", data="generated"),
        *trained("s4d", [0.1], made=recipe(shuffled=True)),
        studied("lru", "norms/white", {}),
        studied("lru", "of the future", {"times": [1]}),
        studied("lru", None, {}),
        row(metric="roofline", layer="rotrnn", cell_id="top", median_ms=None),
        row(metric="train-step", task="gone", recipe=recipe(), cell_id="step", seq_len=None),
        row(cell_id="old", schema_version=1, environment={}, detail={}, median_ms=math.nan),
    ]


def test_odd_rows_end_in_plain_answers():
    found = answers(mixed())
    assert len(found) == len(QUESTIONS)
    for entry in found:
        assert entry.verdict in {"yes", "no", "partly", "undecided", "not measured"}
        assert not re.search(r"\bnan\b|\bNone\b|inf\b", said(entry)), entry.sentences
        json.dumps(answer_values(entry), allow_nan=False)
        assert brief(entry, 80) and full(entry, 80) and full(entry, None)


@pytest.mark.parametrize("rows", [[], mixed()], ids=["none", "mixed"])
def test_every_number_can_be_traced(rows):
    known = {entry.cell_id for entry in rows}
    for entry in answers(rows):
        if re.search(r"\d", re.sub(r"not measured here.*", "", said(entry))):
            assert entry.cells or entry.again, entry.id
        assert set(entry.cells) <= known
        for text in entry.again:
            assert text.startswith("rotbench "), text


def test_no_number_of_a_measured_answer_lacks_its_unit():
    rows = [*pair_of_times(0.5), *trained("rotrnn", UP), *trained("lru", DOWN)]
    for name, unit in {"Q1": "FLOP", "Q2": " h ", "Q3": "processes", "Q4": "%", "Q5": "points"}.items():
        assert unit in said(one(name, rows)), name


def pair_of_times(ratio, spread=0.005, processes=3, lengths=(1024, 4096), **changes):
    rng = np.random.default_rng(3)
    return [
        noisy(layer, length, length / 100 * factor, spread, rng, processes, **changes)
        for length in lengths
        for layer, factor in (("rotrnn", ratio), ("lru", 1.0))
    ]


# Q3: planted truths


def test_a_large_difference_is_seen():
    found = one("Q3", pair_of_times(0.5))
    assert found.verdict == "yes"
    assert "2 of 2 comparisons show a difference" in found.sentences[0]
    assert "faster in 2" in found.sentences[1]
    assert found.table.rows[0][-1] == "faster"
    assert len(found.cells) == 4
    assert "rotbench speed --layer rotrnn" in found.again[0]


def test_three_percent_under_eight_percent_noise_is_open():
    found = one("Q3", pair_of_times(1.03, spread=0.08))
    assert found.verdict == "undecided"
    assert "can't tell in 2: x" in found.sentences[1]


def test_a_tie_is_told_from_not_knowing():
    found = one("Q3", pair_of_times(1.0, spread=0.001, processes=5))
    assert found.verdict == "no"
    assert "0 of 2 comparisons show a difference, 2 show that there is none of 2 % or more" in found.sentences[0]


def test_an_interaction_names_its_lengths():
    rows = [
        noisy(layer, length, factor * length**power, 0.005, RNG)
        for length in (256, 1024, 4096)
        for layer, factor, power in (("rotrnn", 6, 1.0), ("lru", 1, 1.3))
    ]
    found = one("Q3", rows)
    assert found.verdict == "yes"
    assert "slower in 1: length 256 x1.1" in said(found)
    assert "faster in 2: length 1,024" in said(found)
    (crossing,) = [text for text in one("Q7", rows).sentences if "becomes" in text]
    assert "rotrnn becomes faster than lru at about length 39" in crossing  # 6 = L^0.3 at L = 393
    assert one("Q1", rows).verdict == "no", "the FLOPs decide it, not the times"


def test_one_process_each_decides_nothing():
    found = one("Q3", pair_of_times(0.5, processes=1))
    assert found.verdict == "undecided"
    assert any("at least 2 processes" in text for text in found.missing)
    assert "1 + 1 processes, too few ever to decide" in said(found)


def test_too_few_seeds_are_said_to_be():
    rows = [*trained("rotrnn", UP[:3]), *trained("lru", DOWN[:3])]
    found = one("Q3", rows)
    assert found.verdict == "undecided"
    assert "3 pairs of seeds, too few ever to decide" in said(found)
    assert any("can never reach 5 %: at least 6 seeds" in text and "--seeds 0:10" in text for text in found.missing)


def test_ten_seeds_decide():
    found = one("Q3", [*trained("rotrnn", UP), *trained("lru", DOWN)])
    assert found.verdict == "yes"
    assert "rotrnn is better than lru" in said(found)
    assert "rotrnn 90.5 %, lru 80.9 %" in said(found)
    assert "+9.60 points" in said(found)


def test_a_squared_error_is_not_told_in_points():
    rows = [*trained("rotrnn", DOWN, measure="mse", task="adding"), *trained("lru", UP, measure="mse", task="adding")]
    found = one("Q3", rows)
    assert "rotrnn is better than lru" in said(found)
    assert "-0.0960 MSE" in said(found) and "points" not in said(found)


def test_kinds_of_data_are_never_mixed():
    assert not score_contrasts([*trained("rotrnn", UP, data="stand-in"), *trained("lru", DOWN)])
    found = one("Q3", [*trained("rotrnn", UP, data="stand-in"), *trained("lru", DOWN, data="stand-in")])
    assert "STAND-IN data" in found.sentences[1]
    assert any("STAND-IN" in text for text in found.caveats)


def test_shuffled_labels_are_no_result():
    made = recipe(shuffled=True)
    assert not score_contrasts([*trained("rotrnn", UP, made=made), *trained("lru", DOWN, made=made)])


def test_machines_are_never_mixed():
    rows = [timed("rotrnn", 1024, [1, 1.01, 1.02]), timed("lru", 1024, [2, 2.01, 2.02], environment={"cpu": "two"})]
    found = one("Q3", rows)
    assert found.verdict == "not measured"
    assert "the nearest rows differ in cpu " in found.missing[0]


def test_equal_places_are_told_apart():
    rows = [
        *pair_of_times(0.5, lengths=(1024,)),
        *pair_of_times(0.5, lengths=(1024,), environment=MACHINE | {"commit": "def"}),
    ]
    found = one("Q3", rows)
    assert any("code abc" in line[1] for line in found.table.rows)
    assert any("code def" in line[1] for line in found.table.rows)
    assert any("2 versions of the code" in text for text in found.caveats)


def test_rows_without_a_partner_are_counted():
    found = one("Q3", [*pair_of_times(0.5), timed("s5", 512, [1, 1.1])])
    assert any(text.startswith("1 of 5 rows have no partner") for text in found.caveats)


# The family of all statements


def test_a_question_alone_is_judged_as_in_a_report():
    rows = [*pair_of_times(1.02, spread=0.004), *trained("rotrnn", UP), *trained("lru", DOWN)]
    (alone,) = answers(rows, [QUESTIONS["Q3"]])
    assert alone == answers(rows)[2]


def test_levels_are_divided_between_families():
    times, scores = time_contrasts(pair_of_times(0.5)), score_contrasts([*trained("rotrnn", UP), *trained("lru", DOWN)])
    both, alone = decided([*times, *scores]), decided(scores)
    (key,) = alone
    assert alone[key].p_adjusted == pytest.approx(2 / 2**10)
    assert both[key].p_adjusted == pytest.approx(2 * alone[key].p_adjusted)
    assert len(decided([*times, *times])) == 2, "one comparison asked for twice counts once"


def false_statements(count, seed):
    """In how many null data sets anything false is said: four equal layers, exponent 1, 8 % noise."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(count):
        rows = [
            noisy(layer, length, length / 100, 0.08, rng)
            for layer in ("rotrnn", "lru", "s5")
            for length in (256, 1024, 4096)
        ]
        scores = rng.normal(0.9, 0.01, (3, 8))
        rows += [
            t for layer, values in zip(("rotrnn", "lru", "s5"), scores, strict=True) for t in trained(layer, values)
        ]
        contrasts = {c.key: c for q in QUESTIONS.values() for c in q.contrasts(Results(rows))}
        found += any(decision.side in {"less", "more"} for decision in decided(contrasts.values()).values())
    return found


def test_false_statements_are_rare():
    count = 60
    assert false_statements(count, 1) <= count * (0.05 + 2 * math.sqrt(0.05 * 0.95 / count))


@pytest.mark.full
def test_false_statements_are_rare_in_a_thousand_reports():
    assert false_statements(1000, 2) <= 1000 * 0.05 + 2 * math.sqrt(1000 * 0.05 * 0.95)


# Q1, Q2, Q4


def test_costs_are_of_equal_states():
    found = costs(USUAL)
    assert {name: cost.spec.d_state for name, cost in found.items()} == SIZES
    assert {cost.spec.real_state_size for cost in found.values()} == {256}
    lru = found["lru"]
    # read-in and read-out 4 H N, scan 8 N a token of N complex states, skip 2 H; B scaled by gamma once
    assert lru.step == 8 * 128 * 128 + 8 * 128 + 2 * 128
    assert lru.forward == pytest.approx(4096 * lru.step, rel=0.001)
    assert nearest("rotrnn", Size(8, 100, 1)).d_state == 128


def test_flops_are_compared_without_any_row():
    found = one("Q1", [])
    assert found.verdict == "no"
    ratio = costs(USUAL)["rotrnn"].forward / costs(USUAL)["lru"].forward
    assert 1 < ratio < 1.01
    assert f"x{ratio:.3f} those of lru (state 256)" in said(found)
    assert found.again[1].startswith("rotbench flops --layer lru --d-model 128 --d-state 128")
    assert not found.cells


def test_flops_take_the_sizes_that_were_timed():
    rows = [timed("rotrnn", 512, [1, 1.1], d_model=64, d_state=64, real_state_size=64)]
    assert "at d_model 64 and length 512" in said(one("Q1", rows))


def step(layer, **changes):
    found = course("lra-listops", layer, "paper")
    fields = {"metric": "train-step", "task": "lra-listops", "layer": layer, "recipe": found.recipe, "options": {}}
    fields |= {"batch": found.recipe.batch, "median_ms": 3600.0, "seq_len": None, "direction": None, "samples_ms": None}
    return row(**(fields | {"cell_id": f"step{layer}", "environment": MACHINE} | found.sizes | changes))


def test_projected_hours_are_never_called_measured():
    found = one("Q2", [step("rotrnn"), *trained("rotrnn", [0.9, 0.8])])
    assert found.verdict == "partly"
    projected, measured = sorted(found.sentences, reverse=True)
    assert projected.startswith("Projected from the time of a step, not measured, in hours of this CPU")
    assert measured.startswith("Measured, in hours of this CPU a training (digits, real data, own recipe, torch, cpu")
    assert "rotrnn 0.0100 h (mean of 2 runs, 0.0100 to 0.0100)" in measured
    assert any("hours on a GPU" in text for text in found.missing)


def test_hours_measured_on_a_gpu():
    rows = [r for layer in ("rotrnn", "lru") for r in as_published(layer, [0.5])]
    gpu = [r.model_copy(update={"device": "cuda", "detail": r.detail | {"device_name": "H200"}}) for r in rows]
    assert one("Q2", rows).verdict == "partly"
    found = one("Q2", gpu)
    assert found.verdict == "yes"
    assert "in GPU-hours a training (lra-listops, real data, published recipe, torch, H200)" in said(found)
    assert one("Q2", gpu[:1]).verdict == "partly"


def test_published_scores_stand_apart():
    found = one("Q4", [])
    assert found.verdict == "not measured"
    assert "lra-text Mega 90.43 %" in said(found)
    assert "Liquid-S4" not in said(found), "its figures are of validation"
    assert "RotRNN's own row was not found" in said(found)
    assert found.table.columns[:3] == ["task", "PRINTED: best", "PRINTED: %"]
    (table,) = published_tables(trained("lru", [0.4], task="lra-listops"))
    assert table.title == "Published accuracy on lra-listops"
    assert published_tables(trained("lru", [0.4])) == []


def test_best_by_the_published_recipe_alone():
    rows = [*as_published("rotrnn", UP), *as_published("lru", DOWN)]
    assert one("Q4", rows).verdict == "yes"
    assert one("Q4", rows).table.rows[0][4:] == ["rotrnn (10 runs)", "real data, preset paper, torch, cpu", "90.5 %"]
    assert any("rotrnn on lra-listops:" in text for text in one("Q4", rows).caveats), "deviations are listed"
    assert one("Q4", [*as_published("rotrnn", DOWN), *as_published("lru", UP)]).verdict == "no"
    small = [*trained("rotrnn", UP), *trained("lru", DOWN)]
    assert one("Q4", small).verdict == "undecided"
    assert any("is not the published recipe" in text for text in one("Q4", small).caveats)
    mostly = [*rows, *as_published("rotrnn", DOWN, "lra-image"), *as_published("s5", UP, "lra-image")]
    assert one("Q4", mostly).verdict == "partly"


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


# Q6, Q7, Q8, Q10


def norms(layer, power, seed, **changes):
    times = [1, 4, 16, 64, 128, 256, 512, 1024]
    values = [t**power * (1 + 0.001 * seed) for t in times]
    return studied(layer, "norms/white", {"times": times, "blocks": [{"mean_square": values, **changes}]}, seed)


def test_norms_that_grow_and_that_stay():
    growing = [norms("lru", 1.0, seed) for seed in range(3)]
    staying = [norms("rotrnn", 0.0, seed, limit=1.0) for seed in range(3)]
    found = one("Q6", [*growing, *staying])
    assert found.verdict == "yes"
    assert "the state of lru still grows" in said(found) and "the state of rotrnn stays put" in said(found)
    assert "tending to 1.00" in said(found)
    assert "lru x1,024" in said(found), "levels beside that of rotrnn"
    assert one("Q6", [norms("lru", 0.0, seed) for seed in range(3)]).verdict == "no"
    assert one("Q6", growing[:1]).verdict == "undecided"
    without = [r.model_copy(update={"cell_id": f"{r.cell_id}n", "options": {"gamma": "none"}}) for r in growing]
    assert "the state of lru with gamma none still grows" in said(one("Q6", without))
    assert one("Q6", without).verdict == "not measured"
    assert one("Q6", staying).verdict == "not measured"


def test_norms_that_are_known_exactly_are_not_drawn():
    noisy_rows = [norms("lru", 1.0, seed, exact=[2.0] * 8) for seed in range(3)]
    assert one("Q6", noisy_rows).verdict == "no"
    assert "mean square 2.00 a real coordinate at t = 1,024" in said(one("Q6", noisy_rows))


def test_a_norm_that_falls_silent_has_no_exponent():
    row_ = studied("lru", "norms/digits", {"times": [1, 2], "blocks": [{"mean_square": [1.0, None]}]})
    assert one("Q6", [row_]).verdict == "not measured"


def scaling(power, **changes):
    return [noisy("rotrnn", length, length**power / 100, 0.005, RNG, **changes) for length in (1024, 2048, 4096, 8192)]


def test_growth_with_length():
    assert one("Q7", scaling(1.0)).verdict == "yes"
    assert one("Q7", scaling(0.5)).verdict == "yes", "slower than in proportion is no worse"
    found = one("Q7", scaling(2.0))
    assert found.verdict == "no"
    assert "the time of rotrnn grows faster than the length" in said(found)
    assert re.search(r"exponent 2\.0\d \[|exponent 1\.9\d \[", said(found))
    assert "12 processes at 4 lengths" in said(found)
    assert one("Q7", scaling(1.0)[:2]).verdict == "not measured"


def test_where_memory_ends():
    rows = [*scaling(1.0), timed("rotrnn", 16384, [1], median_ms=None, status="oom")]
    rows.append(timed("rotrnn", 32768, [1], median_ms=None, status="skipped_after_oom"))
    assert "fits up to length 8,192; memory does not suffice at 16,384" in said(one("Q7", rows))


def test_growth_of_memory():
    rows = [
        row(metric="memory", cell_id=f"m{length}", seq_len=length, rss_delta_bytes=1000 * length, environment=MACHINE)
        for length in (1024, 2048, 4096)
    ]
    assert "the memory of lru grows with exponent 1.00" in said(one("Q7", rows))
    assert one("Q7", rows).verdict == "not measured"


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


def period(layer, arm, before, after, score, seed):
    ends = {"before": {"error": before}, "after": {"error": after}}
    return studied(layer, f"period/{arm}", {"angle": 0.5, "test_score": score, "chance": 0.5, **ends}, seed)


def test_a_period_that_is_found_and_one_that_can_be_held():
    learned = [period("rotrnn", "learned", 0.3 + 0.01 * seed, 0.01, 0.1, seed) for seed in range(8)]
    held = [period("rotrnn", "fixed", 0.0, 0.0, 0.02 + 0.001 * seed, seed) for seed in range(8)]
    found = one("Q10", [*learned, *held])
    assert found.verdict == "yes"
    assert "the angle of rotrnn ends nearer to the truth than it began" in said(found)
    assert "truth 0.500" in said(found) and "radians" in said(found)
    assert "rotrnn with its angles held is better than a constant answer" in said(found)
    bad = [period("rotrnn", "fixed", 0.0, 0.0, 0.7 + 0.001 * seed, seed) for seed in range(8)]
    assert one("Q10", [*learned, *bad]).verdict == "partly"
    assert one("Q10", learned[:3]).verdict == "undecided"
    assert any("with its angles held" in text for text in one("Q10", learned).missing)


# Questions of others


class Point:
    name = "mine"

    def __init__(self, value):
        self.value = value

    def load(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def mine(name="U1"):
    def answer(question, case):
        return Answer(
            question.id, question.text, "yes", [f"{len(case.rows)} rows."], cells=[r.cell_id for r in case.rows]
        )

    return Question(name, "How many rows are there?", "rows", "their number", "always yes", answer)


def test_a_question_by_entry_point(monkeypatch):
    monkeypatch.setattr(added, "entry_points", lambda group: [Point(mine())] if group == "rotbench.questions" else [])
    assert list(questions()) == [*QUESTIONS, "U1"]
    found = answers(pair_of_times(0.5))[-1]
    assert (found.id, found.verdict, found.sentences) == ("U1", "yes", ["4 rows."])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (ImportError("no module"), "must name a Question, got no module"),
        ("text", "must name a Question, got 'text'"),
        (mine("Q3"), "its question's id must be new, got 'Q3'"),
    ],
)
def test_a_bad_entry_point_is_one_line(monkeypatch, value, words):
    monkeypatch.setattr(added, "entry_points", lambda group: [Point(value)])
    with pytest.raises(UserError, match=re.escape(words)):
        questions()


def test_a_case_is_all_that_an_answer_needs():
    question = QUESTIONS["Q8"]
    assert question.answer(question, Case([])).verdict == "not measured"


# Text, JSON, LaTeX, the command


@pytest.mark.parametrize("width", [80, 200])
def test_answers_fit_the_terminal(width):
    for entry in answers([*pair_of_times(0.5), *trained("rotrnn", UP), *trained("lru", DOWN)]):
        for line in f"{brief(entry, width)}\n{full(entry, width)}".splitlines():
            assert len(line) <= width or " " not in line.strip(), line


def test_a_brief_answer_leaves_out_its_trace():
    found = one("Q3", pair_of_times(0.5))
    assert "again: rotbench" not in brief(found) and "again: rotbench" in full(found)
    assert "cells: " in full(found)


def runs(folder, rows):
    files.prepare_folder(folder)
    for entry in rows:
        files.write(folder, entry)
    return str(folder)


def test_the_command(tmp_path, capsys):
    folder = runs(tmp_path / "runs", pair_of_times(0.5))
    command.answer([folder])
    out = capsys.readouterr().out
    assert all(
        re.search(rf"^{name} \[[a-z ]+\] {re.escape(question.text)}$", out, re.MULTILINE)
        for name, question in QUESTIONS.items()
    )
    command.answer(["q3", folder])
    out = capsys.readouterr().out
    assert "Differences between layers" in out and "Q4" not in out.split("\n")[0]
    command.answer(["Q3", folder], json=True)
    (found,) = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "yes"
    assert found["how"]["rule"] == QUESTIONS["Q3"].rule
    assert found["table"]["rows"][0]["verdict"] == "faster"


def test_the_command_ends_with_3_where_nothing_can_be_judged(tmp_path, capsys):
    folder = runs(tmp_path / "runs", [timed("rotrnn", 64, [1.0])])
    with pytest.raises(ExitError) as ended:
        command.answer(["Q2", folder])
    assert ended.value.code == 3
    (tmp_path / "none").mkdir()
    with pytest.raises(ExitError) as ended:
        command.answer([str(tmp_path / "none")])
    assert ended.value.code == 3
    assert "no results in" in capsys.readouterr().err


def test_words_are_questions_or_paths(tmp_path):
    assert command.split(["q3", "Q1", "some/Q3", "Q3"], QUESTIONS) == (["Q3", "Q1"], [Path("some/Q3")])
    with pytest.raises(UserError, match="unknown question 'Q99'; known: Q1, "):
        command.split(["Q99"], QUESTIONS)


def test_a_report_as_json():
    rows = [entry for entry in mixed() if entry.cell_id != "step"]
    text = to_json(report.build(rows, answers=answers(rows)))
    found = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert found["format"] == 1
    assert [entry["id"] for entry in found["answers"]] == list(QUESTIONS)
    assert len(found["rows"]) == len(rows)
    assert "samples_ms" not in text
    assert finite({"a": [math.inf, 1.0], "b": (math.nan, "x")}) == {"a": [None, 1.0], "b": [None, "x"]}
    assert table_values(Table("t", ["a", "b"], [["1", "2"]]))["rows"] == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(
    ("text", "set_"),
    [
        ("5 % of d_model", r"5 \% of d\_model"),
        ("a & b # $1 {x}", r"a \& b \# \$1 \{x\}"),
        ("\\x ~ ^", r"\textbackslash{}x \textasciitilde{} \textasciicircum{}"),
        (
            "1\N{EN DASH}2 \N{EM DASH} 3\N{MULTIPLICATION SIGN}4 \N{LESS-THAN OR EQUAL TO} 5 \N{MICRO SIGN}s",
            r"1--2 --- 3$\times$4 $\leq$ 5 $\mu$s",
        ),
        ("é ﬁ", "e fi"),
        ("漢", "?"),
        ("two\nlines", "two lines"),
    ],
)
def test_escapes(text, set_):
    assert escaped(text) == set_


def test_a_latex_table():
    table = Table("A_b", ["layer", "ms"], [["lru", "1.0"], ["[0.9 to 1]", "2 %"]], frozenset({"ms"}), ["50 % more."])
    assert to_latex(table, "tab:a").split("\n") == [
        r"\begin{table}[htbp]",
        r"\centering\small",
        r"\caption{A\_b}\label{tab:a}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"layer & ms \\",
        r"\midrule",
        r"lru & 1.0 \\",
        r"{[0.9 to 1]} & 2 \% \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip\footnotesize 50 \% more.",
        r"\end{table}",
    ]


def test_long_tables_run_over_pages():
    text = to_latex(Table("t", ["a"], [["x" * 40]] * (LONG + 1)))
    assert r"\begin{longtable}{p{13em}}" in text and r"\endhead" in text


def test_every_answer_can_be_set():
    for entry in answers([*mixed(), *pair_of_times(0.5)]):
        if entry.table:
            text = to_latex(entry.table)
            assert r"\textbf" not in text
            assert text.count("{") == text.count("}")
            assert len({line.count(" & ") for line in text.split("\n") if line.endswith(r" \\")}) == 1


@pytest.mark.parametrize("name", ["Q1", "Q3", "Q6", "Q7"])
def test_charts_are_drawn(name):
    found = one(name, [*scaling(1.0), *pair_of_times(0.5), *(norms("lru", 0.5, seed) for seed in range(2))])
    json.dumps(found.chart, allow_nan=False)
    assert len(drawn(found.chart, "svg")) > 1000


def test_the_document_has_every_question():
    text = " ".join((Path(__file__).parent.parent / "docs" / "answers.md").read_text().split())
    for name, question in QUESTIONS.items():
        for words in (name, question.text, question.needs, question.statistic, question.rule):
            assert " ".join(words.split()) in text, (name, words)


def test_places_tell_what_matters():
    assert place({"framework": "jax", "device": "cuda", "device name": "H200", "dtype": "float32"}) == ("jax", "H200")
    assert place({"task": "digits", "data": "stand-in", "recipe": "preset small"}) == (
        "digits",
        "STAND-IN data",
        "preset small",
    )
    assert set(SIZES) == set(LAYERS)
