"""Sentences held to results with planted truths, and how often chance alone makes a false verdict."""

import json

import numpy as np
import pytest
from test_store import row

from benchmark.commands.claims import claims as command
from benchmark.console import ExitError
from benchmark.reports.again import again
from benchmark.reports.claim_criteria import Criteria
from benchmark.reports.claim_grammar import Claim, Unclear, read
from benchmark.reports.claim_scope import Scope
from benchmark.reports.claim_table import claim_table, claims_json, unclear_table
from benchmark.reports.claims import judge
from benchmark.reports.evidence import Subject, groups, matched, pairs, why_not
from benchmark.reports.recipes import preset_of
from benchmark.reports.sentences import sentences
from benchmark.spec import UserError
from benchmark.store import files
from benchmark.sweeps.cell import Recipe
from benchmark.training.recipes import course

LAYERS = ("rotrnn", "lru", "s4d", "s5")
TASKS = ("lra-listops", "lra-image", "digits")
MACHINE = {"cpu": "one", "cpus": 2, "versions": {"torch": "2.9"}, "commit": "abc"}


def parsed(text):
    return read(sentences(text), LAYERS, TASKS)


def claim(text):
    (found,) = parsed(text)
    assert isinstance(found, Claim), found
    return found


def timed(layer, length, medians, **changes):
    """A row of speed."""
    fields = {
        "cell_id": f"{layer}{length}{sorted(changes.items())}",
        "layer": layer,
        "options": {},
        "algorithm": "auto",
        "seq_len": length,
        "median_ms": float(np.exp(np.mean(np.log(medians)))),
        "process_medians_ms": list(medians),
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


def trained(layer, scores, data="real", task="digits", measure="accuracy", **changes):
    """Rows of trainings, one a seed."""
    fields = {"metric": "train", "layer": layer, "options": {}, "task": task, "direction": None, "seq_len": None}
    fields |= {"median_ms": None, "samples_ms": None, "recipe": recipe(data), "environment": MACHINE} | changes
    return [
        row(
            cell_id=f"{layer}{data}{seed}{task}",
            seed=seed,
            test_accuracy=score if measure == "accuracy" else None,
            detail={"history": {"test_score": score, "measure": measure}},
            **fields,
        )
        for seed, score in enumerate(scores)
    ]


def verdicts(text, rows, **criteria):
    return [found.verdict for found in judge(parsed(text), rows, Criteria(**criteria))]


def one(text, rows, **criteria):
    (found,) = judge([claim(text)], rows, Criteria(**criteria))
    return found


# The grammar


@pytest.mark.parametrize(
    ("text", "kind", "subjects", "quantity", "side"),
    [
        ("rotrnn is best on lra-listops", "extreme", ["rotrnn"], "score", "more"),
        ("S5 is faster than LRU at seq-len 16384 (forward, cpu).", "compare", ["s5", "lru"], "time", "less"),
        ("The S5 layer is significantly slower than the LRU layer", "compare", ["s5", "lru"], "time", "more"),
        ("lru uses less memory than s4d", "compare", ["lru", "s4d"], "memory", "less"),
        ("lru needs fewer FLOPs than s4d", "compare", ["lru", "s4d"], "flops", "less"),
        ("s4d has the most parameters", "extreme", ["s4d"], "parameters", "more"),
        ("On digits, `lru` beats **s5**", "compare", ["lru", "s5"], "score", "more"),
        ("rotrnn and lru differ on digits", "differ", ["rotrnn", "lru"], "score", "same"),
        ("rotrnn and lru differ in memory", "differ", ["rotrnn", "lru"], "memory", "same"),
        ("lru is as fast as s5", "same", ["lru", "s5"], "time", "same"),
        ("lru and s5 tie on listops", "same", ["lru", "s5"], "score", "same"),
        ("rotrnn scales linearly in time", "scales", ["rotrnn"], "time", "same"),
        ("s4d grows sub-linearly in memory with length", "scales", ["s4d"], "memory", "less"),
        ("The twins agree", "twins", [], "time", "same"),
        ("torch and jax agree on lru", "twins", ["lru"], "time", "same"),
    ],
)
def test_forms_of_claims(text, kind, subjects, quantity, side):
    found = claim(text)
    assert (found.kind, [s.layer for s in found.subjects], found.quantity, found.side) == (
        kind,
        subjects,
        quantity,
        side,
    )


@pytest.mark.parametrize(
    ("words", "scope"),
    [
        ("at seq-len 16,384", Scope(lengths=(16384,))),
        ("at lengths 1024, 2048 and 4096", Scope(lengths=(1024, 2048, 4096))),
        ("above length 4096", Scope(shortest=4097)),
        ("from length 1024 to 4096", Scope(shortest=1024, longest=4096)),
        ("up to seq-len 2048", Scope(longest=2048)),
        ("at length 4096 and above", Scope(shortest=4096)),
        ("in jax, on the GPU", Scope((("framework", ("jax",)), ("device", ("cuda",))))),
        ("(forward+backward, float64)", Scope((("direction", ("forward+backward",)), ("dtype", ("float64",))))),
        ("with batch 8 and 2 threads", Scope((("batch", ("8",)), ("threads", ("2",))))),
    ],
)
def test_where_a_claim_holds(words, scope):
    assert claim(f"s5 is faster than lru {words}").scope == scope


def test_tasks_by_their_short_names():
    assert claim("s5 is best on listops").scope.tasks == ("lra-listops",)
    assert claim("s5 is best on the image task and on digits").scope.tasks == ("digits", "lra-image")


def test_variants_and_factors():
    found = claim("rotrnn[normalizer=none, heads=4] is at least 1.5 times faster than rotrnn")
    assert found.subjects == (Subject("rotrnn", (("normalizer", "none"), ("heads", 4))), Subject("rotrnn"))
    assert found.value == 1.5


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rotrnn is not faster than lru", "no known form"),
        ("mamba is faster than s5", "no known form"),
        ("s5 is faster than lru but uses more memory", "not understood: but uses more memory"),
        ("It is false that s5 is faster than lru", "not understood: it false that"),
        ("s5 is faster than lru?", "not understood: ?"),
        ("s5 is faster than lru on Tuesdays", "not understood: tuesdays"),
        ("s5 is faster than s5", "with itself"),
        ("s5 outperforms everything", "no known form"),
        ("s5 is 0 times faster than lru", "a factor must be above 1"),
        ("s5 is 2 times better than lru", "a factor must be above 1, and of a time"),
    ],
)
def test_what_is_half_understood_is_not_judged(text, why):
    (found,) = parsed(text)
    assert isinstance(found, Unclear)
    assert why in found.why


