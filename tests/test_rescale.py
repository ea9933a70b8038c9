"""Other distances between steps: a layer whose step is rescaled does to inputs what it did to inputs that are held."""

import numpy as np
import pytest

from benchmark.spec import LAYERS, reference
from benchmark.spec.model import ModelSpec, subset

EXACT = [
    ("lru", {}),
    ("lru", {"gamma": "recomputed", "r_max": 0.9}),
    ("lru", {"gamma": "none", "r_max": 0.9}),
    ("rotrnn", {"heads": 2}),
    ("rotrnn", {"heads": 2, "mixing": "identity"}),
    ("rotrnn", {"heads": 4, "normalizer": "none"}),
    ("s4d", {}),
    ("s5", {}),
]
NORMALISED_AT_ONCE = ("rotrnn", {"heads": 2, "normalizer": "exact", "gamma_max": 0.95})


def made(name, options):
    """A layer, its parameters in float64, and inputs of 40 steps."""
    spec = LAYERS[name](d_model=3, d_state=8, **options)
    params = {key: value.astype(np.float64) for key, value in spec.init(0).items()}
    return spec, params, np.random.default_rng(1).standard_normal((2, 40, 3))


def difference(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize(("name", "options"), EXACT)
@pytest.mark.parametrize("factor", [2, 3])
def test_every_second_sample_stands_for_two(name, options, factor):
    """At the last step for which an input is held, both have the same output."""
    spec, params, u = made(name, options)
    held = reference.apply(spec, params, np.repeat(u, factor, axis=1))[:, factor - 1 :: factor]
    assert difference(reference.apply(spec, spec.rescale_step(params, factor), u), held) < 1e-9


@pytest.mark.parametrize(("name", "options"), EXACT)
def test_of_two_halves_each_reads_its_own_end_of_what_is_held(name, options):
    """The backward half has seen an input that is held at the first of its steps."""
    if name == "s4d":
        pytest.skip("its backward half starts at the next step, whatever the distance")
    spec, params, u = made(name, options | {"bidirectional": True})
    forward, backward = ({**params, C: 0 * params[C]} for C in ("D", "D"))
    for C in [key for key in params if key.startswith("C2")]:
        forward[C] = 0 * params[C]
        backward[C.replace("C2", "C")] = 0 * params[C]
    fine = np.repeat(u, 2, axis=1)
    expected = reference.apply(spec, forward, fine)[:, 1::2] + reference.apply(spec, backward, fine)[:, ::2]
    rescaled = spec.rescale_step({**params, "D": 0 * params["D"]}, 2)
    assert difference(reference.apply(spec, rescaled, u), expected) < 1e-9


@pytest.mark.parametrize(("name", "options"), EXACT)
def test_fractions_are_steps_too(name, options):
    """Three halves and then two are three; a half undoes two; one is nothing."""
    spec, params, u = made(name, options)

    def outputs(*factors):
        found = params
        for factor in factors:
            found = spec.rescale_step(found, factor)
        return reference.apply(spec, found, u)

    assert difference(outputs(1.5, 2), outputs(3)) < 1e-9
    assert difference(outputs(2, 0.5), outputs()) < 1e-9
    assert difference(outputs(1), outputs()) < 1e-12


@pytest.mark.parametrize(("name", "options"), [*EXACT, NORMALISED_AT_ONCE])
def test_constant_inputs_end_at_the_same_outputs(name, options):
    if options.get("r_max") is None and name == "lru":
        options = {**options, "r_max": 0.95}
    spec, params, _ = made(name, options | ({"dt_min": 0.1, "dt_max": 0.5} if name in {"s4d", "s5"} else {}))
    u = np.ones((1, 600, 3))
    ends = [reference.apply(spec, spec.rescale_step(params, f), u)[0, -1] for f in (1, 2, 2.5)]
    assert difference(ends[1], ends[0]) < 1e-4 and difference(ends[2], ends[0]) < 1e-4


def test_the_gain_of_a_first_input_fades():
    """The exact normaliser scales one step, held or not: what differs by that is gone with gamma^t."""
    spec, params, u = made(*NORMALISED_AT_ONCE)
    u = np.concatenate([u] * 5, axis=1)
    held = reference.apply(spec, params, np.repeat(u, 2, axis=1))[:, 1::2]
    found = reference.apply(spec, spec.rescale_step(params, 2), u)
    wrong = np.abs(found - held).max((0, 2))
    assert wrong[0] > 1e-3 and wrong[-1] < 1e-6 * wrong[0]


@pytest.mark.parametrize("name", LAYERS)
def test_a_model_rescales_its_layers_alone(name):
    spec = LAYERS[name](d_model=4, d_state=8, **({"heads": 2} if name == "rotrnn" else {}))
    params, _ = ModelSpec(layer=spec, depth=2, inputs=1, outputs=2).init(0)
    model = ModelSpec(layer=spec, depth=2, inputs=1, outputs=2)
    found = model.rescale_step(params, 2.0)
    assert found.keys() == params.keys() and all(np.shape(found[key]) == np.shape(params[key]) for key in params)
    for key in params:
        assert "/layer/" in key or found[key] is params[key]
    own = spec.rescale_step(subset(params, "block1/layer/"), 2.0)
    assert all(np.array_equal(found[f"block1/layer/{key}"], value) for key, value in own.items())
