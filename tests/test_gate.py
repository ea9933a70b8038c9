"""The gate: when a cell is called slower, how often that is wrong, and what it says."""

import json
import math
import os
import re
import signal
import subprocess
import xml.etree.ElementTree as ET
from datetime import date
from functools import partial
from pathlib import Path

import gate_on_real_code
import gate_simulation as simulation
import numpy as np
import pytest
import scipy.stats as st
from frameworks import INSTALLED
from regress_rows import COMMIT, measured, run, stored, trained

from benchmark.metrics.environment import git_state
from benchmark.metrics.inference import log_ratio
from benchmark.regress import decision
from benchmark.regress.builds import Builds, command
from benchmark.regress.decision import LOOKS, paired, regressions, suspicious
from benchmark.regress.ending import unwinding
from benchmark.regress.freshness import stale
from benchmark.regress.gating import gate
from benchmark.regress.pairing import pair
from benchmark.regress.quantities import QUANTITIES, quantities
from benchmark.regress.settings import GateSettings, read_settings
from benchmark.regress.verdicts import changes
from benchmark.reports.gate import gate_json, gate_table, to_junit, to_summary, verdict_line
from benchmark.spec.errors import UserError
from benchmark.store.files import Loaded

ROOT = Path(__file__).parents[1]
NOISE = (1.0, 1.001, 0.999)
TODAY = date(2026, 6, 1)


def array(*values):
    return np.array(values, float)


# The rule


def test_a_regression_is_slower_beyond_chance_and_may_reach_the_threshold():
    p, highs = array(0.001, 0.001, 0.03, 0.5), array(0.06, 0.04, 0.06, 0.06)
    found = regressions(p, highs, np.full(4, 0.05))
    assert found.tolist() == [True, False, False, False]  # the third: 0.03 x 2 by Holm


def test_suspicion_starts_at_a_third_of_the_threshold_and_if_strict_at_what_is_not_ruled_out():
    estimates, highs, limits = array(0.02, 0.01, -0.01), array(0.03, 0.02, 0.07), np.full(3, 0.05)
    assert suspicious(estimates, highs, limits).tolist() == [True, False, False]
    assert suspicious(estimates, highs, limits, strict=True).tolist() == [True, False, True]


def test_pairs_are_judged_by_the_paired_t_test():
    x = np.random.default_rng(0).normal(0.01, 0.02, (5, 8))
    x[3] = np.nan
    found = paired(x)
    for i in (0, 1, 2, 4):
        known = st.ttest_1samp(x[i], 0, alternative="greater")
        assert found.p[i] == pytest.approx(known.pvalue)
        assert found.highs[i] == pytest.approx(st.ttest_1samp(x[i], 0).confidence_interval().high)
    assert found.p[3] == 1
    assert paired(np.full((1, 4), 0.1)).p.tolist() == [0]  # no spread at all
    assert paired(np.zeros((1, 4))).p.tolist() == [1]


class Scripted:
    """Measures what it is told to: a mean worsening a cell, with a spread that is the same in every pair."""

    def __init__(self, *means, spread=0.005):
        self.means, self.spread, self.asked = array(*means), spread, []

    def __call__(self, indices, pairs):
        self.asked.append((indices.tolist(), pairs))
        sign = np.where(np.arange(pairs) % 2, 1, -1)
        return self.means[indices][:, None] + self.spread * sign


def test_large_slow_downs_and_false_suspicions_end_at_the_first_look():
    measure = Scripted(0.5, 0.0, np.nan)
    found = decision.rerun(np.full(3, 0.05), measure)
    assert found.slower.tolist() == [True, False, False]
    assert measure.asked == [([0, 1, 2], LOOKS[0].pairs)]


def test_what_stays_open_is_measured_to_the_last_look_and_no_further():
    measure = Scripted(0.03, spread=0.2)
    found = decision.rerun(array(0.05), measure)
    assert found.slower.tolist() == [False]
    assert sum(pairs for _, pairs in measure.asked) == LOOKS[-1].pairs
    assert np.isfinite(found.worsenings).all()


def test_a_small_and_sure_slow_down_is_no_regression():
    found = decision.rerun(array(0.05), Scripted(0.03, spread=0.001))
    assert found.slower.tolist() == [False]