def test_other_sentences_are_left_alone():
    assert parsed("The weather is better. We describe lru. s5 has a state. Less is more.") == []


def test_sentences_and_their_lines():
    text = """# s5 is best

Prose that
ends here. Then
another; and one more
- an *item*
  goes on
1. [x] done, [see](http://a.b/c.d) 3.5 of it
> quoted

```
lru is best
```
<!-- s5 is
best --> | a |
| lru is best |
"""
    assert sentences(text) == [
        (3, "Prose that ends here."),
        (4, "Then another;"),
        (5, "and one more"),
        (6, "an item goes on"),
        (8, "done, see 3.5 of it"),
        (9, "quoted"),
    ]


# Which rows may be compared


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"device": "cuda"}, "device"),
        ({"threads": 4}, "threads 2 against 4"),
        ({"dtype": "float64"}, "dtype"),
        ({"precision": "tf32"}, "precision"),
        ({"compiled": "compiled"}, "compiled"),
        ({"batch": 9}, "batch"),
        ({"seq_len": 2048}, "seq_len 1024 against 2048"),
        ({"direction": "step"}, "direction"),
        ({"d_model": 16}, "d_model"),
        ({"options": {"bidirectional": True}}, "bidirectional"),
        ({"environment": MACHINE | {"cpu": "two"}}, "cpu one against two"),
        ({"environment": MACHINE | {"versions": {"torch": "3"}}}, "versions"),
        ({"environment": MACHINE | {"commit": "x"}}, "code"),
        ({"detail": {"device_name": "H200"}}, "device name"),
        ({"d_state": 64, "real_state_size": 64}, "d_state 4 against 64"),
    ],
)
def test_rows_that_differ_are_not_compared(changes, named):
    a, b = timed("lru", 1024, [1.0, 1.0]), timed("s5", 1024, [2.0, 2.0], **changes)
    assert any(reason.startswith(named) for reason in why_not(a, b))
    found = one("lru is faster than s5", [a, b])
    assert found.verdict == "not measured"
    assert "no two rows may be compared" in found.why


