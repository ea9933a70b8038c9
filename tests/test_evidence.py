"""Which rows may be compared."""

import numpy as np
import pytest
from claim_words import one, verdicts
from result_rows import MACHINE, recipe, timed, trained

from benchmark.reports.evidence import Subject, groups, matched, pairs, size_words, sizes, why_not
from benchmark.reports.recipes import preset_of
from benchmark.training.recipes import course


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


def sized(layer, d_state, state):
    return timed(layer, 1024, [1.0, 1.0], d_state=d_state, real_state_size=state)


def paired(*rows):
    (group,) = groups(rows)
    return [
        (p.ours[0].d_state, p.theirs[0].d_state, *size_words(p)) for p in pairs(group, Subject("s5"), Subject("lru"))
    ]


def test_equal_states_come_before_equal_d_state():
    """An LRU counts complex states, an S5 real ones: at one d_state the LRU has twice the state."""
    found = paired(sized("s5", 64, 64), sized("s5", 128, 128), sized("lru", 64, 128), sized("lru", 128, 256))
    assert found == [(128, 64, "state 128")], "no size stands beside one of another state where a fairer one is there"


def test_equal_d_state_alone_is_told_to_be_no_match():
    found = paired(sized("s5", 64, 64), sized("lru", 64, 128))
    assert found == [(64, 64, "states 64 and 128 (equal d_state alone, states NOT matched)")]
    text = one("s5 is faster than lru", [sized("s5", 64, 64), sized("lru", 64, 128)]).tests[0]
    assert "states NOT matched" in text.basis and "states NOT matched" in text.label


def test_sizes_of_a_preset_are_told_as_such():
    rows = []
    for layer, state in (("s5", 128), ("lru", 256)):
        found = course("digits", layer)
        rows += trained(layer, [0.9], recipe=found.recipe, **found.sizes, real_state_size=state)
    assert paired(*rows) == [(128, 64, "states 128 and 256 (sizes of preset small)")]


def test_variants_of_one_layer_have_equal_states():
    a, b = (timed("lru", 1024, [1.0], options={"gamma": name}) for name in ("learned", "none"))
    assert matched(a, b) == "real state size"


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


def test_a_trained_layer_as_it_is_has_the_options_of_its_preset():
    """Preset small draws LRU's moduli from a range of its own, which is then the usual one among several."""
    rows = []
    for r_min, r_max in ((0.5, 0.9), (0.9, 0.999)):
        rows += trained("lru", [0.9], options={"r_min": r_min, "r_max": r_max})
    (group,) = groups(rows)
    ((row,),) = sizes(group, Subject("lru"))
    assert row.options == {"r_min": 0.9, "r_max": 0.999}


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
