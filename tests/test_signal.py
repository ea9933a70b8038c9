"""Signal propagation: exact energies against rationals, their limits, simulations, thresholds, layers."""

import itertools
import json
import math
import subprocess
import sys
import time
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from frameworks import INSTALLED, layers, relative

from benchmark import backends
from benchmark.commands import signal as command
from benchmark.metrics.statistics import Interval
from benchmark.reports.numbers import MISSING
from benchmark.reports.signal import exact_table, rescalings, signal_tables
from benchmark.reports.signal_charts import figures, rendered
from benchmark.reports.signal_simulated import FEW, energy, with_error
from benchmark.reports.tables import narrowed, natural_width, to_terminal
from benchmark.spec import LAYERS, UserError
from benchmark.spec.reference import SYSTEMS
from benchmark.studies import signal, signal_job, signal_layers, signal_table
from benchmark.studies.signal_estimate import MOST_SKEW, estimate, log_variance, mean_skew
from benchmark.studies.signal_plan import Run, Settings, reals, runs
from benchmark.studies.signal_run import exact_points, study
from benchmark.studies.signal_scale import Curve, crossing, exponent, glorot_rescaling, simulated_exponent
from benchmark.studies.signal_table import Point
from benchmark.studies.signal_threshold import thresholds

ROOT = Path(__file__).parent.parent


def exact_q(n, k):
    """Q_{n,k} as a rational: math.perm is the falling factorial."""
    rising, falling = math.perm(n + k + 1, k + 2), math.perm(n, k + 2)
    return Fraction(rising - falling, (k + 1) * (k + 2) * n ** (k + 1))


def exact_s(n, depths):
    """S_{n,t} by sum_{m=1}^{t+1} (r_m + f_m) - n (r_{t+2} - f_{t+2}) / (t + 2), which sums no Q."""
    rising = falling = 1
    sums, found = 0, {}
    for m in range(1, max(depths) + 2):
        rising, falling = rising * (n + m - 1), falling * max(n - m + 1, 0)
        sums = sums * n + rising + falling  # over n^m
        if m - 1 in depths:
            last = rising * (n + m) - falling * max(n - m, 0)
            found[m - 1] = Fraction(sums * n * (m + 1) - n * last, (m + 1) * n ** (m + 1))
    return found


def error(log_value, exact):
    """The relative error of exp(log_value), with 40 digits."""
    with localcontext(prec=40):
        return abs(float(Decimal(float(log_value)).exp() * exact.denominator / exact.numerator - 1))


def bound(log_value):
    """5e-13, or a unit in the last place of the logarithm, in which the value is given."""
    return max(5e-13, 1.5 * math.ulp(abs(log_value)))


def test_the_rationals_are_the_wick_sum():
    """E tr(W^k* W^k) / n sums n^(cycles) over the permutations that pair each W with a conjugate one."""
    for k in (1, 2, 3, 4):
        for n in (1, 2, 5):
            # sum over pairings: indices i_0..i_k and j_0..j_k, with i_k = j_k and i_0 = j_0, W_l with conj W_p(l)
            total = sum(n ** free_indices(k, pairing) for pairing in itertools.permutations(range(k)))
            assert exact_q(n, k) == Fraction(total, n ** (k + 1))


def free_indices(k, pairing):
    """Classes of the indices i_0..i_k, j_0..j_k once equal ones are merged."""
    parent = list(range(2 * k + 2))

    def root(a):
        while parent[a] != a:
            a = parent[a]
        return a

    merged = [(0, k + 1), (k, 2 * k + 1)]
    for i, j in enumerate(pairing):
        merged += [(i, k + 1 + j), (i + 1, k + 2 + j)]
    for a, b in merged:
        parent[root(a)] = root(b)
    return len({root(a) for a in range(2 * k + 2)})