def test_rows_that_may_be_compared():
    a = timed("lru", 1024, [1.0, 1.0], options={"gamma": "none"})
    assert why_not(a, timed("s5", 1024, [2.0])) == []
    state = {"real_state_size": 8, "d_state": 9}
    assert matched(timed("lru", 1, [1], real_state_size=8), timed("s5", 1, [1], **state)) == "real state size"
    near = {"d_state": 9, "layer_param_count": 1030}
    assert matched(timed("lru", 1, [1], layer_param_count=1000), timed("s5", 1, [1], **near)) == "parameters"


def test_replicates_are_processes_and_sizes_pairs():
    rows = [timed("lru", 1024, [1.0], replicate=r) for r in range(3)] + [timed("s5", 1024, [2.0, 2.1, 2.2])]
    rows += [timed("lru", 1024, [3.0], d_state=64), timed("s5", 1024, [4.0], d_state=64)]
    (group,) = groups(rows)
    found = list(pairs(group, Subject("lru"), Subject("s5")))
    assert [(len(p.ours), p.ours[0].d_state, p.theirs[0].d_state) for p in found] == [(3, 4, 4), (1, 64, 64)]


def test_a_bare_name_means_the_layers_own_options():
    rows = [timed("rotrnn", 1024, [1.0, 1.01], options={"normalizer": "stationary"})]
    rows += [timed("rotrnn", 1024, [9.0, 9.01], options={"normalizer": "none"}), timed("lru", 1024, [4.0, 4.01])]
    text = "rotrnn is faster than lru. rotrnn[normalizer=none] is slower than lru. rotrnn[normalizer=none] is best."
    assert verdicts(text, rows) == ["supported", "supported", "not measured"]
    other = [timed("rotrnn", 1024, [1.0], options={"normalizer": name}) for name in ("none", "exact")]
    found = one("rotrnn is faster than lru", [*other, rows[2]])
    assert "several options: name them, as in rotrnn[normalizer=none]" in found.why


def test_presets_make_unlike_recipes_comparable():
    rows = []
    for layer in ("rotrnn", "s4d"):
        found = course("digits", layer)
        rows += trained(layer, [0.9] * 2, recipe=found.recipe, options=found.options, **found.sizes)
    assert {preset_of(r) for r in rows} == {"small"}
    assert why_not(rows[0], rows[2]) == []
    other = trained("s4d", [0.9], recipe=course("digits", "s4d", overrides={"lr": 0.5}).recipe, d_model=64)
    assert any("recipe" in reason for reason in why_not(rows[0], other[0]))


def test_kinds_of_data_are_never_mixed():
    better, worse = np.linspace(0.90, 0.97, 8), np.linspace(0.80, 0.87, 8)
    rows = [*trained("lru", better, "stand-in"), *trained("s5", worse, "stand-in")]
    text = "lru is best on digits"
    assert one(text, rows).verdict == "not measured"
    assert "stand-in" in one(text, rows).why
    assert one("lru is best on digits (stand-in data)", rows).verdict == "supported"
    assert one(text, [*rows[:8], *trained("s5", worse)]).verdict == "not measured"
    shuffled = [r.model_copy(update={"recipe": recipe(shuffled=True)}) for r in rows]
    assert one(text, shuffled).verdict == "not measured"


# Planted truths

RNG = np.random.default_rng


