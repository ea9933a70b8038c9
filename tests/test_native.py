"""The compiled recurrence: pieces and kept states, derivatives, what happens without a compiler."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from frameworks import INSTALLED, layers, relative

from benchmark.spec import LAYERS, Unsupported, native

ROOT = Path(__file__).parent.parent
needs_torch = pytest.mark.skipif("torch" not in INSTALLED, reason="torch's pieces")


def half_inputs(batch=3, length=7, H=2, N=3):
    import torch

    rng = np.random.default_rng(0)
    shapes = [(batch, length, H), (H, 2 * N), (2 * N, H), (H,), (2 * N,), (batch, 2 * N)]
    return [torch.tensor(rng.standard_normal(shape) * 0.5, requires_grad=True) for shape in shapes]


@needs_torch
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("piece", "kept"), [(1024, 1 << 20), (16, 1 << 20), (3, 1 << 20), (3, 0), (16, 0)])
def test_derivatives_of_a_half_in_pieces(monkeypatch, piece, kept, reverse):
    import torch

    from layers_torch import native as ours

    monkeypatch.setattr(ours, "PIECE", piece)
    monkeypatch.setattr(ours, "KEPT_BYTES", kept)
    assert torch.autograd.gradcheck(lambda *inputs: ours.half(*inputs, reverse), half_inputs())


@needs_torch
def test_second_derivatives_of_a_half():
    import torch

    from layers_torch import native as ours

    assert torch.autograd.gradgradcheck(lambda *inputs: ours.half(*inputs, False), half_inputs(2, 3, 1, 1))


@needs_torch
def test_pieces_cover_a_batch_once(monkeypatch):
    from layers_torch import native as ours

    monkeypatch.setattr(ours, "PIECE", 16)
    for batch, length in ((1, 1), (7, 5), (2, 16), (3, 17), (2, 100)):
        for reverse in (False, True):
            seen = np.zeros((batch, length), int)
            for piece in ours.pieces(batch, length, reverse):
                seen[piece.rows, piece.steps] += 1
            assert (seen == 1).all()


@needs_torch
def test_transforms_get_what_they_can_trace():
    import torch

    from layers_torch import resolve_algorithm

    spec = LAYERS["lru"](d_model=2, d_state=2)
    seen = []

    def loss(u):
        seen.append(resolve_algorithm(spec, "auto", "cpu"))
        return layers("torch").apply(spec, spec.init(0), u).sum()

    u = torch.ones(1, 3, 2)
    loss(u)
    torch.func.grad(loss)(u)
    assert seen == ["fused", "chunked"]
    with pytest.raises(Unsupported, match="cannot be traced or transformed; take chunked"):
        torch.func.grad(lambda x: layers("torch").apply(spec, spec.init(0), x, algorithm="fused").sum())(u)


@pytest.mark.skipif("jax" not in INSTALLED, reason="jax's second derivatives")
def test_jax_differentiates_twice():
    import jax

    spec = LAYERS["lru"](d_model=2, d_state=2)
    params = spec.init(0)
    u = np.random.default_rng(0).standard_normal((1, 4, 2)).astype(np.float32)

    def twice(algorithm):
        def steepness(lam):
            y = jax.grad(
                lambda x: (layers("jax").apply(spec, params | {"nu_log": lam}, x, algorithm=algorithm) ** 2).sum()
            )
            return (y(u) ** 2).sum()

        return np.asarray(jax.grad(steepness)(params["nu_log"]))

    assert relative(twice("fused"), twice("sequential")) < 1e-4


@pytest.mark.parametrize("framework", INSTALLED)
def test_no_compiler_no_matter(framework):
    code = (
        "from benchmark.spec import LAYERS\n"
        f"import layers_{framework} as layers\n"
        "spec = LAYERS['lru'](d_model=2, d_state=2)\n"
        "print(layers.resolve_algorithm(spec, 'auto', 'cpu'))\n"
        "layers.resolve_algorithm(spec, 'fused', 'cpu')\n"
    )
    env = {**os.environ, "ROTBENCH_NATIVE": "0"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout.strip() == {"torch": "chunked", "jax": "sequential"}[framework]
    assert "algorithm fused is not here: switched off by ROTBENCH_NATIVE=0" in done.stderr


def test_compilers_that_fail_are_quoted(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    broken = tmp_path / "broken.cpp"
    broken.write_text("no C++\n")
    built = native.build.__wrapped__(broken)
    assert built.path is None
    assert "fails" in built.reason
    assert not list((tmp_path / "rotbench" / "native").iterdir())
    monkeypatch.setenv("PATH", "")
    assert native.build.__wrapped__(broken).reason.startswith("no C++ compiler here")


def test_what_is_built_is_kept_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    small = tmp_path / "small.cpp"
    small.write_text('extern "C" int one() { return 1; }\n')
    first, second = native.build.__wrapped__(small), native.build.__wrapped__(small)
    assert (first.reason, second.reason) == ("built now", "built earlier")
    assert first.path == second.path
    small.write_text('extern "C" int one() { return 2; }\n')
    assert native.build.__wrapped__(small).path != first.path


@pytest.mark.parametrize("framework", INSTALLED)
def test_states_that_die_away_cost_no_more(framework):
    """Below the normal range numbers are zero: otherwise each would cost a hundred times as much."""
    lam, v = np.array([0.5 + 0j], np.complex64), np.zeros((1, 400, 1), np.complex64)
    v[0, 0] = 1
    x = np.asarray(layers(framework).to_numpy(layers(framework).scan(lam, v, algorithm="fused")))
    assert x[0, 100, 0] == 0.5**100
    assert (x[0, 140:] == 0).all()