def test_the_family_are_all_that_are_measured_again():
    """The same cell alone, and among a hundred that turn out to be as they were."""
    measure = [0.03]
    alone = decision.rerun(array(0.02), Scripted(*measure, spread=0.012))
    among = decision.rerun(np.full(101, 0.02), Scripted(*measure, *[0.0] * 100, spread=0.012))
    assert np.isfinite(alone.worsenings[0]).sum() < np.isfinite(among.worsenings[0]).sum()


def test_levels_of_the_looks_add_up_to_the_whole():
    assert sum(look.level for look in LOOKS) == pytest.approx(1)


# Promises, by simulation


@pytest.fixture(scope="module")
def simulated():
    return {result.scenario: result for result in map(simulation.simulate, simulation.SCENARIOS)}


def test_an_unchanged_tree_passes(simulated):
    most = 0.05 + 2 * math.sqrt(0.05 * 0.95 / simulation.RUNS)
    assert all(r.false_alarms <= most and r.without_rerun_false <= most for r in simulated.values())


@pytest.mark.parametrize("scenario", simulation.SCENARIOS[2:5], ids=lambda scenario: scenario.name)
def test_what_is_slower_by_the_promised_amount_is_found(simulated, scenario):
    assert simulated[scenario].found >= 0.9


def test_the_table_of_the_simulation_stands_in_the_documentation(simulated):
    text = (ROOT / "docs/regressions.md").read_text()
    for line in simulation.table(simulated.values()).splitlines():
        assert line in text, "python tests/gate_simulation.py prints it anew"


def test_the_simulation_tests_as_the_gate_does():
    x = np.random.default_rng(1).normal(0, 0.1, (2, 4, simulation.PROCESSES))
    values, p, highs = simulation.welch(*x)
    for i in range(4):
        known = log_ratio(np.exp(x[1, i]), np.exp(x[0, i]))
        assert (values[i], p[i], highs[i]) == pytest.approx((known.value, known.p_above(0), known.interval().high))


# Decisions on rows


class Again:
    """In the place of builds: worsenings by sequence length."""

    def __init__(self, refused=(), **means):
        self.refused, self.means, self.measured = refused, means, []

    def refusal(self, change):
        return "no build" if change.row.seq_len in self.refused else None

    def worsening(self, found, pairs):
        self.measured += [change.row.seq_len for change in found]
        means = array(*(self.means.get(f"n{change.row.seq_len}", 0.0) for change in found))
        return means[:, None] + 0.01 * np.where(np.arange(pairs) % 2, 1, -1)


def decided(*sides, strict=False, again=None, **settings):
    before = [measured(ms, "before", seq_len=i + 1) for i, (ms, _) in enumerate(sides)]
    after = [measured(ms, seq_len=i + 1) for i, (_, ms) in enumerate(sides)]
    pairing = pair(before, after)
    found = changes(pairing.pairs, quantities())
    return gate(found, pairing, GateSettings.model_validate(settings), TODAY, strict, again)


def verdicts(decision_):
    return {entry.change.row.seq_len: entry.verdict for entry in decision_.gated}


def times(factor, ms=NOISE):
    return [factor * value for value in ms]


def test_regressions_come_first():
    found = decided((NOISE, NOISE), (NOISE, times(1.5)), (NOISE, (0.5, 1.5, 4.0)), (NOISE, times(0.5)))
    assert verdicts(found) == {1: "ok", 2: "regression", 3: "can't tell", 4: "ok"}
    assert [entry.change.row.seq_len for entry in found.gated][:2] == [2, 3]
    assert found.failed


def test_a_wide_spread_is_shown_and_fails_if_strict():
    wide = (NOISE, (0.8, 1.5, 4.0))
    lax, strict = decided(wide), decided(wide, strict=True)
    assert verdicts(lax) == verdicts(strict) == {1: "can't tell"}
    assert (lax.failed, strict.failed) == (False, True)
    assert "x1.687" in gate_table(lax).rows[0]
    assert verdict_line(lax) == "gate: passed, 1 compared, 1 of them can't tell"
    assert verdict_line(strict) == "gate: FAILED, 1 cannot rule the threshold out (--strict)"


def test_a_large_improvement_is_fine_however_wide():
    assert not decided((NOISE, (0.01, 0.02, 0.03)), strict=True).failed