def test_a_clear_difference():
    rng = RNG(0)
    rows = [noisy("s5", 1024, 1.0, 0.03, rng), noisy("lru", 1024, 2.0, 0.03, rng)]
    text = "s5 is faster than lru. lru is faster than s5. s5 and lru differ. s5 is as fast as lru. s5 is the slowest."
    expected = ["supported", "contradicted", "supported", "contradicted", "contradicted"]
    assert verdicts(text, rows) == expected
    assert verdicts("lru is 1.5x faster than s5. s5 is 1.5x faster than lru. s5 is 3 times faster than lru.", rows) == [
        "contradicted",
        "supported",
        "contradicted",
    ]


def test_three_percent_under_eight_percent_noise_stay_undecided():
    """Three or ten processes cannot tell: it would take over a hundred."""
    rng, found = RNG(1), []
    for processes in (3, 10):
        for _ in range(60):
            rows = [noisy("s5", 1024, 1.0, 0.08, rng, processes), noisy("lru", 1024, 1.03, 0.08, rng, processes)]
            found += verdicts("s5 is faster than lru", rows)
    assert found.count("undecided") >= 110
    assert found.count("contradicted") <= 2


def test_three_percent_without_noise_are_seen():
    rng = RNG(2)
    rows = [noisy("s5", 1024, 1.0, 0.001, rng), noisy("lru", 1024, 1.03, 0.001, rng)]
    assert one("s5 is faster than lru", rows).verdict == "supported"
    assert one("s5 is faster than lru", rows, minimum_effect=0.05).verdict == "contradicted"


def test_a_tie_measured_well_is_a_tie_and_measured_badly_undecided():
    rng = RNG(3)
    well = [noisy(layer, 1024, 1.0, 0.002, rng, 5) for layer in ("s5", "lru")]
    badly = [noisy(layer, 1024, 1.0, 0.08, rng) for layer in ("s5", "lru")]
    text = "s5 is as fast as lru. s5 is faster than lru. s5 and lru differ."
    assert verdicts(text, well) == ["supported", "contradicted", "contradicted"]
    assert verdicts(text, badly) == ["undecided"] * 3


def test_an_interaction_is_told_with_its_lengths():
    rng = RNG(4)
    times = {"s5": {1024: 1.0, 4096: 4.0, 16384: 30.0}, "lru": {1024: 2.0, 4096: 4.1, 16384: 15.0}}
    rows = [noisy(layer, length, ms, 0.03, rng) for layer, at in times.items() for length, ms in at.items()]
    found = one("s5 is faster than lru", rows)
    assert found.verdict == "contradicted"
    assert found.why == "holds: length 1,024; fails: length 16,384; open: length 4,096"
    assert one("s5 is faster than lru at seq-len 1024", rows).verdict == "supported"
    assert one("s5 is faster than lru up to length 4096", rows).verdict == "undecided"
    assert one("s5 is faster than lru at length 512", rows).verdict == "not measured"


def test_too_few_seeds_decide_nothing_however_far_apart():
    for n in (1, 3, 5):
        rows = [*trained("lru", [0.9] * n), *trained("s5", [0.1] * n)]
        found = one("lru is best on digits", rows)
        assert found.verdict == "undecided"
        assert f"{n} pairs of seeds can never reach 5 %: at least 6 are needed" in found.why
        assert found.p is None
    rows = [*trained("lru", [0.9] * 6), *trained("s5", [0.1] * 6)]
    found = one("lru is best on digits", rows)
    assert (found.verdict, found.p) == ("supported", 2**-5)


def test_many_claims_need_more_seeds():
    rows = [*trained("lru", [0.9] * 6), *trained("s5", [0.1] * 6), *trained("s4d", [0.5] * 6)]
    found = judge(parsed("lru is best on digits. s5 is worse than s4d on digits."), rows)
    assert [f.verdict for f in found] == ["undecided"] * 2
    assert found[0].p_adjusted == 2 * found[0].p
    assert "not enough among 2 claims, which need 7 seeds" in found[0].why


def test_claims_that_nothing_can_decide_cost_the_others_nothing():
    rows = [*trained("lru", [0.9] * 6), *trained("s5", [0.1] * 6)]
    rows += [*trained("lru", [0.9] * 3, task="lra-image"), *trained("s5", [0.1] * 3, task="lra-image")]
    assert verdicts("lru is best on digits. lru is best on image.", rows) == ["supported", "undecided"]


