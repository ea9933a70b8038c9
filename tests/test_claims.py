"""Sentences held to results with planted truths, and how often chance alone makes a false verdict."""

import json

import numpy as np
import pytest
from claim_words import LAYERS, one, parsed, verdicts
from result_rows import noisy, timed, trained

from benchmark.commands.claims import claims as command
from benchmark.console import ExitError
from benchmark.reports.claim_criteria import Criteria
from benchmark.reports.claim_grammar import Claim, Unclear
from benchmark.reports.claim_table import claim_table, claims_json, unclear_table
from benchmark.reports.claims import judge
from benchmark.spec import UserError
from benchmark.store import files

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
        pairs = "1 pair" if n == 1 else f"{n} pairs"
        assert f"{pairs} of seeds can never reach 5 %: at least 6 are needed" in found.why
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
    plain = one("The twins agree", rows[:1])
    assert plain.why == "no layer has passed or failed the gate in both frameworks"
    assert plain.command == "rotbench speed --layer all --framework torch,jax"
    variant = one("The twins agree on lru[gamma=none] in float64", rows)
    assert variant.why.startswith("lru[gamma=none] has not passed")
    assert variant.command == "rotbench speed --layer lru --set gamma=none --dtype float64 --framework torch,jax"


def test_what_did_not_end_well_is_named():
    rows = [timed("s5", 65536, [1.0, 1.1]), timed("s4d", 65536, [1.0], status="oom", process_medians_ms=None)]
    assert one("s5 is faster than s4d", rows).why == "s4d at 65,536: oom"
    short = [timed("s5", 1024, [1.0, 1.01]), timed("s4d", 1024, [9.0, 9.01])]
    found = one("s5 is faster than s4d", [*rows, *short])
    assert (found.verdict, found.why) == ("supported", "the interval lies there; not in it: s4d at 65,536 oom")
    assert one("lru is faster than s4d", rows).why == "no result of lru for this"
    assert one("s5 is the fastest", rows[:1]).why == "no other layer was measured beside it"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("lru is faster than s4d", "rotbench speed --layer lru,s4d"),
        ("lru is faster than s4d above length 4096", "rotbench speed --layer lru,s4d --seq-len 8192,16384,32768"),
        ("lru is faster than s4d up to length 3000", "rotbench speed --layer lru,s4d --seq-len 512,1024,2048"),
        ("lru is faster than s4d from length 5 to 7", "rotbench speed --layer lru,s4d --seq-len 5"),
        (
            "s4d[a_init=legs] is the fastest in decoding",
            "rotbench speed --layer all --set s4d.A_init=legs --direction step",
        ),
        (
            "lru scales linearly in memory",
            "rotbench memory --layer lru --seq-len 1024,2048,4096,8192,16384 --replicates 3",
        ),
        (
            "rotrnn[normalizer=none] beats lru[gamma=none] on digits in jax",
            "rotbench train digits --layer rotrnn,lru --set rotrnn.normalizer=none --set lru.gamma=none --seeds 0:10 "
            "--framework jax",
        ),
        (
            "rotrnn[normalizer=none] beats rotrnn on digits",
            "rotbench train digits --layer rotrnn --set normalizer=none --seeds 0:10; "
            "rotbench train digits --layer rotrnn --seeds 0:10",
        ),
        (
            "rotrnn is best on digits and listops, on stand-in data",
            "rotbench train digits --layer all --seeds 0:10 --data stand-in; "
            "rotbench train lra-listops --layer all --seeds 0:10 --data stand-in",
        ),
    ],
)
def test_the_command_measures_what_the_claim_names(text, command):
    assert one(text, []).command == command


def test_a_variant_that_was_not_measured_is_named():
    text = "rotrnn[normalizer=none] beats rotrnn on digits"
    plain, variant = (trained("rotrnn", [0.9] * 8, options={"normalizer": word}) for word in ("stationary", "none"))
    assert one(text, plain).why == "no result of rotrnn[normalizer=none] for this"
    assert one(text, variant).why == "no result of rotrnn for this", "never a variant beside itself"
    assert one(text, [*plain, *variant]).verdict == "undecided"


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
    with pytest.raises(UserError, match=r"none\.md"):
        command(tmp_path / "none.md", [tmp_path / "no results either"])


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
