"""Specs: what they refuse, and initial values as published."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmark.spec import LAYERS, LRU, S4D, S5, RotRNN, UserError, hippo
from benchmark.spec.model import ModelSpec

REFUSED = [
    ("rotrnn", {"d_state": 100}, "divisible by heads.*try heads="),
    ("rotrnn", {"d_state": 96}, "must be even, got 96/32 = 3; try heads="),
    ("rotrnn", {"gamma_min": 0.0}, "gamma_min"),
    ("rotrnn", {"gamma_max": 1.0}, "gamma_max"),
    ("rotrnn", {"normalizer": "off"}, "known: stationary, exact, none"),
    ("rotrnn", {"max_phase": -1.0}, "max_phase must be positive"),
    ("lru", {"d_state": -1}, r"positive integer up to [\d,]+, got -1"),
    ("lru", {"d_model": 0}, r"positive integer up to [\d,]+, got 0"),
    ("lru", {"d_state": 2.5}, r"positive integer up to [\d,]+, got 2.5"),
    ("lru", {"d_state": True}, r"positive integer up to [\d,]+, got True"),
    ("lru", {"r_min": 0.9, "r_max": 0.5}, "r_min < r_max"),
    ("lru", {"r_max": float("nan")}, "finite number"),
    ("lru", {"bidirectional": "yes"}, "true or false"),
    ("s4d", {"d_state": 7}, "must be even, got 7"),
    ("s4d", {"A_init": "hippo"}, "known: lin, inv, legs, real"),
    ("s4d", {"dt_min": 1.0}, "dt_min < dt_max"),
    ("s5", {"blocks": 3}, "divisible by blocks"),
    ("s5", {"d_state": 6, "blocks": 2}, "must be even"),
    ("s5", {"step_rescale": 0.0}, "step_rescale must be positive"),
]


@pytest.mark.parametrize(("layer", "options", "message"), REFUSED)
def test_refused(layer, options, message):
    with pytest.raises(UserError, match=message) as caught:
        LAYERS[layer](**({"d_model": 8, "d_state": 64} | options))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("layer", LAYERS)
def test_specs_are_frozen_hashable_and_equal_by_value(layer):
    one, other = (LAYERS[layer](d_model=8, d_state=64) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    with pytest.raises(AttributeError):
        one.d_model = 9


@pytest.mark.parametrize("layer", LAYERS)
def test_initial_values_are_float32_finite_and_repeatable(layer):
    spec = LAYERS[layer](d_model=8, d_state=64)
    one, again, other = spec.init(5), spec.init(5), spec.init(6)
    for name, value in one.items():
        assert value.dtype == np.float32
        assert np.isfinite(value).all(), name
        assert np.array_equal(value, again[name])
    assert any(not np.array_equal(one[name], other[name]) for name in one)


def test_initial_values_agree_on_every_machine():
    """The first entries and the norm of each array as they were when this was written."""
    recorded = json.loads((Path(__file__).parent / "data" / "initial_values.json").read_text())
    for label, entry in recorded.items():
        drawn = LAYERS[entry["layer"]](**entry["fields"]).init(0)
        for name, (first, norm) in entry["arrays"].items():
            assert drawn[name].ravel()[0] == pytest.approx(first, rel=1e-5, abs=1e-6), f"{label} {name}"
            assert np.linalg.norm(drawn[name]) == pytest.approx(norm, rel=1e-5), f"{label} {name}"


def test_lru_ring():
    p = LRU(d_model=4, d_state=4000, r_min=0.5, r_max=0.9).init(0)
    r = np.exp(-np.exp(p["nu_log"].astype(float)))
    assert r.min() >= 0.5 and r.max() <= 0.9
    assert np.mean(r**2) == pytest.approx((0.5**2 + 0.9**2) / 2, abs=0.01)  # r^2 is uniform
    assert np.allclose(np.exp(p["gamma_log"]), np.sqrt(1 - r**2), rtol=1e-4)
    assert np.std(p["B_re"]) == pytest.approx(1 / np.sqrt(2 * 4), rel=0.03)
    assert np.std(p["C_im"]) == pytest.approx(1 / np.sqrt(4000), rel=0.03)


def test_rotrnn_decays():
    common = {"d_model": 8, "d_state": 4000, "heads": 2000}
    loglog = RotRNN(**common).init(0)["gamma_log"]
    low, high = np.log(-np.log(0.999)), np.log(-np.log(0.9))
    assert low <= loglog.min() and loglog.max() <= high
    assert np.mean(loglog) == pytest.approx((low + high) / 2, abs=0.1)
    ring = np.exp(-np.exp(RotRNN(**common, gamma_init="ring").init(0)["gamma_log"].astype(float)))
    assert np.mean(ring**2) == pytest.approx((0.9**2 + 0.999**2) / 2, abs=0.005)
    p = RotRNN(**common).init(0)
    assert np.std(p["B"]) == pytest.approx(1 / np.sqrt(8 + 4000), rel=0.05)
    assert p["theta"].min() >= 0 and p["theta"].max() <= 2 * np.pi


def test_s4d_modes():
    N, n = 64, np.arange(32)
    lin = S4D(d_model=2, d_state=N).init(0)
    assert np.allclose(lin["A_imag"], np.pi * n)
    assert np.allclose(np.exp(lin["log_A_real"]), 0.5)
    assert np.allclose(S4D(d_model=2, d_state=N, A_init="inv").init(0)["A_imag"], N / np.pi * (N / (2 * n + 1) - 1))
    real = S4D(d_model=2, d_state=N, A_init="real").init(0)
    assert np.allclose(np.exp(real["log_A_real"]), n + 1)
    assert not real["A_imag"].any()
    legs = S4D(d_model=2, d_state=N, A_init="legs").init(0)
    assert (legs["A_imag"] > 0).all()
    C = S4D(d_model=400, d_state=N).init(0)
    assert np.mean(C["C_re"] ** 2 + C["C_im"] ** 2) == pytest.approx(1, rel=0.03)


@pytest.mark.parametrize(
    ("C_init", "std"),
    [
        ("lecun_normal", 1 / np.sqrt(64 * 128)),
        ("trunc_standard_normal", 1 / np.sqrt(128)),
        ("complex_normal", np.sqrt(0.5)),
    ],
)
def test_s5_fan_ins(C_init, std):
    """Of one complex entry; V is unitary, but only half of its columns are kept, so the scale stays."""
    p = S5(d_model=64, d_state=128, C_init=C_init, blocks=4).init(0)
    spread = np.sqrt(np.mean(p["C_re"] ** 2 + p["C_im"] ** 2))
    assert spread == pytest.approx(np.sqrt(2) * std, rel=0.05)
    assert np.sqrt(np.mean(p["B_re"] ** 2 + p["B_im"] ** 2)) == pytest.approx(1 / np.sqrt(128), rel=0.05)


def test_s5_keeps_the_negative_half_of_each_block():
    p = S5(d_model=4, d_state=32, blocks=2).init(0)
    assert (p["Lambda_im"] < 0).all()
    assert np.array_equal(p["Lambda_im"][:8], p["Lambda_im"][8:])
    assert np.allclose(p["Lambda_re"], -0.5)


@pytest.mark.parametrize("size", [1, 2, 16, 129, 384])
def test_hippo_eigenvectors(size):
    values, V = hippo.normal_eigensystem(size)
    n = np.arange(size)
    r = np.sqrt(2 * n + 1.0)
    legs = -(np.tril(np.outer(r, r)) - np.diag(n))
    p = np.sqrt(n + 0.5)
    normal = legs + np.outer(p, p)
    assert np.allclose(V @ np.diag(values) @ V.conj().T, normal, atol=1e-9 * size**2)
    overlap = V.conj().T @ p
    assert np.allclose(overlap.imag, 0, atol=1e-10) and (overlap.real > 1e-3).all()


PUBLISHED = [  # facts: parameters of the S5 code's models, with RotRNN and LRU in the place of S5
    # layer, d_model, d_state, options, depth, inputs, outputs, head, expected
    ("s5", 128, 16, {"blocks": 8}, 8, 20, 10, "classifier", 188_490),
    ("s5", 96, 128, {"blocks": 16}, 6, 1, 35, "classifier", 283_523),
    ("s5", 512, 384, {"blocks": 3}, 6, 1, 10, "classifier", 5_133_706),
    ("s5", 192, 256, {"blocks": 8}, 6, 1, 2, "classifier", 1_113_602),
    ("s5", 128, 256, {"blocks": 16}, 6, 1, 2, "classifier", 694_018),
    ("rotrnn", 128, 128, {}, 8, 20, 10, "classifier", 537_226),
    ("rotrnn", 96, 128, {}, 6, 1, 35, "classifier", 286_019),
    ("lru", 128, 64, {"gamma": "recomputed"}, 8, 20, 10, "classifier", 533_386),
    ("lru", 96, 64, {"gamma": "recomputed"}, 6, 1, 35, "classifier", 283_139),
]


@pytest.mark.parametrize(("layer", "H", "N", "options", "depth", "inputs", "outputs", "head", "expected"), PUBLISHED)
def test_published_parameter_counts(layer, H, N, options, depth, inputs, outputs, head, expected):
    spec = LAYERS[layer](d_model=H, d_state=N, bidirectional=True, **options)
    encoder = "tokens" if inputs > 1 else "linear"
    model = ModelSpec(layer=spec, depth=depth, inputs=inputs, outputs=outputs, encoder=encoder, head=head)
    assert model.param_count == expected


def test_models_draw_what_they_promise():
    model = ModelSpec(
        layer=LRU(d_model=6, d_state=4), depth=2, inputs=3, outputs=5, activation="full_glu", head="retrieval"
    )
    params, stats = model.init(0)
    assert {k: v.shape for k, v in params.items()} == model.param_shapes
    assert list(params) == list(model.param_shapes)
    assert {k: v.shape for k, v in stats.items()} == model.stat_shapes
    assert not np.array_equal(params["block0/layer/B_re"], params["block1/layer/B_re"])