def test_only_seeds_that_both_have_are_pairs():
    rows = [*trained("lru", [0.9] * 8), *trained("s5", [0.1] * 3)]
    assert "3 pairs of seeds" in one("lru is best on digits", rows).why
    apart = one("lru is best on digits", [*rows[:2], rows[10]])
    assert (apart.verdict, apart.why) == (
        "not measured",
        "no seed was trained with both: seeds 0, 1 against seeds 2",
    )


def test_of_errors_less_is_better():
    rows = [*trained("lru", [0.01] * 6, measure="mse"), *trained("s5", [0.2] * 6, measure="mse")]
    found = one("lru is best on digits", rows, minimum_points=0.5)
    assert found.verdict == "supported"
    assert found.tests[0].figures.startswith("lru MSE 0.0100, s5 MSE 0.200: +0.19 in MSE, turned")


def test_equal_scores_need_a_margin():
    rng = RNG(5)
    rows = [*trained("lru", 0.9 + rng.normal(0, 1e-4, 8)), *trained("s5", 0.9 + rng.normal(0, 1e-4, 8))]
    text = "lru and s5 tie on digits"
    assert one(text, rows).verdict == "undecided"
    assert one(text, rows, minimum_points=0.005).verdict == "supported"


def test_one_process_decides_nothing():
    found = one("s5 is faster than lru", [timed("s5", 1024, [1.0]), timed("lru", 1024, [9.0])])
    assert found.verdict == "undecided"
    assert "the spread between them is unknown" in found.why


def held(layer, **found):
    return timed(layer, 1024, [1.0], metric="memory", process_medians_ms=None, **found)


def test_memory_that_is_counted_has_no_chance_in_it_and_that_of_a_process_has():
    counted = [held("lru", allocator_peak_bytes=1000), held("s4d", allocator_peak_bytes=5000)]
    found = one("lru uses less memory than s4d", counted)
    assert (found.verdict, found.p) == ("supported", None)
    sampled = [held("lru", rss_delta_bytes=1000), held("s4d", rss_delta_bytes=5000)]
    assert one("lru uses less memory than s4d", sampled).verdict == "undecided"
    several = [held("lru", rss_delta_bytes=1000 + r, replicate=r) for r in range(3)]
    several += [held("s4d", rss_delta_bytes=5000 + r, replicate=r) for r in range(3)]
    found = one("lru uses less memory than s4d", several)
    assert found.verdict == "supported"
    assert found.command.endswith("--replicates 3 --again")


def test_scaling():
    rng = RNG(6)
    lengths = (1024, 2048, 4096, 8192, 16384)

    def grown(power, fixed=0.0):
        return [noisy("lru", length, fixed + (length / 1000) ** power, 0.02, rng) for length in lengths]

    text = "lru scales linearly. lru scales quadratically. lru scales superlinearly."
    assert verdicts(text, grown(1.0)) == ["supported", "contradicted", "contradicted"]
    assert verdicts(text, grown(2.0)) == ["contradicted", "supported", "supported"]
    assert verdicts(text, grown(1.5)) == ["contradicted", "contradicted", "supported"]
    with_overhead = one("lru scales linearly", grown(1.0, fixed=1.0))
    assert "between the last two lengths" in with_overhead.tests[0].basis
    assert one("lru scales linearly", grown(1.0)[:2]).verdict == "not measured"


def test_twins():
    good = {"gate_error": 1e-6}
    rows = [timed("lru", 8, [1.0], framework=f, **good) for f in ("torch", "jax")]
    assert one("The twins agree", rows).verdict == "supported"
    failed = timed("lru", 9, [1.0], framework="jax", status="failed", reason="gate: lru differs from the oracle")
    assert one("The twins agree on lru", [*rows, failed]).verdict == "contradicted"
    assert one("The twins agree on s5", rows).verdict == "not measured"
    assert one("The twins agree", rows[:1]).command == "rotbench verify"