def test_only_what_looks_slower_is_measured_again_and_judged_by_that_alone():
    again = Again(n2=0.2)
    found = decided((NOISE, times(1.3)), (NOISE, times(1.02)), (NOISE, NOISE), again=again)
    assert verdicts(found) == {1: "ok", 2: "regression", 3: "ok"}
    assert set(again.measured) == {1, 2}
    assert {entry.change.row.seq_len: entry.pairs for entry in found.gated} == {1: 6, 2: 6, 3: 0}


def test_what_cannot_be_measured_again_is_judged_by_the_sources():
    found = decided((NOISE, times(1.3)), (NOISE, times(1.3)), again=Again(refused=(1,)))
    assert verdicts(found) == {1: "regression", 2: "ok"}
    assert found.gated[0].note == "not measured again: no build"


def test_a_failure_while_measuring_again_is_told():
    again = Again(n1=math.nan)
    again.refusal = lambda change: "it crashed" if again.measured else None
    found = decided((NOISE, times(1.3)), again=again)
    assert verdicts(found) == {1: "regression"}
    assert found.gated[0].note == "measuring again failed, so the sources decide: it crashed"
    assert found.gated[0].pairs == 0


def test_a_failure_halves_the_level_of_what_is_measured_again():
    """A cell that the first look finds at the whole level only, beside one as before and one that fails."""
    p = 0.05 * LOOKS[0].level / 2 * 0.75  # Holm doubles it
    mean, cells = 0.01 / math.sqrt(5) * st.t.isf(p, 5), ((NOISE, times(1.3)),) * 2  # six pairs of spread 0.01
    again = Again(n1=mean)
    whole = decided(*cells, again=again, fail_on=0.02)
    assert verdicts(whole) == {1: "regression", 2: "ok"}
    assert len(again.measured) == 2
    again = Again(n1=mean, n2=math.nan)
    again.refusal = lambda change: "it crashed" if change.row.seq_len == 2 and again.measured else None
    half = decided(*cells, again=again, fail_on=0.02)
    assert {entry.change.row.seq_len: entry.pairs for entry in half.gated} == {1: LOOKS[1].pairs, 2: 0}
    assert again.measured == [1, 2, 1]  # what was measured is kept


class Timed(Again):
    """Has time for so many looks."""

    def __init__(self, looks, **means):
        super().__init__(**means)
        self.looks = looks

    def worsening(self, found, pairs):
        self.looks -= 1
        return super().worsening(found, pairs) if self.looks >= 0 else None


def test_where_the_time_is_up_the_last_finished_look_decides():
    cells = (NOISE, times(1.3)), (NOISE, times(1.3))
    once = decided(*cells, again=Timed(1, n1=0.2, n2=0.011), fail_on=0.021)
    assert verdicts(once) == {1: "regression", 2: "can't tell"}
    assert [entry.pairs for entry in once.gated] == [LOOKS[0].pairs] * 2
    assert [entry.note for entry in once.gated] == ["", "the time for measuring again was up"]
    never = decided(*cells, again=Timed(0))
    assert verdicts(never) == {1: "regression", 2: "regression"}
    assert never.gated[0].note == "measuring again failed, so the sources decide: the time for it was up"


def memory(side, size):
    return measured(None, side, metric="memory", values={"xla_temp_bytes": size})


def gated(before, after, **settings):
    pairing = pair(before, after)
    return gate(changes(pairing.pairs, quantities()), pairing, GateSettings.model_validate(settings), TODAY)


def test_counted_bytes_fail_at_the_threshold_itself():
    verdict = {size: gated([memory("before", 1000)], [memory("after", size)]).gated[0].verdict for size in (1049, 1050)}
    assert verdict == {1049: "ok", 1050: "regression"}


def test_accuracy_fails_by_points_over_seeds():
    before = [0.90 + 0.001 * i for i in range(8)]
    worse = gated(trained(before, "before"), trained([v - 0.02 for v in before]))
    assert worse.gated[0].verdict == "regression"
    assert worse.gated[0].share == 0.01
    few = gated(trained(before[:3], "before"), trained([v - 0.02 for v in before[:3]]))
    assert few.gated[0].verdict == "can't tell"  # three pairs can never reach 5 %


