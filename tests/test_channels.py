"""The compiled per-channel recurrence: values and derivatives against plain sums, at chunks' edges, in both twins."""

import numpy as np
import pytest
from frameworks import INSTALLED, layers, relative

from benchmark.spec import LAYERS, native

needs_torch = pytest.mark.skipif("torch" not in INSTALLED, reason="torch's derivatives")
needs_jax = pytest.mark.skipif("jax" not in INSTALLED, reason="jax's derivatives")

CHUNK = native.KEPT_STEPS
SIZES = [
    (1, 1, 1, 1),
    (2, 2, 3, 2),
    (2, CHUNK - 1, 17, 1),
    (1, CHUNK, 16, 3),
    (3, CHUNK + 1, 5, 4),
    (1, 3 * CHUNK, 2, 5),
]


def drawn(B, L, H, M, seed=0):
    """lam, w, u and the gradient of the outputs."""
    rng = np.random.default_rng(seed)
    lam = rng.uniform(0.8, 1.0, (H, M)) * np.exp(1j * rng.uniform(0, np.pi, (H, M)))
    w = rng.standard_normal((H, M)) + 1j * rng.standard_normal((H, M))
    return lam, w, rng.standard_normal((B, L, H)), rng.standard_normal((B, L, H))


def convolved(lam, w, u, reverse):
    """y_t = sum_s Re(sum_m w lam^(t-s)) u_s, by a matrix of lags."""
    L = u.shape[1]
    lag = np.subtract.outer(np.arange(L), np.arange(L))
    lag = lag.T if reverse else lag
    kernel = (w[..., None] * lam[..., None] ** np.arange(L)).sum(1).real
    table = np.where(lag >= 0, kernel[:, np.maximum(lag, 0)], 0)
    return np.einsum("hts,bsh->bth", table, u)


def run(framework, lam, w, u, reverse):
    if framework == "torch":
        import torch

        from layers_torch import channels

        return channels.run(*(torch.tensor(x) for x in (lam, w, u)), reverse).numpy()
    import jax

    from layers_jax import channels

    channels.choose(LAYERS["s4d"](d_model=1, d_state=2), "fused", "cpu", None)  # which hands the calls to XLA
    return np.asarray(channels.run(*(jax.numpy.asarray(x) for x in (lam, w, u)), reverse))


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_values(framework, sizes, reverse):
    lam, w, u, _ = drawn(*sizes)
    assert relative(run(framework, lam, w, u, reverse), convolved(lam, w, u, reverse)) < 1e-5
    if framework == "torch":
        assert run(framework, lam, w, u, reverse).dtype == np.float64
        assert relative(run(framework, lam, w, u, reverse), convolved(lam, w, u, reverse)) < 1e-13


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("length", "width"), [(1, 1), (CHUNK + 1, 17)])
def test_gradients_are_those_of_the_convolution(framework, length, width, bidirectional):
    spec = LAYERS["s4d"](d_model=width, d_state=6, bidirectional=bidirectional)
    rng = np.random.default_rng(0)
    u, w = (rng.standard_normal((3, length, width), dtype=np.float32) for _ in range(2))
    ours, theirs = (
        layers(framework).vjp(spec, spec.init(0), u, w, algorithm=algorithm) for algorithm in ("fused", "fft")
    )
    for name in spec.param_shapes:
        a, b = (np.asarray(found[1][name]) for found in (ours, theirs))
        np.testing.assert_allclose(a, b, rtol=0, atol=5e-5 * np.abs(b).max() + 1e-12, err_msg=name)
    assert relative(np.asarray(ours[2]), np.asarray(theirs[2])) < 1e-5


@needs_torch
@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_in_float64(reverse):
    import torch

    from layers_torch import channels

    for sizes in ((2, 5, 3, 3), (1, CHUNK + 2, 2, 1)):
        inputs = [torch.tensor(x, requires_grad=True) for x in drawn(*sizes)[:3]]
        assert torch.autograd.gradcheck(lambda *x: channels.run(*x, reverse), inputs)
    small = [torch.tensor(x, requires_grad=True) for x in drawn(1, 3, 2, 2)[:3]]
    assert torch.autograd.gradgradcheck(lambda *x: channels.run(*x, reverse), small)


@needs_jax
@pytest.mark.parametrize("reverse", [False, True])
def test_second_derivatives_in_jax(reverse):
    import jax

    from layers_jax import channels

    channels.choose(LAYERS["s4d"](d_model=1, d_state=2), "fused", "cpu", None)
    lam, w, u, g = (jax.numpy.asarray(x) for x in drawn(2, 7, 3, 2))

    def bent(run):
        def loss(u):
            return (g * run(channels.planes(lam), channels.planes(w), u, reverse) ** 2).sum()

        return np.asarray(jax.grad(lambda u: (jax.grad(loss)(u) ** 2).sum())(u))

    assert relative(bent(channels._channels), bent(channels._plain)) < 1e-4


@needs_torch
def test_threads_share_the_work_and_change_nothing():
    import torch

    lam, w, u, g = (torch.tensor(x, requires_grad=True) for x in drawn(5, 600, 33, 9))

    def gradients(threads):
        from layers_torch import channels

        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            return torch.autograd.grad(channels.run(lam, w, u, False), (lam, w, u), g)
        finally:
            torch.set_num_threads(before)

    for one, many in zip(gradients(1), gradients(3), strict=True):
        assert torch.equal(one, many)


@needs_torch
def test_nothing_is_kept_where_no_gradient_is_wanted(monkeypatch):
    import torch

    from layers_torch import channels

    seen = []
    call = channels._call
    monkeypatch.setattr(channels, "_call", lambda *words, **options: seen.append(words[6]) or call(*words, **options))
    lam, w, u, _ = (torch.tensor(x) for x in drawn(1, 4, 1, 1))
    channels.run(lam, w, u, False)
    with torch.no_grad():
        channels.run(lam.requires_grad_(), w, u, False)
    channels.run(lam, w, u, False)
    assert seen[0] is None
    assert seen[1] is None
    assert seen[2].shape == (1, 1, 2, 1, 1)