def test_what_did_not_end_well_is_named():
    rows = [timed("s5", 65536, [1.0, 1.1]), timed("s4d", 65536, [1.0], status="oom", process_medians_ms=None)]
    assert one("s5 is faster than s4d", rows).why == "s4d at 65,536: oom"
    short = [timed("s5", 1024, [1.0, 1.01]), timed("s4d", 1024, [9.0, 9.01])]
    found = one("s5 is faster than s4d", [*rows, *short])
    assert (found.verdict, found.why) == ("supported", "the interval lies there; not in it: s4d at 65,536 oom")
    assert one("lru is faster than s4d", rows).why == "no result of lru for this"
    assert one("s5 is the fastest", rows[:1]).why == "no other layer was measured beside it"


def test_the_last_row_of_a_cell_counts():
    old = timed("s5", 1024, [9.0, 9.01, 9.02])
    new = timed("s5", 1024, [1.0, 1.01, 1.02])
    assert one("s5 is faster than lru", [old, new, timed("lru", 1024, [4.0, 4.01, 4.02])]).verdict == "supported"


# What chance alone does


def null_rows(rng, lengths=(1024, 2048, 4096), spread=0.08):
    """Layers without a difference: log-normal noise in three processes, and a drift over the sweep's random order."""
    order = rng.permutation(len(LAYERS) * len(lengths) * 3).reshape(len(LAYERS), len(lengths), 3)
    noise = rng.normal(0, spread, order.shape) + 0.05 * order / order.size
    return {(layer, length): np.exp(noise[i, j]) for i, layer in enumerate(LAYERS) for j, length in enumerate(lengths)}


def family(lengths):
    """Every kind of claim about speed, at each length and without one."""
    lines = [f"rotrnn is faster than {other} at length {at}" for other in LAYERS[1:] for at in lengths]
    lines += [f"{a} is slower than {b}" for a, b in (("lru", "s5"), ("s4d", "lru"), ("s5", "s4d"))]
    lines += [f"{layer} is the fastest" for layer in LAYERS]
    lines += ["lru and s5 differ", "rotrnn and s4d differ in time", "rotrnn is 1.2 times faster than s5"]
    return parsed("\n".join(f"- {line}" for line in lines))


def false_rate(data_sets, lengths):
    """The share of null data sets in which any claim gets a verdict."""
    rng, found = RNG(7), family(lengths)
    assert all(isinstance(entry, Claim) for entry in found)
    templates = {(layer, at): timed(layer, at, [1.0]) for layer in LAYERS for at in lengths}
    false = 0
    for _ in range(data_sets):
        data = null_rows(rng, lengths)
        rows = [templates[key].model_copy(update={"process_medians_ms": list(ms)}) for key, ms in data.items()]
        false += any(entry.verdict != "undecided" for entry in judge(found, rows))
    return false / data_sets


def test_chance_makes_a_false_verdict_in_at_most_five_of_a_hundred_files():
    """1,000 null data sets; 0.05 and two standard errors."""
    assert false_rate(1000, (1024, 4096)) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.full
def test_chance_in_a_larger_family():
    assert false_rate(2000, (1024, 2048, 4096, 8192)) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 2000)


def test_chance_with_scores():
    rng, text = RNG(8), "lru is best on digits. s5 is best on digits. lru and s5 differ on digits."
    found, false = parsed(text), 0
    templates = [r for layer in ("lru", "s5", "s4d") for r in trained(layer, [0.9] * 8)]
    for _ in range(300):
        scores = 0.9 + rng.normal(0, 0.01, len(templates))
        details = [{"detail": {"history": {"test_score": score}}} for score in scores]
        rows = [r.model_copy(update=detail) for r, detail in zip(templates, details, strict=True)]
        false += any(entry.verdict != "undecided" for entry in judge(found, rows))
    assert false / 300 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)


# Output


def sweep(tmp_path):
    rng = RNG(9)
    files.prepare_folder(tmp_path)
    for index, (layer, ms) in enumerate((("s5", 1.0), ("lru", 3.0))):
        files.write(tmp_path, noisy(layer, 1024, ms, 0.02, rng, cell_id=f"{index:016x}"))
    return tmp_path