def test_a_cell_without_its_result_fails():
    gone = measured(None, values={"status": "crashed", "reason": "by SIGSEGV\x00", "detail": {}})
    before, other = measured(side="before"), measured(seq_len=99)
    found = gated([before], [gone, other])
    assert found.failed
    assert verdict_line(found) == "gate: FAILED, 1 cells have no result any more"
    (case,) = ET.fromstring(to_junit(found)).findall("testcase")
    assert gated([before], [gone]).outcome == "nothing measured"
    assert case.find("failure").get("message") == "crashed: by SIGSEGV "


# Settings


def test_the_narrowest_threshold_holds():
    row = measured()
    settings = GateSettings.model_validate(
        {
            "fail_on": "5%",
            "metrics": {"rss_delta_bytes": "10%"},
            "layers": {"s4d": 0.2},
            "cells": {row.cell_id[:6]: 0.3},
        }
    )
    ms, rss, accuracy = (QUANTITIES[name] for name in ("ms", "rss_delta_bytes", "accuracy"))
    other = measured(seq_len=99)
    s4d = other.model_copy(update={"layer": "s4d"})
    assert settings.threshold(other, ms) == 0.05
    assert settings.threshold(other, rss) == 0.1
    assert settings.threshold(s4d, rss) == 0.2
    assert settings.threshold(s4d, accuracy) == 0.01
    assert settings.threshold(row, ms) == 0.3


EXPECTED = {"until": "2026-06-01", "reason": "float32 states", "layer": "lru", "metric": "ms"}


@pytest.mark.parametrize(
    ("changed", "verdict", "note"),
    [
        ({}, "expected", "expected until 2026-06-01: float32 states"),
        ({"until": "2026-05-31"}, "regression", "expected until 2026-05-31 only: float32 states"),
        ({"at_most": "30%"}, "regression", "worse than the 30% expected: float32 states"),
        ({"at_most": "60%"}, "expected", "expected until 2026-06-01: float32 states"),
        ({"at_most": "150%"}, "expected", "expected until 2026-06-01: float32 states"),
        ({"layer": "s5"}, "regression", ""),
        ({"metric": "energy_j"}, "regression", ""),
        ({"cell": "0000"}, "regression", ""),
    ],
)
def test_an_expected_regression_passes_until_its_day_up_to_its_size(changed, verdict, note):
    (entry,) = decided((NOISE, times(1.5)), expect_regression=[EXPECTED | changed]).gated
    assert (entry.verdict, entry.note) == (verdict, note)


def test_one_expectation_that_holds_is_enough():
    expired = EXPECTED | {"until": "2020-01-01", "reason": "old"}
    (entry,) = decided((NOISE, times(1.5)), expect_regression=[expired, EXPECTED]).gated
    assert (entry.verdict, entry.expectation.reason) == ("expected", "float32 states")


@pytest.mark.parametrize(("changed", "verdict"), [({}, "expected"), ({"at_most": "60%"}, "can't tell")])
def test_what_is_expected_and_cannot_be_told_passes_if_any_size_is_expected(changed, verdict):
    found = decided((NOISE, (0.5, 1.5, 4.0)), strict=True, expect_regression=[EXPECTED | changed])
    assert found.gated[0].verdict == verdict
    assert found.failed == (verdict == "can't tell")


def test_the_longest_beginning_of_an_id_holds():
    row = measured()
    settings = GateSettings.model_validate({"cells": {row.cell_id[:1]: "80%", row.cell_id[:6]: "1%"}})
    assert settings.threshold(row, QUANTITIES["ms"]) == 0.01


def test_beginnings_that_no_cell_has_are_told():
    found = decided((NOISE, NOISE), cells={"zzzz": 0.1, measured(seq_len=1).cell_id[:4]: 0.1})
    assert found.notes == ("zzzz in [gate] is the beginning of no cell here.",)
    assert found.notes[0] in to_summary(found)


def config(folder, text):
    (folder / "rotbench.toml").write_text(text)
    return folder / "rotbench.toml"