@pytest.mark.parametrize(("n", "depth"), [(1, 30), (2, 60), (7, 100), (100, 400), (3000, 600), (10**9, 300)])
def test_energies_are_the_rationals(n, depth):
    q, s = signal.log_q(n, depth), signal.log_s(n, depth)
    for k in range(depth + 1):
        assert error(q[k], exact_q(n, k)) < bound(q[k])
    for t, exact in exact_s(n, {0, 1, 2, depth // 2, depth}).items():
        assert error(s[t], exact) < bound(s[t])


def test_energies_are_the_rationals_far_out():
    n, depths = 100_000, {1, 316, 1000, 3162, 10_000}
    start = time.perf_counter()
    q, s = signal.log_q(n, 10_000), signal.log_s(n, 10_000)
    assert time.perf_counter() - start < 1
    assert q[[316, 1000, 3162, 10_000]] == pytest.approx([0.0414565, 2.69272, 44.9133, 477.355], rel=1e-5)
    for t, exact in exact_s(n, depths).items():
        assert error(q[t], exact_q(n, t)) < 5e-13
        assert error(s[t], exact) < 5e-13


@pytest.mark.full
@pytest.mark.parametrize(("n", "depth"), [(1000, 3000), (12_345, 10_000), (10**6, 20_000), (10**9, 10_000)])
def test_energies_are_the_rationals_at_many_sizes(n, depth):
    q, s = signal.log_q(n, depth), signal.log_s(n, depth)
    depths = set(range(0, depth + 1, depth // 50))
    for t, exact in exact_s(n, depths).items():
        assert error(q[t], exact_q(n, t)) < bound(q[t])
        assert error(s[t], exact) < bound(s[t])


def test_small_energies_by_hand():
    assert np.exp(signal.log_q(10, 3)) == pytest.approx([1, 1, 1 + 1 / 100, 1 + 5 / 100], abs=1e-14)
    assert np.exp(signal.log_q(1, 5)) == pytest.approx([1, 1, 2, 6, 24, 120], rel=1e-14)  # of one number: k!
    assert np.exp(signal.log_s(1, 3)) == pytest.approx([1, 2, 4, 10], rel=1e-14)


@pytest.mark.parametrize("c", [0.1, 0.5, 1.0, 3.0, 6.0])
def test_critical_limits_are_their_integrals(c):
    x = np.linspace(0, c, 20_001)[1:]
    q = 2 / x**2 * np.sinh(x**2 / 2)
    assert math.exp(signal.critical_log_q(c)) == pytest.approx(q[-1], rel=1e-9)
    integral = np.trapezoid(np.concatenate([[1.0], q]), dx=c / 20_000)
    assert math.exp(signal.critical_log_s(c)) == pytest.approx(integral, rel=1e-6)


@pytest.mark.parametrize("c", [0.5, 1.0, 2.0, 3.0])
def test_finite_widths_converge_to_the_critical_limits(c):
    gaps = []
    for n in (10**2, 10**4, 10**6):
        depth = round(c * math.sqrt(n))
        q, s = signal.log_q(n, depth)[-1], signal.log_s(n, depth)[-1] - math.log(n) / 2
        gaps.append((abs(q - signal.critical_log_q(c)), abs(s - signal.critical_log_s(c))))
    for before, after in itertools.pairwise(np.array(gaps)):
        assert (after < before / 5).all()  # as 1 / sqrt(n)


def test_below_and_above_the_critical_depth():
    assert signal.log_q(10**8, 100)[-1] == pytest.approx(0, abs=1e-7)
    n = 100_000
    logs = signal.log_s(n, n)
    stated = [math.exp(logs[t] - signal.stated_log_s(n, t)) for t in (1000, 2154, 5000, 10_000)]
    assert stated == pytest.approx([1.84, 0.957, 0.15, 1.6e-7], rel=0.03)
    for t in (3000, 10_000, 100_000):
        assert abs(math.expm1(logs[t] - signal.corrected_log_s(n, t))) < 4 * n / t**2


def test_regimes_by_whole_steps():
    assert [signal.regime(1000, depth) for depth in (16, 17, 157, 158)] == [
        "sub-critical",
        "critical",
        "critical",
        "super-critical",
    ]
    assert signal.law(100, 5) == (0.0, math.log(6))
    assert signal.law(10**6, 10**4).log_q == pytest.approx(signal.log_q(10**6, 10**4)[-1], rel=1e-3)


@pytest.mark.parametrize(("n", "depth"), [(0, 1), (10**16, 1), (5, -1), (5, 10**8)])
def test_sizes_out_of_range(n, depth):
    with pytest.raises(UserError, match="must lie between"):
        signal.log_q(n, depth)


def test_crossing_by_hand():
    assert crossing([0, 1, 2], [0, 0, math.log(4)], 1.0) == pytest.approx(1.5)
    assert crossing([0, 1, 2], [0, 0, 0.1], 1.0) is None
    assert crossing([0, 1], [1, 2], 0.1) is None  # it never was below


def test_exponents_of_power_laws():
    found = exponent([10, 100, 1000], [3 * w**0.5 for w in (10, 100, 1000)])
    assert found == pytest.approx(Interval(0.5, 0.5, 0.5))
    assert exponent([10, 100], [1, 2]).high == math.inf
    rng, covered = np.random.default_rng(0), 0
    for _ in range(300):
        found = exponent([10, 20, 40, 80, 160], np.array([10, 20, 40, 80, 160]) ** 0.5 * rng.lognormal(0, 0.1, 5))
        covered += found.low <= 0.5 <= found.high
    assert 0.91 <= covered / 300 <= 0.99


def test_simulated_exponents_cover_the_truth():
    """Curves log Q = (k / sqrt n)^2 with errors of 2 %."""
    rng, covered = np.random.default_rng(1), 0
    for _ in range(20):
        curves = []
        for n in (16, 64, 256):
            depths = [round(c * n**0.5) for c in (0, 0.5, 1, 1.5)]
            logs = [k * k / n + 0.02 * rng.standard_normal() * (k > 0) for k in depths]
            curves.append(Curve(n, tuple(depths), tuple(logs), (0.0, 0.02, 0.02, 0.02)))
        found = simulated_exponent(curves, 1.0)
        covered += found.low <= 0.5 <= found.high
    assert covered >= 16
    assert simulated_exponent(curves, 100.0) is None


def test_thresholds_of_exact_energies_scale_as_the_root_of_the_width():
    points = exact_points(Settings(widths=(10**3, 10**4, 10**5, 10**6), depth_c=(1.0,)))
    q, s = thresholds(points, 0.5)
    assert (q.quantity, s.quantity) == ("Q", "S")
    for found in (q, s):
        assert found.slope.low < 0.502 and found.slope.median == pytest.approx(0.5, abs=0.003)
    n, depth = 10**6, q.depths[-1]
    assert exact_q(n, math.floor(depth)) < 1.5 <= exact_q(n, math.ceil(depth))
    with pytest.raises(UserError, match="tolerance"):
        thresholds(points, 0.0)


@pytest.mark.parametrize(("n", "horizon"), [(50, 2), (50, 7), (1000, 95), (100_000, 1581)])
def test_a_rescaling_is_the_best_of_all_gains(n, horizon):
    found = glorot_rescaling(n, horizon)
    logs, steps = signal.log_q(n, horizon), np.arange(horizon + 1)

    def worst(gain):
        return np.abs(logs + 2 * steps * math.log(gain)).max()

    assert worst(found.gain) == pytest.approx(found.log_worst, abs=1e-12)
    for other in (found.gain * (1 - 1e-4 / horizon), found.gain * (1 + 1e-4 / horizon)):
        assert worst(found.gain) <= worst(other) + 1e-12
    rescaled = logs + 2 * steps * math.log(found.gain)
    assert rescaled[-1] == pytest.approx(-rescaled.min(), abs=1e-9)  # as far above at the end as below before
    with pytest.raises(UserError, match="horizon"):
        glorot_rescaling(n, 0)


def test_an_estimate_by_hand():
    found = estimate(np.array([1.0, 3.0]))
    assert (found.mean, found.standard_error, found.samples) == (2.0, 1.0, 2)
    assert found.effective_samples == pytest.approx(16 / 10)
    assert log_variance(np.exp(np.array([0.0, 2.0]))).mean == pytest.approx(2.0)
    # of exp(N(0, 1)): w = e, skewness (w + 2) sqrt(w - 1)
    assert mean_skew(math.e - 1, 4) == pytest.approx((math.e + 2) * math.sqrt(math.e - 1) / 2)


@pytest.mark.parametrize("sigma", [0.3, 0.9, 1.2, 2.0])
def test_standard_errors_are_honest_where_they_are_trusted(sigma):
    """Over samples of log-normal energies whose mean is 1; a rule that looks at the mean's own spread fails this."""
    rng = np.random.default_rng(3)
    found = [estimate(rng.lognormal(-(sigma**2) / 2, sigma, 400)) for _ in range(500)]
    trusted = [e for e in found if e.mean_skew <= MOST_SKEW]
    if sigma == 2.0:
        assert not trusted
    elif sigma < 1:
        assert len(trusted) > 350
    if len(trusted) > 100:
        assert np.mean([abs(e.mean - 1) < 2 * e.standard_error for e in trusted]) > 0.91


def test_matrices_have_entries_of_variance_one_over_n():
    for ensemble in ("complex", "real"):
        run = Run(ensemble, "recurrent", 20, 1.0, 4)
        (W, u), *_ = signal_job.draws(run, 32, seed=0)
        assert W.shape == (32, 1, 20, 20) and u.shape == (32, 5, 20, 4)
        assert np.mean(np.abs(W) ** 2) == pytest.approx(1 / 20, rel=0.04)
        assert abs(np.mean(W**2)) == pytest.approx(1 / 20 if ensemble == "real" else 0, abs=0.003)
        assert np.mean(np.abs(u) ** 2) == pytest.approx(1, rel=0.06)


def test_draws_hang_on_their_own_point_alone():
    run = Run("complex", "recurrent", 8, 1.0, 3)
    few, many = (list(signal_job.draws(run, samples, seed=5)) for samples in (40, 64))
    assert np.array_equal(few[0][0], many[0][0])
    assert len(few) == 2 and len(few[1][0]) == 8  # chunks of 32
    seeds = [
        tuple(Run(e, w, n, 1.0, d).seeds(0, chunk))
        for e in ("complex", "real")
        for w in ("recurrent", "feedforward")
        for n in (8, 9)
        for d in (3, 4)
        for chunk in (0, 1)
    ]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("framework", INSTALLED)
def test_kernels_are_plain_loops(framework):
    kernels, to_numpy = backends.signal(framework), layers(framework).to_numpy
    rng = np.random.default_rng(0)
    for ensemble in ("complex", "real"):
        W = signal_job.gaussian(rng, ensemble, (3, 4, 5, 5))
        X = signal_job.gaussian(rng, ensemble, (5, 2))
        u = signal_job.gaussian(rng, ensemble, (3, 4, 5, 2))
        for s in range(3):
            tied, untied, h = X, X, np.zeros((5, 2))
            for t in range(4):
                tied, untied, h = W[s, 0] @ tied, W[s, t] @ untied, W[s, 0] @ h + u[s, t]
            for found, expected in (
                (kernels.energies(W[:, :1], X, 4), tied),
                (kernels.energies(W, X, 4), untied),
                (kernels.driven_energies(W[:, 0], u), h),
            ):
                assert relative(to_numpy(found)[s], (np.abs(expected) ** 2).sum(0)) < 1e-5
        assert relative(to_numpy(kernels.energies(W, X, 0)), np.tile((np.abs(X) ** 2).sum(0), (3, 1))) < 1e-6


@pytest.mark.parametrize("framework", INSTALLED)
def test_simulations_agree_with_exact_energies(framework):
    """Within 3.5 standard errors at c <= 2, where the sample is large enough; a Frobenius norm is the sharper."""
    for depth in (3, 6, 10):
        run = Run("complex", "recurrent", 24, depth / 24**0.5, depth)
        points = {(p.quantity, p.columns): p for p in signal_job.network_points(framework, run, 480, seed=1)}
        single, averaged, driven = points["Q", 1], points["Q", 24], points["S", 4]
        assert averaged.relative_se < single.relative_se
        for p, exact in (
            (single, signal.log_q(24, depth)),
            (averaged, signal.log_q(24, depth)),
            (driven, signal.log_s(24, depth)),
        ):
            assert abs(math.expm1(exact[-1] - p.log_value)) < 3.5 * p.relative_se
        assert not averaged.undersampled
    deep = signal_job.network_points(framework, Run("complex", "recurrent", 24, 4.0, 20), 160, seed=1)
    assert all(p.undersampled for p in deep)


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("ensemble", ["complex", "real"])
def test_feedforward_energies_keep_their_mean_and_stray_as_predicted(framework, ensemble):
    run = Run(ensemble, "feedforward", 16, 0.5, 8)
    points = {p.quantity: p for p in signal_job.network_points(framework, run, 320, seed=2)}
    assert abs(math.expm1(points["Q"].log_value)) < 3.5 * points["Q"].relative_se
    exact = signal.feedforward_log_variance(16, 8, ensemble)
    assert abs(exact / math.exp(points["V"].log_value) - 1) < 3.5 * points["V"].relative_se
    assert exact == pytest.approx(8 / 16 * (1 if ensemble == "complex" else 2), rel=0.1)


@pytest.mark.skipif(len(INSTALLED) < 2, reason="needs both frameworks")
def test_frameworks_see_the_same_matrices():
    run = Run("real", "recurrent", 12, 1.0, 5)
    ours, theirs = (signal_job.network_points(framework, run, 40, seed=3) for framework in INSTALLED)
    for a, b in zip(ours, theirs, strict=True):
        assert a.log_value == pytest.approx(b.log_value, abs=1e-5)


def oracle_energies(spec, params, steps):
    """E||x_t||^2 by impulses through the oracle: the oldest input enters at the first step, the others later."""
    p = {name: value.astype(np.float64) for name, value in params.items()}
    advance, _, zero = SYSTEMS[spec.name](spec, p)
    first, later = [], []
    for i in range(spec.d_model):
        unit, nothing = np.eye(spec.d_model)[i], np.zeros(spec.d_model)
        for found, at_first in ((first, True), (later, False)):
            x, energies = advance(zero, unit, at_first), []
            for _ in range(max(steps)):
                energies.append((np.abs(x) ** 2).sum())
                x = advance(x, nothing, False)
            found.append(energies)
    first, later = np.sum(first, 0), np.sum(later, 0)
    return [later[: t - 1].sum() + first[t - 1] for t in steps]


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param("rotrnn", {"heads": 2}, marks=pytest.mark.full),
        ("rotrnn", {"heads": 2, "normalizer": "exact"}),
        ("lru", {}),
        ("s4d", {}),
        ("s5", {"blocks": 2}),
    ],
)
def test_energies_of_layers_are_those_of_the_oracle(framework, name, options):
    spec, steps = LAYERS[name](d_model=3, d_state=8, **options), [1, 2, 5, 17]
    params = spec.init(4)
    exact = signal_layers.exact_energies(signal_job.coefficient_arrays(framework, spec, params), steps)
    assert exact == pytest.approx(oracle_energies(spec, params, steps), rel=1e-4)
    u = np.random.default_rng(0).standard_normal((2000, 5, 3), np.float32)
    found = layers(framework).to_numpy(backends.signal(framework).state_energies(spec, params, u))
    assert found.shape == (2000, 5)
    assert found[:, [0, 1, 4]].mean(0) == pytest.approx(exact[:3], rel=0.15)
    if options.get("normalizer") == "exact":
        assert exact == pytest.approx([2.0] * 4, rel=1e-5)  # one a head


def test_geometric_sums_at_and_above_one():
    lam, B = np.array([1.0, 2.0, 0.0]), np.ones((3, 1))
    assert signal_layers.exact_energies((lam, B, None), [1, 3]) == pytest.approx([3.0, 3 + (1 + 4 + 16) + 1])


def test_matched_layers_hold_the_same_state():
    for spec in signal_layers.matched_specs(list(LAYERS), 16, 256):
        assert spec.real_state_size == 256
    with pytest.raises(UserError, match="multiple of 64"):
        signal_layers.matched_specs(["lru"], 16, 255)


def test_numbers_of_the_command_line():
    assert reals("depth-c", ["0:1:+0.25,3"]) == (0.0, 0.25, 0.5, 0.75, 1.0, 3.0)
    for word in ("x", "3:1", "1:2:0", "-1", "0:1e6", "1:2:3:4", "nan", ","):
        with pytest.raises(UserError, match="depth-c"):
            reals("depth-c", [word])
    for wrong in ({"samples": 1}, {"samples": -1}, {"simulated_widths": (5000,)}, {"widths": (0,)}):
        with pytest.raises(UserError, match="signal"):
            Settings(**({"widths": (10,), "depth_c": (1.0,)} | wrong))


def test_runs_leave_out_what_no_sample_shows():
    settings = Settings(widths=(9,), depth_c=(1.0, 4.0, 5.0), simulated_widths=(100,), samples=10)
    assert {r.depth for r in runs(settings) if r.wiring == "recurrent"} == {10, 40}
    assert Run("real", "recurrent", 1000, 1.0, 32).columns == 16
    assert Run("complex", "recurrent", 64, 1.0, 8).columns == 64  # the Frobenius norm


def small_points():
    settings = Settings(widths=(16, 32, 64, 10**5), depth_c=(0.5, 1.0, 3.0), depths=(20_000,))
    points, rng = exact_points(settings), np.random.default_rng(0)
    shared = {"n": 16, "c": 1.0, "ensemble": "complex", "seed": 0}
    for source, (quantity, columns, wiring, sigma) in itertools.product(
        ("torch", "jax"),
        [
            ("Q", 1, "recurrent", 0.1),
            ("Q", 16, "recurrent", 0.1),
            ("S", 4, "recurrent", 0.1),
            ("Q", 1, "feedforward", 2.0),
            ("V", 1, "feedforward", 2.0),
        ],
    ):
        found = signal_table.measured(estimate(rng.lognormal(0, sigma, 50)))
        points.append(Point("gaussian", source, quantity, depth=4, columns=columns, wiring=wiring, **shared, **found))
    return [*points, *(Point("lru", source, "E", 256, t, -0.5) for source in ("exact", "jax") for t in (1, 8, 1024))]


def test_points_survive_their_file(tmp_path):
    points = small_points()
    path = signal_table.write(tmp_path, points, {"seed": 0})
    assert path.parent == tmp_path / "signal"
    assert signal_table.read([tmp_path]) == points
    again = points[0]._replace(log_value=7.0)
    signal_table.write(tmp_path, [again], {"seed": 1})
    assert signal_table.read([tmp_path])[0] == again  # the latest wins
    (tmp_path / "signal" / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match=r"bad\.parquet"):
        signal_table.read([tmp_path])
    assert signal_table.read([tmp_path / "none"]) == []


def test_energies_as_text():
    assert energy(None) == MISSING
    assert energy(math.log(9.15)) == "9.15"
    assert energy(math.log(10) * 1000) == energy(math.log(10) * 999.9995) == "1.00e1000"
    assert energy(477.355) == "2.05e207"
    few = Point("gaussian", "jax", "Q", 4, 4, 0.0, relative_se=0.1, mean_skew=1.0)
    assert with_error(few) == f"1.00 {FEW}"
    assert with_error(few._replace(mean_skew=0.1)) == "1.00 +- 0.10"


def test_tables_say_what_is_there_and_fit():
    points = small_points()
    tables = signal_tables(points)
    titles = [table.title for table in tables]
    assert len(titles) == len(set(titles)) == 6
    for table in tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert natural_width(narrowed(table, 80)) <= 80, table.title
        assert "nan" not in to_terminal(table, 200)
    exact = exact_table([p for p in points if p.source == "exact" and p.subject == "gaussian"])
    row = next(row for row in exact.rows if row[:2] == ["100,000", "20,000"])
    with localcontext(prec=10):
        q = exact_q(10**5, 20_000)
        power = (Decimal(q.numerator) / q.denominator).adjusted()
    assert row[3] == "super-critical" and row[4].endswith(f"e{power}") and float(row[5]) == pytest.approx(1, abs=1e-3)
    assert signal_tables([]) == []
    assert [r.horizon for r in rescalings(points[:2], [7])] == [7]


def test_figures_are_drawn_without_a_browser():
    found = figures(small_points())
    assert len(found) == 4
    for title, chart in found:
        assert title and json.dumps(chart, allow_nan=False)
    assert rendered(found[0][1], "svg").startswith(b"<svg")
    assert figures([]) == []


def test_a_study_needs_no_framework_for_its_exact_part():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'jax', 'layers_torch', 'layers_jax']))\n"
        "from benchmark.studies.signal_run import study\n"
        "from benchmark.studies.signal_plan import Settings\n"
        "print(len(study(Settings(widths=(10, 100), depth_c=(1.0,)), [])))\n"
        "import benchmark.reports.signal, benchmark.reports.signal_charts\n"
        "import benchmark.commands.signal"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "4"