def run(tmp_path, text, **options):
    path = tmp_path / "claims.md"
    path.write_text(text)
    with pytest.raises(ExitError) as ended:
        command(path, [sweep(tmp_path)], **options)
    return ended.value.code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("s5 is faster than lru.", 0),
        ("s5 is faster than lru. lru is faster than s5.", 1),
        ("s5 is 3 times faster than lru.", 1),
        ("s5 is faster than s4d.", 3),
        ("s5 is faster than lru. s5 is faster than s4d.", 1),
        ("Nothing here.", 3),
    ],
)
def test_exit_codes(tmp_path, text, code, capsys):
    assert run(tmp_path, text) == code
    out, err = capsys.readouterr()
    assert ("Claims" in out) == ("Nothing" not in text)
    assert bool(err) == (code == 3)


def test_undecided_may_be_allowed(tmp_path, capsys):
    text = "s5 is 3 times faster than lru."
    assert run(tmp_path, text) == 1
    assert run(tmp_path, text, allow_undecided=True) == 0
    assert "undecided" in capsys.readouterr().out


def test_json_has_all_of_the_evidence(tmp_path, capsys):
    assert run(tmp_path, "s5 is faster than lru.\n\ns5 is faster than sound.", json=True) == 0
    found = json.loads(capsys.readouterr().out)
    (entry,) = found["claims"]
    assert entry["verdict"] == "supported"
    assert entry["cell_ids"] == [f"{0:016x}", f"{1:016x}"]
    assert entry["p"] == entry["p_adjusted"] < 0.05
    assert (
        entry["command"]
        == "rotbench speed --layer s5,lru --framework torch --d-model 8 --d-state 4 --threads 2 --again"
    )
    assert entry["comparisons"][0]["n"] == "3 + 3 processes"
    assert [e["line"] for e in found["not_understood"]] == [3]


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "odd.md").write_bytes(b"\xff\xfe\xff")
    sweep(tmp_path)
    for name, why in (("none.md", "No such file"), ("odd.md", "not UTF-8"), (".", "Is a directory")):
        with pytest.raises(UserError, match=why):
            command(tmp_path / name, [tmp_path])


@pytest.mark.parametrize(
    "bad", [{"alpha": 0.0}, {"alpha": float("nan")}, {"minimum_effect": -0.1}, {"minimum_points": 1}]
)
def test_criteria_in_range(bad):
    with pytest.raises(UserError, match=next(iter(bad))):
        Criteria(**bad)


def test_tables_name_evidence_and_command():
    rng = RNG(10)
    rows = [noisy(layer, at, ms, 0.02, rng) for layer, ms in (("s5", 1), ("lru", 2)) for at in (64, 128)]
    table = claim_table(judge(parsed("s5 is faster than lru"), rows))
    assert table.rows[0][2] == "supported"
    assert table.rows[0][3].startswith("length 64: s5 ")
    assert table.notes[1].startswith("[1] line 1: against lru torch cpu")
    assert "rotbench speed --layer s5,lru" in table.notes[1]
    unclear = unclear_table([e for e in parsed("s5 is faster than light") if isinstance(e, Unclear)])
    assert unclear.rows == [["1", "s5 is faster than light", "no known form of claim"]]
    assert claims_json(judge(parsed("s5 is faster than s4d"), rows), [])["claims"][0]["verdict"] == "not measured"


def test_commands_of_trainings():
    own = trained("lru", [0.9] * 2, options={"r_min": 0.5})
    found = again(own)
    assert found.startswith("rotbench train digits --layer lru --framework torch --preset small --data real")
    assert "--epochs 3" in found and "--seeds 0,1" in found and "--set lru.r_min=0.5" in found
    small = course("digits", "lru")
    rows = trained("lru", [0.9], recipe=small.recipe, options=small.options, **small.sizes)
    assert again(rows) == (
        "rotbench train digits --layer lru --framework torch --preset small --data real --seeds 0 --threads 2 --again"
    )


def test_commands_parse():
    import shlex

    import typer

    from cli import app

    rows = [*trained("lru", [0.9]), timed("s5", 64, [1.0], dtype="float64", mode="throughput", seed=3)]
    rows += [held("lru", rss_delta_bytes=1)]
    for words in map(shlex.split, again(rows).split("; ")):
        typer.main.get_command(app).commands[words[1]].make_context(words[1], words[2:])
