"""What every layer must do whatever its values: hypothesis draws them."""

import functools

import numpy as np
import pytest
from frameworks import INSTALLED, layers, precision, relative
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.spec import LAYERS, reference
from benchmark.spec.algorithms import SCANS, algorithms_of

H = 3
# jax compiles once for each shape and spec, so it sees few of them and many values
LENGTHS = {"torch": st.integers(1, 150), "jax": st.sampled_from([5])}
EXAMPLES = {"torch": 25, "jax": 6}


@st.composite
def specs(draw, framework, **more):
    layer = draw(st.sampled_from(list(LAYERS)))
    examples = list(LAYERS[layer].examples.values())[: 1 if framework == "jax" else None]
    return LAYERS[layer](d_model=H, **(draw(st.sampled_from(examples)) | {"bidirectional": False} | more))


def properties(test):
    """Run a property in each framework, with drawn data and a seed."""

    @pytest.mark.parametrize("framework", INSTALLED)
    @functools.wraps(test)
    def run(framework):
        @settings(max_examples=EXAMPLES[framework], deadline=None, derandomize=True, database=None)
        @given(data=st.data(), seed=st.integers(0, 2**32 - 1))
        def inner(data, seed):
            with precision(framework, "float64"):
                test(framework, data, np.random.default_rng(seed))

        inner()

    del run.__wrapped__
    return run


def draw_case(framework, data, rng, **more):
    spec = data.draw(specs(framework, **more))
    length = data.draw(LENGTHS[framework])
    params = {k: v.astype(np.float64) for k, v in spec.init(int(rng.integers(100))).items()}
    return spec, params, rng.standard_normal((2, length, H)), data.draw(st.sampled_from(algorithms_of(spec)))


def apply(framework, spec, params, u, **options):
    found = layers(framework).apply(spec, params, u, **options)
    if isinstance(found, tuple):
        return tuple(layers(framework).to_numpy(part) for part in found)
    return layers(framework).to_numpy(found)


@properties
def test_equals_the_oracle(framework, data, rng):
    spec, params, u, algorithm = draw_case(framework, data, rng, bidirectional=data.draw(st.booleans()))
    assert relative(apply(framework, spec, params, u, algorithm=algorithm), reference.apply(spec, params, u)) < 1e-10


@properties
def test_steps_equal_the_sequence(framework, data, rng):
    spec, params, u, algorithm = draw_case(framework, data, rng)
    expected, last = apply(framework, spec, params, u, algorithm=algorithm, return_state=True)
    state, found = None, []
    for t in range(u.shape[1]):
        out, state = layers(framework).step(spec, params, u[:, t], state)
        found.append(layers(framework).to_numpy(out))
    assert relative(np.stack(found, 1), expected) < 1e-10
    assert relative(layers(framework).to_numpy(state), last) < 1e-10


@properties
def test_a_sequence_splits_in_two_with_the_state_carried(framework, data, rng):
    spec, params, u, algorithm = draw_case(framework, data, rng)
    if u.shape[1] < 2:
        return
    cut = 2 if framework == "jax" else data.draw(st.integers(1, u.shape[1] - 1))
    whole, last = apply(framework, spec, params, u, algorithm=algorithm, return_state=True)
    first, middle = apply(framework, spec, params, u[:, :cut], algorithm=algorithm, return_state=True)
    second, end = apply(framework, spec, params, u[:, cut:], algorithm=algorithm, state=middle, return_state=True)
    assert relative(np.concatenate([first, second], 1), whole) < 1e-10
    assert relative(end, last) < 1e-9


@properties
def test_the_future_has_no_say(framework, data, rng):
    spec, params, u, algorithm = draw_case(framework, data, rng)
    t = int(rng.integers(u.shape[1]))
    changed = u.copy()
    changed[:, t + 1 :] += 5
    before, after = (apply(framework, spec, params, x, algorithm=algorithm)[:, : t + 1] for x in (u, changed))
    assert np.abs(before - after).max() < 1e-11 * max(1, np.abs(before).max())


@properties
def test_linear_in_the_inputs(framework, data, rng):
    spec, params, u, algorithm = draw_case(framework, data, rng, bidirectional=data.draw(st.booleans()))
    v, a = rng.standard_normal(u.shape), rng.standard_normal()
    run = functools.partial(apply, framework, spec, params, algorithm=algorithm)
    assert relative(run(a * u + v), a * run(u) + run(v)) < 1e-10


@properties
def test_padding_has_no_say(framework, data, rng):
    spec, params, u, algorithm = draw_case(framework, data, rng, bidirectional=data.draw(st.booleans()))
    ends = rng.integers(1, u.shape[1] + 1, 2)
    found = apply(framework, spec, params, u, algorithm=algorithm, lengths=ends)
    expected = reference.apply(spec, params, u, ends)
    for row, end in enumerate(ends):
        assert relative(found[row, :end], expected[row, :end]) < 1e-10


@properties
def test_the_state_is_that_at_each_sequences_end(framework, data, rng):
    spec, params, u, algorithm = draw_case(framework, data, rng)
    ends = rng.integers(1, u.shape[1] + 1, 2)
    shape = (2, *spec.state_shape)
    start = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    options = {"algorithm": algorithm, "return_state": True}
    _, found = apply(framework, spec, params, u, lengths=ends, state=start, **options)
    for row, end in enumerate(ends):
        state = start[row : row + 1]
        for t in range(end):
            _, state = layers(framework).step(spec, params, u[row : row + 1, t], state)
        assert relative(found[row], layers(framework).to_numpy(state)[0]) < 1e-9