def test_settings_come_from_the_file_under_the_command_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_settings(None, {}) == GateSettings()
    config(tmp_path, '[sweep]\nlayer = "lru"\n[gate]\nfail_on = "3 %"\nmetrics = {energy_j = 0.2}\n')
    assert read_settings(None, {}).fail_on == 0.03
    found = read_settings(None, {"fail_on": "8%"})
    assert (found.fail_on, found.metrics) == (0.08, {"energy_j": 0.2})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fail_on = 5", r'fail_on in \[gate\] of .*: must be less than 1, or a percentage such as "150%", got 5'),
        ("fail_on = inf", r"fail_on in \[gate\] of .*: must be less than 1"),
        ('alpha = "150%"', r"alpha in \[gate\] of .*: input should be less than 1"),
        ("layers = {lur = 0.1}", r"unknown layer in \[gate\] 'lur'; known: rotrnn, lru"),
        (
            "[[gate.expect_regression]]\nreason = 'x'\nuntil = 2026-01-01\nframework = 'troch'",
            "unknown framework in .* 'troch'",
        ),
        ('fail_on = "much"', r'fail_on in \[gate\] of .*: must be a share such as "5%" or 0.05, got \'much\''),
        ("threshold = 0.1", "unknown setting threshold in .*; known: fail_on, alpha, metrics"),
        ("metrics = {speed = 0.1}", r"unknown metric in \[gate\] 'speed'; known: ms"),
        ('allow_different = ["weather"]', "unknown key of --allow-different 'weather'"),
        ("[[gate.expect_regression]]\nreason = 'x'", "expect_regression.0.until in .*: field required"),
        (
            "[[gate.expect_regression]]\nreason = ''\nuntil = 2026-01-01",
            "expect_regression.0.reason in .*: string should",
        ),
        ("= 3", "is not TOML"),
    ],
)
def test_bad_settings_are_one_line(text, message, tmp_path):
    with pytest.raises(UserError, match=message) as caught:
        read_settings(config(tmp_path, f"[gate]\n{text}\n"), {})
    assert "\n" not in str(caught.value)


# Builds


def change_of(before, after):
    return changes(pair([before], [after]).pairs, quantities())[0]


def test_a_cell_is_measured_again_by_the_command_that_measured_it():
    plan = {"budget_s": 0.5, "precision": 0.02}
    words = command(measured(environment={"plan": plan}, seq_len=64))
    assert words[:3] == ["speed", "--layer", "lru"]
    assert {"--seq-len", "64", "--again", "--wait"} <= set(words)
    for flag, value in (("--processes", "1"), ("--budget-s", "0.5"), ("--target", "0.02"), ("--start", "fork")):
        assert words[words.index(flag) + 1] == value


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({"commit": None}, "the baseline's rows name no commit"),
        ({"dirty": True}, "the baseline was measured in a tree with changes on top of aaaaaaaaaaaa"),
        ({}, "does not know the baseline's commit aaaaaaaaaaaa: fetch it"),
    ],
)
def test_why_a_baseline_cannot_be_built(environment, why, tmp_path):
    change = change_of(measured(side="before", environment=environment), measured())
    with Builds(tmp_path) as builds:
        assert why in builds.refusal(change)


def test_builds_are_measured_by_turns_and_the_code_must_be_the_one_that_was(monkeypatch, tmp_path):
    change, asked = change_of(measured(side="before"), measured()), []
    speeds = {COMMIT["before"]: 1.0, "now": 1.5}

    def measure(self, root, original):
        asked.append(root)
        return measured([speeds[root]])

    monkeypatch.setattr(Builds, "_measure", measure)
    monkeypatch.setattr(Builds, "_root", lambda self, change, side: "now" if side == "after" else COMMIT["before"])
    with Builds(tmp_path) as builds:
        found = builds.worsening([change], 4)
    assert found == pytest.approx(np.full((1, 4), math.log(1.5)))
    assert all(set(asked[i : i + 2]) == set(speeds) for i in range(0, 8, 2))


def test_other_code_is_no_measurement(monkeypatch, tmp_path):
    change = change_of(measured(side="before"), measured())
    other = measured(values={"detail": {"source_hash": "other"}})
    monkeypatch.setattr("benchmark.store.files.read", lambda sources: Loaded([other], []))
    monkeypatch.setattr(Builds, "_root", lambda self, change, side: tmp_path)
    monkeypatch.setattr("benchmark.regress.builds.told_by", lambda *_: (0, ""))
    with Builds(tmp_path, failures={}) as builds:
        assert np.isnan(builds.worsening([change], 3)).all()
        assert "its code is not that of the rows" in builds.failures[change.row.cell_id, "ms"]


