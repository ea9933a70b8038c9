"""The gate's thresholds and expectations, and the builds that it measures again."""

import math
import os
import signal
import subprocess

import numpy as np
import pytest
from regress_rows import COMMIT, NOISE, decided, measured, repository, times

from benchmark.regress.builds import Builds, command
from benchmark.regress.ending import unwinding
from benchmark.regress.freshness import stale
from benchmark.regress.pairing import pair
from benchmark.regress.quantities import QUANTITIES, quantities
from benchmark.regress.settings import GateSettings, read_settings
from benchmark.regress.verdicts import changes
from benchmark.reports.gate import to_summary
from benchmark.spec.errors import UserError
from benchmark.store.files import Loaded

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
