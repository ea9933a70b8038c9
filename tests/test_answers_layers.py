"""Questions about layers side by side, answered from rows with planted truths: Q1, Q2, Q3, Q4, Q7."""

import re

import numpy as np
import pytest
from answer_rows import DOWN, SIZES, UP, as_published, noisy, one, pair_of_times, said, scaling, timed
from result_rows import MACHINE, recipe, trained
from test_store import row

from benchmark.reports.answers import (
    published_tables,
)
from benchmark.reports.answers.layers import score_contrasts
from benchmark.reports.answers.matched import USUAL, Size, costs, nearest
from benchmark.reports.answers.places import place
from benchmark.spec import LAYERS
from benchmark.training.recipes import course

RNG = np.random.default_rng(7)


# Q3: planted truths


def test_a_large_difference_is_seen():
    found = one("Q3", pair_of_times(0.5))
    assert found.verdict == "yes"
    assert found.sentences[0] == "Of 2 comparisons by time of a call: 2 decided as a difference, 0 open."
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
    assert "0 decided as a difference, 2 decided as none of 2 % or more, 0 open" in found.sentences[0]


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
    assert [line[1].split()[-1] for line in found.table.rows] == ["E1", "E2"], "by the environments' short names"
    assert any("2 versions of the code" in text for text in found.caveats)


def test_recipes_that_differ_are_told_by_what_differs():
    rows = []
    for made in (recipe(), recipe(dropout=0.5)):
        rows += [*trained("rotrnn", UP, made=made), *trained("lru", DOWN, made=made)]
    found = one("Q3", rows)
    (first, second) = (line[1] for line in found.table.rows)
    assert "dropout=0.5" in second and "dropout=0.5" not in first
    assert "{" not in first + second, "no JSON in a sentence"


def test_precisions_that_differ_are_told():
    rows = [*pair_of_times(0.5, lengths=(1024,)), *pair_of_times(0.5, lengths=(1024,), precision="tf32")]
    assert [line[1].split(" ", 1)[1][-4:] for line in one("Q3", rows).table.rows] == ["fp32", "tf32"]


def test_what_has_too_few_seeds_is_one_sentence_a_task():
    rows = [
        r
        for task in ("digits", "lra-image")
        for layer in ("rotrnn", "lru", "s5")
        for r in trained(layer, UP[:2], task=task)
    ]
    found = one("Q3", rows)
    few = [text for text in found.sentences if "too few ever to decide" in text]
    assert len(few) == 2
    assert "3 comparisons of rotrnn, lru, s5 are open" in few[0]
    assert "(2 pairs of seeds, too few ever to decide)" in few[0]
    assert "6 open, all of them with too few values ever to decide" in found.sentences[0]


def test_seeds_that_agree_may_be_too_few_among_many():
    rows = [
        r
        for layer, shift in (("rotrnn", 0.1), ("lru", 0.0), ("s4d", -0.1), ("s5", -0.2))
        for r in trained(layer, [s + shift for s in UP[:7]])
    ]
    found = one("Q3", rows)
    assert found.verdict == "undecided"
    (text,) = (text for text in found.missing if "point one way" in text)
    assert "in 6 comparisons all of 7 pairs of seeds point one way, which does not decide among 6" in text
    assert "at least 8 seeds are needed: run `rotbench train" in text  # 2^-7 times 6 is 0.047


def test_seeds_that_are_needed_if_all_are_to_be_decided():
    rows = [r for layer in ("rotrnn", "lru", "s4d", "s5") for r in trained(layer, UP[:3])]
    (text,) = (text for text in one("Q3", rows).missing if "pairs of seeds" in text)
    assert "at least 6 seeds are needed, 8 where all 6 comparisons have them" in text


def test_states_that_do_not_match_are_named_with_the_command_that_matches_them():
    rows = [
        *pair_of_times(0.5, lengths=(1024,)),
        timed("s5", 1024, [3.0, 3.1, 3.0], d_state=128, real_state_size=512, flops=1),
    ]
    found = one("Q3", rows)
    assert any("NOT matched" in line[1] for line in found.table.rows)
    assert any("1 comparison at equal d_state alone" in text and "--match state" in text for text in found.missing)


