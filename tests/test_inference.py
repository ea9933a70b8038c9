"""Estimates, their tests and intervals: against hand-counted cases, scipy, and their own promises under chance."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats as st

from benchmark.metrics import inference, multiple, ordering, paired, ranks, resampling, scaling
from benchmark.metrics.inference import Exact, Region, Student, compare, log_ratio, p_within, speed_verdict

RNG = np.random.default_rng
MARGIN = math.log(1.02)

ESTIMATES = {
    "welch": log_ratio([1.0, 1.2, 1.1, 0.9], [1.3, 1.2, 1.5]),
    "ranks": ranks.rank_shift([0.1, 0.3, 0.2, 0.15, 0.4], [0.5, 0.35, 0.45, 0.6, 0.25]),
    "flips": paired.sign_flips([0.1, -0.2, 0.3, 0.4, 0.05, 0.2, -0.1]),
}


# What every estimate must hold


@pytest.mark.parametrize("name", ESTIMATES)
def test_tests_and_intervals_agree_at_every_bound(name):
    estimate = ESTIMATES[name]
    for confidence in (0.5, 0.8, 0.9, 0.95):
        found, alpha = estimate.interval(confidence), 1 - confidence
        for bound in np.linspace(-1, 1, 101):
            outside = not found.low <= bound <= found.high
            p = 2 * min(estimate.p_below(bound), estimate.p_above(bound))
            assert (p <= alpha + 1e-12) == outside or math.isclose(p, alpha), (bound, p, found)


@pytest.mark.parametrize("name", ESTIMATES)
def test_p_moves_with_the_bound(name):
    estimate, bounds = ESTIMATES[name], np.linspace(-1, 1, 41)
    below, above = [estimate.p_below(b) for b in bounds], [estimate.p_above(b) for b in bounds]
    assert below == sorted(below, reverse=True)
    assert above == sorted(above)
    assert min(below + above) >= estimate.least_p
    found = estimate.interval(0.9)
    assert found.low <= found.median <= found.high


# Welch's t of process medians


def test_log_ratio_is_welchs_test():
    ours, theirs = [1.0, 1.2, 1.1], [1.3, 1.2, 1.5, 1.45]
    known = st.ttest_ind(np.log(ours), np.log(theirs), equal_var=False)
    estimate = log_ratio(ours, theirs)
    assert 2 * estimate.p_below(0) == pytest.approx(known.pvalue)
    assert estimate.interval()[1:] == pytest.approx(tuple(known.confidence_interval()))


def test_a_ratio_without_a_spread():
    assert log_ratio([2.0], [1.0, 1.1]).least_p == 1.0
    assert log_ratio([2.0], [1.0]).p_above(0) == 1.0
    assert log_ratio([2.0], [1.0]).interval() == (math.log(2), -math.inf, math.inf)
    equal = log_ratio([2.0, 2.0], [1.0, 1.0])
    assert (equal.p_above(0), equal.p_below(0), equal.p_above(equal.value)) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize(("n", "m", "apart", "most"), [(3, 3, 1, 1.0), (3, 3, 4, 1.5), (5, 5, 1, 1.0), (2, 3, 2, 1.0)])
def test_level_under_noise_and_a_drift(n, m, apart, most):
    """Log-normal noise, spreads up to four times apart, and a drift of 10 % over a sweep in random order."""
    rng, trials = RNG(1), 4000
    false = 0
    for _ in range(trials):
        drift = 0.1 * rng.permutation(n + m) / (n + m)
        noise = drift + rng.normal(0, np.repeat([0.03, 0.03 * apart], [n, m]))
        false += compare(log_ratio(np.exp(noise[:n]), np.exp(noise[n:])), 0.0).p <= 0.05
    assert false / trials <= 0.05 * most + 2 * math.sqrt(0.05 * 0.95 / trials)


def test_regions_by_hand():
    """t = 2 of 4 degrees of freedom: one-sided p .0581."""
    estimate = Student(0.2, 0.1, 4)
    one_sided = float(st.t.sf(2, 4))
    assert p_within(estimate, Region(low=0.0)) == pytest.approx(2 * one_sided)
    assert p_within(estimate, Region(high=0.0)) == 1.0
    assert p_within(estimate, Region(0.0, 0.4)) == pytest.approx(2 * one_sided)
    assert p_within(estimate, Region(0.0, 0.3)) == pytest.approx(2 * float(st.t.sf(1, 4)))
    assert p_within(estimate, Region()) == 0.0


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        ([1.0, 1.01, 1.02], [2.0, 2.02, 2.01], "faster"),
        ([2.0, 2.02, 2.01], [1.0, 1.01, 1.02], "slower"),
        ([1.0, 1.001, 1.002], [1.001, 1.002, 1.0], "same"),
        ([1.0, 1.1, 0.9], [1.02, 1.12, 0.92], "can't tell"),
        ([1.0, 1.0002, 1.0001], [1.015, 1.0151, 1.0152], "same"),
        ([1.0], [9.0], "can't tell"),
    ],
)
def test_verdicts_on_speed(ours, theirs, word):
    """The fifth pair differs, but by less than the minimum effect."""
    assert speed_verdict(compare(log_ratio(ours, theirs), MARGIN)) == word


def test_a_verdict_needs_the_corrected_p():
    found = compare(log_ratio([1.0, 1.05, 1.02], [1.3, 1.2, 1.25]), MARGIN)
    assert found.p < 0.05
    assert speed_verdict(found) == "faster"
    assert speed_verdict(found, p_adjusted=0.06) == "can't tell"


def test_counts_have_no_chance():
    found = compare(Exact(math.log(0.5)), MARGIN)
    assert (found.side, found.p) == ("less", 0.0)
    assert compare(Exact(0.0), MARGIN).side == "same"


# Ranks


@pytest.mark.parametrize(("n", "m"), [(2, 3), (5, 4), (7, 9), (12, 1)])
def test_ranks_are_mann_and_whitneys(n, m):
    rng = RNG(n)
    a, b = rng.normal(0, 1, n), rng.normal(0.3, 1, m)
    found = ranks.rank_shift(a, b)
    for side, p in (("less", found.p_below(0)), ("greater", found.p_above(0))):
        assert p == pytest.approx(st.mannwhitneyu(a, b, alternative=side, method="exact").pvalue)


def test_ranks_of_three_processes_can_never_reach_the_level():
    found = compare(ranks.rank_shift([1, 2, 3], [10, 20, 30]), 0.0)
    assert (found.side, found.p, found.least_p) == ("less", pytest.approx(0.1), pytest.approx(0.1))
    assert found.difference.low == -math.inf
    assert compare(ranks.rank_shift([1, 2, 3, 4], [10, 20, 30, 40]), 0.0).p == pytest.approx(2 / 70)


def test_many_values_are_near_normal():
    exact, near = ranks.u_cumulative(100, 100, 4300), st.norm.cdf((4300.5 - 5000) / math.sqrt(1e4 * 201 / 12))
    assert exact == pytest.approx(near, rel=1e-2)
    assert ranks.u_cumulative(200, 200, 19000) == pytest.approx(0.193, abs=2e-3)


def test_ties_count_against_the_verdict():
    assert ranks.rank_shift([1.0, 1.0], [1.0, 1.0]).p_below(0) > 0.5
    assert compare(ranks.rank_shift([0.0] * 5, [0.0] * 5), 0.0).p == 1.0


def test_cliffs_delta():
    found = ranks.cliffs_delta([1, 2, 3, 4], [2.5, 3.5, 4.5, 5.5])
    assert found.median == pytest.approx((3 - 13) / 16)
    assert -1 <= found.low < found.median < found.high <= 1
    apart = ranks.cliffs_delta([1.0] * 30, [2.0] * 30)
    assert (apart.median, apart.low) == (-1.0, -1.0)
    assert -1 < apart.high < -0.7
    mirrored = ranks.cliffs_delta([2.5, 3.5, 4.5, 5.5], [1, 2, 3, 4])
    assert mirrored == pytest.approx((-found.median, -found.high, -found.low))


def test_cliffs_interval_covers():
    rng, truth, covered = RNG(3), 2 * st.norm.cdf(0.5 / math.sqrt(2)) - 1, 0
    for _ in range(500):
        found = ranks.cliffs_delta(rng.normal(0.5, 1, 20), rng.normal(0, 1, 20))
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / 500 <= 0.98


# Pairs


def by_hand(differences, bound=0.0):
    """One-sided p of all flips: how many sums are at least as large as the one found."""
    d = np.asarray(differences) - bound
    sums = [sum(s * x for s, x in zip(signs, d, strict=True)) for signs in itertools.product((1, -1), repeat=len(d))]
    return float(np.mean([total >= d.sum() - 1e-12 for total in sums]))


@pytest.mark.parametrize("bound", [-0.3, 0.0, 0.11])
def test_sign_flips_by_counting(bound):
    d = [0.1, -0.2, 0.3, 0.4, 0.05, 0.2]
    assert paired.sign_flips(d).p_above(bound) == by_hand(d, bound)
    assert paired.sign_flips(d).p_below(bound) == by_hand([-x for x in d], -bound)


def test_what_rounding_parts_still_ties():
    """0.3 - 0.1 - 0.2 is not 0 in binary."""
    assert paired.sign_flips([0.3, -0.1, -0.2]).p_above(0) == by_hand([3, -1, -2])


@pytest.mark.parametrize(("n", "least", "reached"), [(3, 0.25, False), (5, 0.0625, False), (6, 0.03125, True)])
def test_three_and_five_pairs_can_never_reach_the_level(n, least, reached):
    found = compare(paired.sign_flips([1.0] * n), 0.0)
    assert (found.p, found.least_p) == (least, least)
    assert paired.wilcoxon(range(1, n + 1)) == (least, least)
    assert (found.p <= 0.05) == (n >= paired.least_pairs()) == reached
    assert math.isinf(found.difference.low) != reached


def test_least_pairs():
    for comparisons in (1, 2, 10, 100):
        n = paired.least_pairs(0.05, comparisons)
        assert comparisons * 2.0 ** -(n - 1) <= 0.05 < comparisons * 2.0 ** -(n - 2)


def test_many_pairs_are_drawn_with_the_generator_given():
    d = RNG(4).normal(0.3, 1, 30)
    one, same, other = (paired.sign_flips(d, RNG(seed)) for seed in (1, 1, 2))
    assert (one.means == same.means).all()
    assert not (one.means == other.means).all()
    assert 2 * one.p_above(0) == pytest.approx(st.ttest_1samp(d, 0).pvalue, abs=0.02)


def test_pairs_keep_their_level_and_cover():
    rng, false, covered = RNG(5), 0, 0
    for _ in range(1000):
        estimate = paired.sign_flips(rng.standard_t(3, 8))
        false += compare(estimate, 0.0).p <= 0.05
        found = estimate.interval()
        covered += found.low <= 0 <= found.high
    assert false <= 1000 * (0.05 + 2 * math.sqrt(0.05 * 0.95 / 1000))
    assert covered >= 1000 * (0.95 - 2 * math.sqrt(0.05 * 0.95 / 1000))


def test_wilcoxon():
    d = RNG(6).normal(0.5, 1, 11)
    assert paired.wilcoxon(d).p == pytest.approx(st.wilcoxon(d, method="exact").pvalue)
    assert paired.wilcoxon([0.0, 0.0]) == (1.0, 1.0)
    tied = [1, 1, -1, 2, 2, 3, 0]
    assert paired.wilcoxon(tied).p == 2 * by_hand([2, 2, -2, 4.5, 4.5, 6])


def test_standardised_difference():
    d = [1.0, 2.0, 3.0, 4.0, 5.0]
    found = paired.standardised_difference(d)
    assert found.median == pytest.approx(3 / math.sqrt(2.5) * (1 - 3 / 15))
    assert st.nct.cdf(3 / math.sqrt(2.5) * math.sqrt(5), 4, found.high * math.sqrt(5)) == pytest.approx(0.025, rel=1e-4)
    assert found.low == pytest.approx(-paired.standardised_difference([-x for x in d]).high)
    rng, covered = RNG(7), 0
    for _ in range(400):
        low, high = paired.standardised_difference(rng.normal(0.5, 1, 10))[1:]
        covered += low <= 0.5 <= high
    assert 0.92 <= covered / 400 <= 0.98


# Many comparisons


def test_adjusted_p_by_hand():
    p = [0.01, 0.2, 0.03, 0.02, 0.9]
    assert multiple.holm(p) == pytest.approx([0.05, 0.4, 0.09, 0.08, 0.9])
    assert multiple.benjamini_hochberg(p) == pytest.approx(st.false_discovery_control(p))
    assert multiple.holm([]) == multiple.benjamini_hochberg([]) == []
    assert multiple.holm([0.5]) == [0.5]


def test_holm_bounds_the_chance_of_any_false_one():
    p = RNG(8).uniform(size=(2000, 10))
    false = np.mean([min(multiple.holm(row)) <= 0.05 for row in p])
    assert false <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 2000)


# Bootstrap


def processes(rng, n, between, within=0.02, samples=20):
    return [np.exp(rng.normal(rng.normal(0, between), within, samples)) for _ in range(n)]


def test_bootstrap_is_hierarchical():
    rng = RNG(9)
    calm, apart = processes(rng, 8, 0.0), processes(rng, 8, 0.1)
    widths = [resampling.time_bootstrap(found, RNG(0)).interval.relative_half_width for found in (calm, apart)]
    assert widths[1] > 5 * widths[0]
    one = resampling.ratio_bootstrap(calm[:1], apart, RNG(0))
    assert one.note == resampling.ONE_PROCESS
    assert resampling.ratio_bootstrap(calm, apart, RNG(0)).note is None
    assert resampling.time_bootstrap(calm, RNG(0)) == resampling.time_bootstrap(calm, RNG(0))


def test_the_centre_is_that_of_rows():
    found = resampling.ratio_bootstrap([[1.0, 2.0, 9.0], [8.0]], [[2.0]], RNG(0))
    assert found.interval.median == pytest.approx(math.sqrt(2 * 8) / 2)


@pytest.mark.parametrize(("n", "least", "most"), [(3, 0.65, 0.9), (12, 0.87, 0.98)])
def test_coverage_of_the_bootstrap_is_as_documented(n, least, most):
    rng, covered = RNG(10), 0
    for _ in range(200):
        found = resampling.ratio_bootstrap(processes(rng, n, 0.08), processes(rng, n, 0.08), rng, resamples=300)
        covered += found.interval.low <= 1 <= found.interval.high
    assert least <= covered / 200 <= most


# Stochastic order


def test_order_of_known_cases():
    assert ordering.violation_ratio(np.array([2.0, 3]), np.array([1.0, 2])) == 0.0
    assert ordering.violation_ratio(np.array([1.0, 2]), np.array([2.0, 3])) == 1.0
    assert ordering.violation_ratio(np.array([1.0]), np.array([1.0])) == 0.5
    # quantile gaps -1 on the lower half and 2 on the upper: 1 / (1 + 4)
    assert ordering.violation_ratio(np.array([0.0, 4]), np.array([1.0, 2])) == pytest.approx(0.2)
    # unequal sizes: steps at 1/3, 1/2, 2/3; gaps -1, -1, 0, 0 on 1/3, 1/6, 1/6, 1/3
    assert ordering.violation_ratio(np.array([0.0, 1, 2]), np.array([1.0, 2])) == 1.0


def test_order_of_normal_distributions():
    """Equal means, spreads 1 and 2: by symmetry each is the larger on half of the distance."""
    shares = (np.arange(2000) + 0.5) / 2000
    assert ordering.violation_ratio(st.norm.ppf(shares), 2 * st.norm.ppf(shares)) == pytest.approx(0.5, abs=1e-3)
    # means 1 and 0, spreads 1 and 2: the gap 1 - z is negative for z > 1
    share, pdf = st.norm.sf(1), st.norm.pdf(1)
    below = 2 * share - pdf  # of (1 - z)^2 beyond 1
    found = ordering.violation_ratio(1 + st.norm.ppf(shares), 2 * st.norm.ppf(shares))
    assert found == pytest.approx(below / 2, abs=2e-3)


def test_the_bound_on_the_order():
    rng = RNG(11)
    scores = rng.normal(0, 1, 60)
    assert ordering.almost_stochastic_order(scores + 1, scores, rng).least < 0.1
    assert ordering.almost_stochastic_order(scores, scores + 1, rng).least == 1.0
    wrong = 0
    for _ in range(100):
        a, b = rng.normal(0, 1, 30), rng.normal(0, 1, 30)
        wrong += ordering.almost_stochastic_order(a, b, rng, resamples=100).least < 0.2
    assert wrong <= 10


# Growth


def grown(power, rng, spread=0.02, fixed=0.0, lengths=(1024, 2048, 4096, 8192), n=3):
    return [(L, list((fixed + (L / 1024) ** power) * np.exp(rng.normal(0, spread, n)))) for L in lengths]


def test_exponents_of_exact_powers():
    exact = grown(1.5, RNG(0), spread=0.0)
    assert scaling.exponent(exact).value == pytest.approx(1.5)
    assert scaling.local_exponent(exact).value == pytest.approx(1.5)
    assert scaling.exponent(exact[:1]).least_p == 1.0
    known = st.linregress(np.log([1, 1, 2, 4]), np.log([1.0, 1.2, 2.5, 3.0]))
    found = scaling.exponent([(1, [1.0, 1.2]), (2, [2.5]), (4, [3.0])])
    assert (found.value, found.standard_error) == pytest.approx((known.slope, known.stderr))


def test_exponents_cover():
    rng, covered = RNG(12), 0
    for _ in range(400):
        low, high = scaling.exponent(grown(1.0, rng, 0.08)).interval()[1:]
        covered += low <= 1 <= high
    assert 0.92 <= covered / 400 <= 0.98


def test_exponents_beyond_fixed_costs():
    for fixed in (0.0, 2.0):
        found = scaling.beyond_fixed_costs(grown(1.5, RNG(0), spread=0.0, fixed=fixed))
        assert found.value == pytest.approx(1.5, abs=1e-4)
    few = scaling.beyond_fixed_costs([(1, [3.0]), (2, [4.0]), (4, [6.0])])
    assert few.value == pytest.approx(1.0, abs=1e-3) and few.interval()[1:] == (-math.inf, math.inf)
    rng, covered = RNG(15), 0
    for _ in range(200):
        low, high = scaling.beyond_fixed_costs(grown(1.0, rng, 0.03, fixed=1.0)).interval()[1:]
        covered += low <= 1 <= high
    assert covered / 200 >= 0.9


def test_growth_looks_at_the_end_where_no_power_law_fits():
    overhead = grown(1.0, RNG(13), fixed=2.0)
    assert scaling.lack_of_fit_p(overhead) < 0.01
    assert scaling.growth(overhead) == scaling.local_exponent(overhead)
    assert scaling.growth(overhead).value > scaling.exponent(overhead).value
    rng = RNG(14)
    rejected = sum(scaling.lack_of_fit_p(grown(1.0, rng)) < 0.05 for _ in range(500))
    assert rejected <= 500 * (0.05 + 2 * math.sqrt(0.05 * 0.95 / 500))
    assert scaling.lack_of_fit_p(grown(1.0, rng, n=1)) is None


def test_crossovers():
    rng, lengths = RNG(15), (1024, 2048, 4096, 8192)

    def line(slope, fixed):
        return [(L, list((fixed + slope * L / 1024) * np.exp(rng.normal(0, 0.01, 3)))) for L in lengths]

    steep, flat = line(1.0, 0.0), line(0.0, 3.0)
    (found,) = scaling.crossovers(steep, flat, RNG(0))
    assert found.then == "slower"
    assert found.low < found.seq_len < found.high
    assert found.seq_len == pytest.approx(3 * 1024, rel=0.1)
    assert scaling.crossovers(flat, steep, RNG(0))[0].then == "faster"
    assert scaling.crossovers(steep, [(L, [99.0, 98.0, 99.5]) for L in lengths], RNG(0)) == []
    (alone,) = scaling.crossovers([(L, v[:1]) for L, v in steep], [(L, v[:1]) for L, v in flat], RNG(0))
    assert (alone.low, alone.high) == (None, None)


def test_a_crossing_by_hand():
    ours, theirs = [(100, [1.0, 1.0]), (400, [4.0, 4.0])], [(100, [2.0, 2.0]), (400, [2.0, 2.0])]
    (found,) = scaling.crossovers(ours, theirs, RNG(0))
    assert found.seq_len == pytest.approx(200)
    assert (found.low, found.high) == pytest.approx((200, 200))


def test_largest_length():
    endings = [(1024, "ok"), (4096, "ok"), (8192, "timeout"), (16384, "oom"), (65536, "skipped_after_oom")]
    assert scaling.largest_length(endings) == (4096, 16384)
    assert scaling.largest_length([(8, "ok")]) == (8, None)
    assert scaling.largest_length([(8, "skipped_after_oom")]) == (None, 8)
    assert scaling.largest_length([(4, "ok"), (8, "oom"), (8, "ok"), (16, "ok")]) == (4, 8), "it fits below alone"


def test_the_interval_of_a_percentage_is_where_the_margin_puts_it():
    """The p of a region is at most 5 % exactly where the 95 % interval lies in it."""
    rng = RNG(16)
    for _ in range(200):
        estimate = log_ratio(np.exp(rng.normal(0, 0.05, 3)), np.exp(rng.normal(0.05, 0.05, 3)))
        low, high = estimate.interval()[1:]
        assert (p_within(estimate, Region(high=-MARGIN)) <= inference.ALPHA) == (high <= -MARGIN)
        assert (p_within(estimate, Region(-0.2, 0.2)) <= inference.ALPHA) == (low >= -0.2 and high <= 0.2)