def repository(folder, hook="exit 0"):
    """A checkout with one commit, whose hook runs after each checkout; the commit."""
    folder.mkdir()
    git = partial(gate_on_real_code.git, folder)
    git("init", "-q")
    (folder / "cli.py").write_text("")
    git("add", ".")
    git("commit", "-qm", "first")
    path = folder / ".git/hooks/post-checkout"
    path.write_text(f"#!/bin/sh\n{hook}\n")
    path.chmod(0o755)
    return git_state(folder)[0]


def worktrees(folder):
    return subprocess.run(["git", "worktree", "list"], cwd=folder, capture_output=True, text=True).stdout.splitlines()


def test_a_worktree_that_cannot_be_made_is_a_failure_and_leaves_nothing(tmp_path):
    commit = repository(tmp_path / "here", "exit 1")
    change = change_of(measured(side="before", environment={"commit": commit}), measured())
    with Builds(tmp_path / "here") as builds:
        assert builds.refusal(change) is None
        assert "git worktree" in builds._value(change, "before")
    assert len(worktrees(tmp_path / "here")) == 1


def test_a_build_that_is_cancelled_takes_its_worktree_away(tmp_path):
    commit = repository(tmp_path / "here")
    change = change_of(measured(side="before", environment={"commit": commit}), measured())
    builds = Builds(tmp_path / "here")

    def cancelled():
        with unwinding(), builds:
            builds._root(change, "before")
            assert len(worktrees(tmp_path / "here")) == 2
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit) as ended:
        cancelled()
    assert ended.value.code == 143
    assert len(worktrees(tmp_path / "here")) == 1
    assert not builds.folder.exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_no_pair_is_begun_after_the_time(monkeypatch, tmp_path):
    now = iter(range(100))
    monkeypatch.setattr(Builds, "_value", lambda *_: 1.0)
    with Builds(tmp_path, budget_s=4, clock=lambda: next(now)) as builds:
        change = change_of(measured(side="before"), measured())
        assert builds.worsening([change], 3).tolist() == [[0.0] * 3]
        assert builds.worsening([change], 3) is None


def test_a_failure_is_one_of_its_metric_alone(tmp_path):
    row = {"values": {"energy_j": 1.0}}
    both = pair([measured(side="before", **row)], [measured(**row)])
    ms, energy = changes(both.pairs, quantities(["ms", "energy_j"]))
    with Builds(tmp_path, failures={(ms.row.cell_id, "energy_j"): "no energy_j"}) as builds:
        builds._knows = lambda commit: True
        assert builds.refusal(ms) is None
        assert builds.refusal(energy) == "no energy_j"


def test_rows_of_another_commit_than_the_one_that_is_checked_out(tmp_path):
    head = repository(tmp_path / "here")
    here, elsewhere = measured(environment={"commit": head}), measured()
    assert stale([here, measured(environment={"commit": None})], tmp_path / "here") is None
    assert stale([elsewhere], tmp_path) is None
    told = stale([here, elsewhere], tmp_path / "here")
    assert (
        told
        == f"the rows of now are of commit bbbbbbbbbbbb, while {head[:12]} is checked out; measure that with --again"
    )


# What is said


def test_junit_has_a_case_a_comparison():
    found = decided((NOISE, times(1.5)), (NOISE, (0.5, 1.5, 4.0)), (NOISE, NOISE))
    suite = ET.fromstring(to_junit(found))
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }
    assert suite.find("testcase/failure").get("message").startswith("regression: x1.500 (")
    names = [case.get("name") for case in suite]
    assert len(set(names)) == 3 and names[0].startswith("speed torch lru forward length 1 ms [")


def test_the_summary_names_what_fails_and_counts_the_rest():
    text = to_summary(decided((NOISE, times(1.5)), (NOISE, NOISE)), ["baseline: a"])
    assert text.startswith("## rotbench gate: FAILED, 1 of 2 comparisons are regressions\n\nbaseline: a\n")
    assert "Comparisons: 2, 1 regression, 1 ok." in text
    assert len(re.findall(r"^\| regression", text, flags=re.MULTILINE)) == 1
    assert "| ok |" not in text