def test_rows_without_a_partner_are_counted():
    found = one("Q3", [*pair_of_times(0.5), timed("s5", 512, [1, 1.1])])
    assert any(text.startswith("1 of 5 rows have no partner") for text in found.caveats)


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
    assert f"{ratio:.3f} times those of lru (state 256)" in said(found)
    assert found.again[1].startswith("rotbench flops --layer lru --d-model 128 --d-state 128")
    assert not found.cells


def test_flops_take_the_sizes_that_were_timed():
    rows = [timed("rotrnn", 512, [1, 1.1], d_model=64, d_state=64, real_state_size=64)]
    assert "at d_model 64 and length 512" in said(one("Q1", rows))


def test_a_layer_without_an_equal_state_has_no_part_in_the_verdict():
    found = one("Q1", [timed("rotrnn", 512, [1, 1.1], d_state=128, real_state_size=128)])
    assert "of s4d (state 256, NOT matched)" in said(found) and said(found).count("NOT matched") == 1
    assert found.verdict == "no", "fewer FLOPs than s4d's of twice the state say nothing"
    assert "s4d" not in {bar["layer"] for bar in found.chart["data"]["values"]}
    states = {line[2]: line[4] for line in found.table.rows}
    assert states["s4d"] == "256, NOT matched" and states["lru"] == "128"


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
    assert measured.startswith("Measured, in hours of this CPU a training (digits, real data, own recipe: epochs=3, ")
    assert "rotrnn 0.0100 h = 36.0 s (mean of 2 runs, 0.0100 to 0.0100 h)" in measured
    assert any("hours on a GPU" in text for text in found.missing)


def test_hours_of_a_processor_that_others_used_too_are_upper_bounds():
    alone = {"threads": 1, "device_hours": 0.01}  # 36 s
    rows = trained("rotrnn", [0.9, 0.8], **alone)
    rows = [
        r.model_copy(update={"detail": r.detail | {"process_cpu_s": [cpu]}})
        for r, cpu in zip(rows, (18.0, 35.0), strict=True)
    ]
    (caveat,) = (text for text in one("Q2", rows).caveats if "upper bounds" in text)
    assert caveat.startswith("1 of 2 trainings on one thread had a processor for 50.0 % to 50.0 % of their time")
    assert not any("upper bounds" in text for text in one("Q2", rows[1:]).caveats)


def test_hours_of_several_environments_stand_apart():
    rows = [*trained("rotrnn", [0.9]), *trained("lru", [0.9], environment=MACHINE | {"commit": "def"})]
    found = one("Q2", rows)
    assert len(found.sentences) == 2
    assert "E1): rotrnn" in found.sentences[0] and "E2): lru" in found.sentences[1]


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


def test_means_are_of_one_recipe_and_of_layers_as_they_are():
    rows = [
        *trained("rotrnn", [0.9]),
        *trained("lru", [0.8]),
        *trained("rotrnn", [0.1], options={"normalizer": "none"}),
    ]
    rows += [*trained("rotrnn", [0.5], made=recipe(epochs=9)), *trained("lru", [0.6], made=recipe(epochs=9))]
    means = [text for text in one("Q4", rows).sentences if text.startswith("Measured, mean")]
    assert len(means) == 2
    assert "rotrnn (state 8) 90.0 % (1 run), lru (state 8) 80.0 % (1 run)" in means[0]
    assert "epochs=9" in means[1] and "lru (state 8) 60.0 % (1 run), rotrnn (state 8) 50.0 % (1 run)" in means[1]


def test_best_by_the_published_recipe_alone():
    rows = [*as_published("rotrnn", UP), *as_published("lru", DOWN)]
    assert one("Q4", rows).verdict == "yes"
    assert one("Q4", rows).table.rows[0][4:] == [
        "rotrnn (state 8), 10 runs",
        "real data, torch, cpu, 2 threads, batch 8, preset paper",
        "90.5 %",
    ]
    assert any("rotrnn on lra-listops:" in text for text in one("Q4", rows).caveats), "deviations are listed"
    assert one("Q4", [*as_published("rotrnn", DOWN), *as_published("lru", UP)]).verdict == "no"
    small = [*trained("rotrnn", UP), *trained("lru", DOWN)]
    assert one("Q4", small).verdict == "not measured"
    assert any("is not the published recipe" in text for text in one("Q4", small).caveats)
    mostly = [*rows, *as_published("rotrnn", DOWN, "lra-image"), *as_published("s5", UP, "lra-image")]
    assert one("Q4", mostly).verdict == "partly"


