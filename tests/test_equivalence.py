"""LRU and RotRNN turned into each other, and what each has that the other has not."""

import dataclasses

import numpy as np
import pytest
from frameworks import INSTALLED, layers, precision, relative

from benchmark.spec import UserError, reference
from benchmark.spec.lru import LRU
from benchmark.spec.rotrnn import RotRNN
from benchmark.studies.bookkeeping import books, lru_book, rotrnn_book
from benchmark.studies.equivalence import (
    BOUND,
    lru_to_rotrnn,
    real_outputs,
    real_system,
    rotrnn_to_lru,
    without_mixing,
)

H, LENGTH = 3, 11


def drawn(spec, seed=0):
    """Parameters away from how they are drawn, float64."""
    rng = np.random.default_rng([seed, 9])
    return {k: v + 0.3 * rng.standard_normal(v.shape) for k, v in spec.init(seed).items()}


def inputs(seed=0):
    return np.random.default_rng(seed).standard_normal((2, LENGTH, H))


def lru(**options):
    return LRU(d_model=H, d_state=5, **options)


@pytest.mark.parametrize("normalizer", ["none", "stationary"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("gamma", ["learned", "recomputed", "none"])
def test_an_lru_is_a_rotrnn_with_one_plane_a_head(gamma, bidirectional, normalizer):
    spec = lru(gamma=gamma, bidirectional=bidirectional)
    params = drawn(spec)
    made = lru_to_rotrnn(spec, params, normalizer)
    assert made.spec.heads == 5 and made.spec.real_state_size == spec.real_state_size
    expected = reference.apply(spec, params, inputs())
    assert relative(reference.apply(made.spec, made.params, inputs()), expected) < BOUND


@pytest.mark.parametrize(
    "options",
    [
        {"heads": 1},
        {"heads": 2, "normalizer": "none"},
        {"heads": 4, "bidirectional": True},
        {"heads": 2, "mixing": "identity"},
    ],
)
def test_a_rotrnn_is_an_lru(options):
    spec = RotRNN(d_model=H, d_state=8, **options)
    params = drawn(spec)
    params["theta"][0, 0] = 0.0  # an angle whose logarithm there is not
    params["theta"][-1, -1] = -1.0
    made = rotrnn_to_lru(spec, params)
    assert made.spec.real_state_size == spec.real_state_size
    expected = reference.apply(spec, params, inputs())
    assert relative(reference.apply(made.spec, made.params, inputs()), expected) < BOUND


@pytest.mark.parametrize("framework", INSTALLED)
def test_the_twins_agree_with_both_directions(framework):
    spec, rot = lru(), RotRNN(d_model=H, d_state=8, heads=2)
    cases = [(spec, drawn(spec), lru_to_rotrnn(spec, drawn(spec), "stationary"))]
    cases.append((rot, drawn(rot), rotrnn_to_lru(rot, drawn(rot))))
    for before, params, made in cases:
        with precision(framework, "float64"):
            ours, theirs = (
                layers(framework).to_numpy(layers(framework).apply(s, p, inputs()))
                for s, p in ((made.spec, made.params), (before, params))
            )
        assert relative(ours, theirs) < BOUND


def test_there_and_back_the_eigenvalues_are_the_same():
    spec, params = lru(gamma="none"), drawn(lru(gamma="none"))
    there = lru_to_rotrnn(spec, params)
    back = rotrnn_to_lru(there.spec, there.params)
    assert set(back.params) == set(params)
    turned = np.mod(np.exp(params["theta_log"]), 2 * np.pi)
    assert np.allclose(np.exp(back.params["theta_log"]), turned, rtol=0, atol=1e-14)
    for name in set(params) - {"theta_log"}:
        assert np.array_equal(back.params[name], params[name]), name


def test_by_hand():
    """Lam = i / 2, B = C = 1: an impulse gives 1, Re(i/2) = 0, Re(-1/4)."""
    spec = LRU(d_model=1, d_state=1, gamma="none")
    one, zero = np.ones((1, 1)), np.zeros((1, 1))
    params = {
        "nu_log": np.log([np.log(2)]),
        "theta_log": np.log([np.pi / 2]),
        "B_re": one,
        "B_im": zero,
        "C_re": one,
        "C_im": zero,
        "D": np.zeros(1),
    }
    made = lru_to_rotrnn(spec, params)
    assert made.params["B"].tolist() == [[[1.0], [0.0]]] and made.params["C"].tolist() == [[1.0, 0.0]]
    impulse = np.array([1.0, 0, 0, 0, 0])[None, :, None]
    expected = [1, 0, -0.25, 0, 0.0625]
    for found in (
        reference.apply(made.spec, made.params, impulse),
        real_outputs(real_system(spec, params), impulse),
    ):
        assert np.allclose(found[0, :, 0], expected, atol=1e-15)


def test_what_no_lru_can_do_is_refused():
    spec = RotRNN(d_model=H, d_state=8, heads=2, normalizer="exact")
    with pytest.raises(UserError, match="no gain of its own at the first step"):
        rotrnn_to_lru(spec, drawn(spec))
    with pytest.raises(UserError, match="no gain of its own at the first step"):
        lru_to_rotrnn(lru(), drawn(lru()), "exact")


@pytest.mark.parametrize("normalizer", ["stationary", "exact", "none"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_p_adds_nothing_that_b_and_c_cannot_do(normalizer, bidirectional):
    spec = RotRNN(d_model=H, d_state=8, heads=2, normalizer=normalizer, bidirectional=bidirectional)
    params = drawn(spec)
    made = without_mixing(spec, params)
    assert made.spec == dataclasses.replace(spec, mixing="identity") and "M" not in made.params
    expected = reference.apply(spec, params, inputs())
    assert relative(reference.apply(made.spec, made.params, inputs()), expected) < BOUND
    assert without_mixing(*made).params.keys() == made.params.keys()


def test_the_real_form_has_each_eigenvalue_and_its_conjugate():
    spec, params = lru(), drawn(lru())
    system = real_system(spec, params)
    assert system.A.shape == (10, 10) and system.A.dtype == np.float64
    expected = reference.apply(spec, params, inputs())
    assert relative(real_outputs(system, inputs()), expected) < BOUND
    lam = np.exp(-np.exp(params["nu_log"]) + 1j * np.exp(params["theta_log"]))
    pairs = np.concatenate([lam, lam.conj()])
    found = np.linalg.eigvals(system.A)
    assert np.abs(np.sort_complex(found) - np.sort_complex(pairs)).max() < 1e-12


def responses(spec, params, d_model, length=12):
    """The answers to an impulse in each feature: all that a linear layer is."""
    u = np.zeros((d_model, length, d_model))
    u[np.arange(d_model), 0, np.arange(d_model)] = 1
    return reference.apply(spec, params, u).ravel()


def dimensions(spec, params, step=1e-5):
    """Rank of the derivative of what the layer computes by its parameters."""
    columns = []
    for name, value in params.items():
        for index in np.ndindex(value.shape):
            moved = [{**params, name: value.copy()} for _ in range(2)]
            moved[0][name][index] += step
            moved[1][name][index] -= step
            ends = [responses(spec, p, spec.d_model) for p in moved]
            columns.append((ends[0] - ends[1]) / (2 * step))
    values = np.linalg.svd(np.array(columns), compute_uv=False)
    return int((values > 1e-7 * values[0]).sum())


@pytest.mark.parametrize("gamma", ["learned", "none"])
def test_free_parameters_of_an_lru(gamma):
    spec = LRU(d_model=2, d_state=2, gamma=gamma, r_min=0.5, r_max=0.9)
    book = lru_book(2, 2)
    assert dimensions(spec, drawn(spec, 1)) == book.free == 4 * 2 * 2 + 2
    assert book.parameters == LRU(d_model=2, d_state=2).param_count


@pytest.mark.parametrize(("heads", "mixing"), [(2, "identity"), (1, "learned"), (1, "identity")])
@pytest.mark.parametrize("normalizer", ["stationary", "none"])
def test_free_parameters_of_a_rotrnn(heads, mixing, normalizer):
    options = {"heads": heads, "mixing": mixing, "normalizer": normalizer, "gamma_min": 0.5, "gamma_max": 0.9}
    spec = RotRNN(d_model=2, d_state=4, **options)
    book = rotrnn_book(2, 2, heads, mixing)
    assert dimensions(spec, drawn(spec, 1)) == book.free == 4 * 2 * 2 + 2 - (2 - heads)
    assert book.parameters == spec.param_count and book.redundant == spec.param_count - book.free


def test_the_books_say_that_an_lru_has_one_decay_more_a_shared_plane():
    ours, single, shared = books(8, 16, [4])
    assert ours.free == single.free and ours.real_state_size == shared.real_state_size == 32
    assert ours.free - shared.free == ours.decays - shared.decays == 12