def test_json_has_everything():
    found = json.loads(json.dumps(gate_json(decided((NOISE, times(1.5)), ([1.0], [1.0]))), allow_nan=False))
    assert found["failed"]
    assert [entry["verdict"] for entry in found["comparisons"]] == ["regression", "can't tell"]
    assert found["comparisons"][0]["ratio"] == pytest.approx(1.5)
    assert found["comparisons"][1]["ci_high"] is None


# The command


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A baseline of two cells in a; b is as it was, c slower."""
    monkeypatch.chdir(tmp_path)
    for name, side, factor in (("a", "before", 1), ("b", "after", 1), ("c", "after", 1.5)):
        stored(tmp_path / name, *(measured(times(factor), side, seq_len=length) for length in (8, 16)))
    return tmp_path


def test_exit_codes(here, capsys):
    assert run("gate", "b", "--baseline", "a") == 0
    assert "gate: passed, 2 compared" in capsys.readouterr().out
    assert run("gate", "c", "--baseline", "a") == 1
    assert "gate: FAILED, 2 of 2 comparisons are regressions" in capsys.readouterr().out
    assert run("gate", "c", "--baseline", "a", "--fail-on", "150%") == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["b"], 2, "gate needs --baseline"),
        (["b", "--baseline", "a", "--fail-on", "5"], 2, "--fail-on: must be less than 1, or a percentage"),
        (["b", "--baseline", "a", "--fail-on", "much"], 2, '--fail-on: must be a share such as "5%"'),
        (["b", "--baseline", "a", "--config", "no.toml"], 2, "no configuration at no.toml"),
        (["b", "--baseline", "a", "--metric", "x"], 2, "unknown metric 'x'"),
        (["b", "--baseline", "nowhere"], 3, "no results at 'nowhere'"),
        (["nowhere", "--baseline", "a"], 3, "no results at 'nowhere'"),
        (["b", "--baseline", "empty.json"], 3, "no results in empty.json: empty.json cannot be read: it is empty"),
        (["b", "--baseline", "none.json"], 3, "no results in none.json: no row is there"),
        (["b", "--baseline", "corrupt"], 3, "corrupt/cells/x.parquet cannot be read"),
        (["b", "--baseline", "a", "--metric", "energy_j"], 3, "nothing could be compared"),
        (["b", "--baseline", "machine"], 3, "nothing could be compared"),
        (["b", "--baseline", "elsewhere"], 3, "nothing could be compared"),
    ],
)
def test_what_is_missing_has_its_own_words_and_code(words, code, message, here, capsys):
    (here / "empty.json").write_text("")
    (here / "none.json").write_text("[]")
    (here / "corrupt/cells").mkdir(parents=True)
    (here / "corrupt/cells/x.parquet").write_text("no parquet")
    stored(here / "machine", measured(side="before", environment={"cpu": "6502"}))
    stored(here / "elsewhere", measured(side="before", seq_len=1000))
    assert run("gate", *words) == code
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err and len(err.strip().splitlines()) == 1


def test_another_machine_is_told_in_words(here, capsys):
    stored(here / "d", measured(side="before", environment={"cpu": "6502"}))
    assert run("gate", "b", "--baseline", "d") == 3
    out = capsys.readouterr().out
    assert "not comparable: cpu 6502 against Z80" in out and "--allow-different cpu" in out


def test_a_damaged_file_among_good_ones_is_named(here, capsys):
    (here / "a/cells/bad.parquet").write_text("no parquet")
    assert run("gate", "b", "--baseline", "a") == 0
    assert "bad.parquet could not be read and is left out" in capsys.readouterr().err


def test_cells_without_a_baseline_pass_unless_one_is_required(here, capsys):
    stored(here / "b", measured(seq_len=32))
    assert run("gate", "b", "--baseline", "a") == 0
    assert "without a baseline: speed torch lru forward length 32" in capsys.readouterr().out
    assert run("gate", "b", "--baseline", "a", "--require-baseline") == 3
    assert "--require-baseline: 1 cells or metrics" in capsys.readouterr().err
    stored(here / "c", measured(seq_len=32))
    assert run("gate", "c", "--baseline", "a", "--require-baseline") == 1  # a regression is one all the same


def test_a_baseline_that_is_not_measured_now_is_missed_too(here, capsys):
    stored(here / "one", measured(NOISE, seq_len=8))
    assert run("gate", "one", "--baseline", "a") == 0
    assert run("gate", "one", "--baseline", "a", "--require-baseline") == 3
    assert "gate: INCOMPLETE, 1 compared, 1 cells or metrics not" in capsys.readouterr().out


def test_a_metric_that_one_side_lacks_is_named(here, capsys):
    stored(here / "joules", *(measured(NOISE, "before", seq_len=n, values={"energy_j": 1.0}) for n in (8, 16)))
    assert run("gate", "b", "--baseline", "joules") == 0
    assert "no energy_j in the newer source, so not compared: speed torch lru" in capsys.readouterr().out
    assert run("gate", "b", "--baseline", "joules", "--require-baseline") == 3
    capsys.readouterr()
    assert run("compare", "joules", "b", "--json") == 0
    assert {entry["side"] for entry in json.loads(capsys.readouterr().out)["lacking"]} == {"after"}


def test_where_every_cell_failed_nothing_was_measured(here, capsys):
    gone = {"status": "failed", "reason": "no torch", "detail": {}}
    stored(here / "gone", *(measured(None, seq_len=n, values=gone) for n in (8, 16)))
    assert run("gate", "gone", "--baseline", "a") == 3
    assert capsys.readouterr().out.endswith("gate: nothing measured\n")


def test_what_is_no_number_is_no_result(here, capsys):
    rows = json.loads(json.dumps([measured().model_dump(mode="json", exclude_none=True)]))
    rows[0]["process_medians_ms"] = [math.nan, math.inf, 0.9]
    (here / "nan.json").write_text(json.dumps(rows))
    assert run("gate", "nan.json", "--baseline", "a", "--strict") == 3
    assert "process_medians_ms must be finite and above 0, got nan" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["nowhere", "--baseline", "a"], ["b", "--baseline", "cpu"]])
def test_files_are_written_where_nothing_is_compared(words, here, capsys):
    stored(here / "cpu", measured(side="before", environment={"cpu": "6502"}))
    assert run("gate", *words, "--markdown", "s.md", "--junit", "j.xml", "--json") == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["outcome"], found["failed"], found["comparisons"]) == ("nothing compared", False, [])
    assert (here / "s.md").read_text().startswith("## rotbench gate: nothing compared\n")
    suite = ET.parse(here / "j.xml").getroot()
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")


def test_rows_of_another_commit_are_told_and_not_measured_again(here, capsys):
    repository(here / "code")
    assert run("gate", "b", "--baseline", "a", "--checkout", here / "code") == 0
    assert "careful: the rows of now are of commit bbbbbbbbbbbb, while" in capsys.readouterr().out
    assert run("gate", "b", "--baseline", "a", "--checkout", here / "code", "--rerun") == 3
    assert "--rerun needs rows of the code that it measures" in capsys.readouterr().err


def test_files_for_a_build_are_written(here, capsys):
    assert run("gate", "c", "--baseline", "a", "--markdown", "s.md", "--junit", "j.xml", "--json") == 1
    assert json.loads(capsys.readouterr().out)["failed"]
    assert (here / "s.md").read_text().startswith("## rotbench gate: FAILED")
    assert ET.parse(here / "j.xml").getroot().get("failures") == "2"


def test_rerun_without_a_build_says_so_and_judges_by_the_sources(here, capsys):
    assert run("gate", "c", "--baseline", "a", "--rerun", "--checkout", here) == 1
    assert "not measured again: git in" in capsys.readouterr().out


# Real code


@pytest.mark.full
@pytest.mark.skipif("torch" not in INSTALLED, reason="measures torch")
def test_a_real_slow_down_is_caught_and_an_unchanged_tree_passes(tmp_path, monkeypatch):
    """Twice the same commit, then one whose calls sleep; `python tests/gate_on_real_code.py` does it often."""
    monkeypatch.setenv("ROTBENCH_TEST_SLEEP_MS", "20")
    checkout = gate_on_real_code.clone(tmp_path / "clone")
    before, same = (gate_on_real_code.measure(checkout, tmp_path / name) for name in ("before", "same"))
    code, text = gate_on_real_code.gated(checkout, before, same)
    assert code == 0, text
    gate_on_real_code.slow_down(checkout)
    after = gate_on_real_code.measure(checkout, tmp_path / "after")
    code, text = gate_on_real_code.gated(checkout, before, after)
    assert code == 1, text
    assert "6 + 6, again" in text