@properties
def test_scans_agree_for_any_modulus(framework, data, rng):
    """Also above 1, and with a state, forwards and backwards."""
    length = data.draw(LENGTHS[framework])
    lam = rng.uniform(0, 1.2, 4) * np.exp(1j * rng.uniform(-np.pi, np.pi, 4))
    v, state = (rng.standard_normal((2, *n, 4)) + 1j * rng.standard_normal((2, *n, 4)) for n in ((length,), ()))
    reverse = data.draw(st.booleans())
    expected, x = np.empty_like(v), state
    for t in reversed(range(length)) if reverse else range(length):
        x = lam * x + v[:, t]
        expected[:, t] = x
    for algorithm in SCANS:
        found = layers(framework).to_numpy(layers(framework).scan(lam, v, state, reverse, algorithm))
        error = np.linalg.norm(found - expected, axis=(0, 2)) / np.linalg.norm(expected, axis=(0, 2))
        assert error.max() < 1e-9, algorithm  # at every step, so that large late states hide nothing


@properties
def test_rotations_keep_norms(framework, data, rng):
    """With |lam| = 1 and no inputs, the norm of a state never changes."""
    length = data.draw(LENGTHS[framework])
    lam = np.exp(1j * rng.uniform(-np.pi, np.pi, 4))
    state = rng.standard_normal((2, 4)) + 1j * rng.standard_normal((2, 4))
    for algorithm in SCANS:
        x = layers(framework).scan(lam, np.zeros((2, length, 4), complex), state, algorithm=algorithm)
        norms = np.linalg.norm(layers(framework).to_numpy(x), axis=-1)
        assert np.allclose(norms, np.linalg.norm(state, axis=-1)[:, None], rtol=1e-12)


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("normalizer", ["exact", "stationary"])
def test_the_normaliser_keeps_the_mean_square_norm(framework, normalizer):
    """For white inputs E||x_t||^2 of each head is 1 at every t if exact, and 1 - gamma^(2t) if stationary.

    The expectation is exact: it is the sum of squares of the responses to unit impulses.
    """
    spec = LAYERS["rotrnn"](d_model=4, d_state=12, heads=3, normalizer=normalizer)
    params = {k: v.astype(np.float64) for k, v in spec.init(2).items()}
    length = 7
    impulses = np.zeros((length * 4, length, 4))
    for row in range(length * 4):
        impulses[row, row // 4, row % 4] = 1
    with precision(framework, "float64"):
        for t in range(1, length + 1):
            _, state = apply(framework, spec, params, impulses[:, :t], return_state=True)
            found = (np.abs(state.reshape(len(state), 3, 2)) ** 2).sum((0, 2))
            gamma = np.exp(-np.exp(params["gamma_log"]))
            expected = np.ones(3) if normalizer == "exact" else 1 - gamma ** (2 * t)
            assert np.allclose(found, expected, rtol=1e-10)
            if framework == "jax" and t == 3:
                break


@pytest.mark.parametrize("framework", INSTALLED)
def test_growing_states_do_not_drown_early_ones(framework):
    """|lam| = 1.05 over 1,500 steps: the last states are 1e31 times the first."""
    lam, rng = np.array([1.05, 0.9]) * np.exp(0.3j), np.random.default_rng(0)
    v = rng.standard_normal((1, 1500, 2)) + 0j
    expected, x = np.empty_like(v), np.zeros((1, 2), complex)
    for t in range(v.shape[1]):
        x = lam * x + v[:, t]
        expected[:, t] = x
    with precision(framework, "float64"):
        for algorithm in SCANS:
            found = layers(framework).to_numpy(layers(framework).scan(lam, v, algorithm=algorithm))
            error = np.linalg.norm(found - expected, axis=(0, 2)) / np.linalg.norm(expected, axis=(0, 2))
            assert error.max() < 1e-10, algorithm


@pytest.mark.skipif("jax" not in INSTALLED, reason="torch draws its lengths above")
@pytest.mark.parametrize("length", [1, 63, 150, 300])
@pytest.mark.parametrize("layer", LAYERS)
def test_jax_at_lengths_of_several_chunks(layer, length):
    """With a state before the first step, against the oracle; the state after the last one by steps of the oracle."""
    spec = LAYERS[layer](d_model=H, **next(iter(LAYERS[layer].examples.values())))
    params = {k: v.astype(np.float64) for k, v in spec.init(1).items()}
    rng = np.random.default_rng(length)
    u, shape = rng.standard_normal((2, length, H)), (2, *spec.state_shape)
    state = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    expected = reference.apply(spec, params, u, state=state)
    after = reference.apply(spec, params, np.concatenate([u, u[:, :1]], 1), state=state)[:, -1]
    with precision("jax", "float64"):
        for algorithm in algorithms_of(spec):
            y, last = apply("jax", spec, params, u, algorithm=algorithm, state=state, return_state=True)
            assert relative(y, expected) < 1e-10, algorithm
            out, _ = layers("jax").step(spec, params, u[:, 0], last)
            assert relative(layers("jax").to_numpy(out), after) < 1e-9, algorithm
