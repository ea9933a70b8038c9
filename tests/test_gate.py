"""The gate's rule: when a cell is called slower, how often that is wrong, how its rows are judged."""

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import gate_simulation as simulation
import numpy as np
import pytest
import scipy.stats as st
from regress_rows import NOISE, TODAY, decided, measured, times, trained

from benchmark.metrics.inference import log_ratio
from benchmark.regress import decision
from benchmark.regress.decision import LOOKS, paired, regressions, suspicious
from benchmark.regress.gating import gate
from benchmark.regress.pairing import pair
from benchmark.regress.quantities import quantities
from benchmark.regress.settings import GateSettings
from benchmark.regress.verdicts import changes
from benchmark.reports.gate import gate_table, to_junit, verdict_line

ROOT = Path(__file__).parents[1]


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


def verdicts(decision_):
    return {entry.change.row.seq_len: entry.verdict for entry in decision_.gated}


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