@pytest.mark.parametrize("framework", INSTALLED[:1])
def test_layers_have_their_exact_energies_without_samples(framework):
    settings = Settings(widths=(9,), depth_c=(1.0,), simulated_widths=(9,), layers=tuple(LAYERS), seq_len=5)
    payload = {"framework": framework, "settings": settings.as_json(), "exact": True}
    points = [Point(*values) for values in signal_job.simulate(payload, lambda **_: None)["points"]]
    assert {(p.subject, p.source, p.depth) for p in points} == set(itertools.product(LAYERS, ["exact"], [1, 2, 4, 5]))
    assert signal_tables(points)[-1].title.startswith("State energy of the layers")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"state": 7, "layer": ["rotrnn"]}, "no state of 7 real numbers"),
        ({"d_model": 0}, "d_model=0"),
        ({"seq_len": 0}, "length must be at least 1"),
        ({"framework": ["tf"]}, "unknown framework 'tf'"),
    ],
)
def test_options_are_checked_without_samples_too(tmp_path, options, words):
    with pytest.raises(UserError, match=words):
        command.signal(n=["9"], samples=0, out=tmp_path, **options)


def test_what_is_left_out_for_want_of_a_framework_is_said(monkeypatch, capsys):
    monkeypatch.setattr(backends, "installed", lambda: {})
    assert command.frameworks_for(["all"], samples=0) == []
    assert "state energies are left out" in capsys.readouterr().err
    with pytest.raises(UserError, match="no framework is installed"):
        command.frameworks_for(["all"], samples=2)


@pytest.mark.full
def test_a_whole_study_in_every_framework():
    told = []
    settings = Settings(
        widths=(8, 16, 32),
        depth_c=(0.5, 1.0, 2.0),
        simulated_widths=(8, 16, 32),
        samples=64,
        layers=tuple(LAYERS),
        seq_len=32,
    )
    points = study(settings, INSTALLED, lambda done, of: told.append(done / of))
    assert told[-1] == 1.0 and {p.source for p in points} == {"exact", *INSTALLED}
    exact = {(p.subject, p.depth): p.log_value for p in points if p.subject != "gaussian" and p.source == "exact"}
    for p in points:
        if p.subject != "gaussian" and p.source != "exact":
            assert abs(math.expm1(exact[p.subject, p.depth] - p.log_value)) < 5 * p.relative_se
    assert {t.wiring for t in thresholds(points, 0.1)} == {"recurrent", "feedforward"}
