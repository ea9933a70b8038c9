"""Every algorithm in both frameworks gives what the published implementations give."""

import numpy as np
import pytest
from frameworks import INSTALLED, layers, precision, relative
from golden_cases import FOLDER, OPTIONS, load

from benchmark.spec import reference
from benchmark.spec.algorithms import algorithms_of

TOLERANCE = {"float64": 1e-10, "float32": 1e-5}


def test_every_file_has_a_case():
    assert sorted(path.stem for path in FOLDER.glob("*.npz")) == sorted(OPTIONS)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_oracle(name):
    spec, params, u, y = load(name)
    assert relative(reference.apply(spec, params, u), y) < 1e-13


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("name", OPTIONS)
def test_every_algorithm(name, framework, dtype):
    spec, params, u, y = load(name)
    cast = {key: value.astype(dtype) for key, value in params.items()}
    with precision(framework, dtype):
        for algorithm in ("auto", *algorithms_of(spec)):
            found = layers(framework).to_numpy(
                layers(framework).apply(spec, cast, u.astype(dtype), algorithm=algorithm)
            )
            assert found.dtype == dtype
            assert relative(found, y) < TOLERANCE[dtype], algorithm


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("name", [name for name in OPTIONS if "bidirectional" not in name])
def test_step_by_step(name, framework):
    spec, params, u, y = load(name)
    with precision(framework, "float64"):
        state, outputs = None, []
        for t in range(8):
            out, state = layers(framework).step(spec, params, u[:, t], state)
            outputs.append(layers(framework).to_numpy(out))
    assert relative(np.stack(outputs, 1), y[:, :8]) < 1e-10