# Q7


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


def on(device_name, length, status="ok", **changes):
    """A row of RotRNN on a GPU, which one without a result does not know the name of."""
    lost = {} if status == "ok" else {"median_ms": None, "process_medians_ms": None, "reason": "cuda"}
    detail = {"device_name": device_name, "source_hash": "abc"} if device_name else {}
    return timed("rotrnn", length, [length / 100] * 3, device="cuda", status=status, detail=detail, **(lost | changes))


def ends(rows):
    return [text for text in one("Q7", rows).sentences if "does not suffice" in text]


def test_memory_ends_on_each_machine_by_itself():
    lengths = (1024, 4096, 65536)
    (text,) = ends([*(on("H200", length) for length in lengths), on("T4", 16384, "oom")])
    assert "T4" in text and "H200" not in text and "rotrnn fits at no length measured" in text
    (text,) = ends([*(on("T4", length) for length in (1024, 4096, 8192)), on(None, 16384, "oom")])
    assert "T4" in text and "fits up to length 8,192; memory does not suffice at 16,384" in text


@pytest.mark.parametrize(
    "changes",
    [{"options": {"bidirectional": True}}, {"threads": 7}, {"precision": "bf16"}, {"dtype": "float64"}, {"batch": 3}],
)
def test_memory_ends_in_each_setting_by_itself(changes):
    lost = timed("rotrnn", 2048, [1.0], status="oom", median_ms=None, process_medians_ms=None, **changes)
    (text,) = ends([*scaling(1.0), lost])
    assert "fits at no length measured; memory does not suffice at 2,048" in text
    assert str(next(iter(changes.values()))).strip("{}").split(": ")[-1] in text


def of_two(**kinds):
    """Two series of times that differ in one thing."""
    ((name, values),) = kinds.items()
    return [
        timed("rotrnn", length, [length / 100 * (i + 1)] * 3, **{name: value})
        for i, value in enumerate(values)
        for length in (1024, 2048, 4096)
    ]


@pytest.mark.parametrize(
    "kinds",
    [
        {"real_state_size": (64, 256)},
        {"options": ({}, {"bidirectional": True})},
        {"environment": (MACHINE, MACHINE | {"cpu": "other"})},
        {"d_model": (128, 64)},
    ],
)
def test_a_line_of_the_chart_is_one_series(kinds):
    rows = of_two(**kinds)
    rows = [r.model_copy(update={"d_state": r.real_state_size}) for r in rows]
    points = one("Q7", rows).chart["data"]["values"]
    lines = {(p["layer"], p["place"]): [q["length"] for q in points if q["place"] == p["place"]] for p in points}
    assert list(lines.values()) == [[1024, 2048, 4096]] * 2


def test_series_of_unequal_lengths_on_two_machines_are_told_apart():
    other = MACHINE | {"cpu": "other"}
    rows = [*of_two(environment=(MACHINE, other)), timed("rotrnn", 512, [5.12] * 3, environment=other)]
    assert len({p["place"] for p in one("Q7", rows).chart["data"]["values"]}) == 2


def test_memory_of_two_sizes_is_two_sentences():
    rows = [
        timed("rotrnn", length, [1.0], metric="memory", real_state_size=state, d_state=state, rss_delta_bytes=length)
        for state in (64, 256)
        for length in (1024, 2048, 4096)
    ]
    found = [text.split(":")[0] for text in one("Q7", rows).sentences if "memory of rotrnn" in text]
    assert len(found) == 2 and "state 64" in found[0] and "state 256" in found[1]


def test_growth_of_memory():
    rows = [
        row(metric="memory", cell_id=f"m{length}", seq_len=length, rss_delta_bytes=1000 * length, environment=MACHINE)
        for length in (1024, 2048, 4096)
    ]
    assert "the memory of lru grows with exponent 1.00" in said(one("Q7", rows))
    assert one("Q7", rows).verdict == "not measured"


def test_places_tell_what_matters():
    assert place({"framework": "jax", "device": "cuda", "device name": "H200", "dtype": "float32"}) == ("jax", "H200")
    assert place({"task": "digits", "data": "stand-in", "recipe": "preset small"}) == (
        "digits",
        "STAND-IN data",
        "preset small",
    )
    assert set(SIZES) == set(LAYERS)
