"""Torch's automatic mixed precision: what it makes coarse in a layer, on the way there and on the way back."""

from contextlib import nullcontext

import numpy as np
import pytest
from frameworks import layers, relative

from benchmark.spec import LAYERS, reference
from benchmark.spec.algorithms import SCANS, algorithms_of

torch = pytest.importorskip("torch")


def bf16():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def small(layer):
    return LAYERS[layer](d_model=4, **next(iter(LAYERS[layer].examples.values())))


@pytest.mark.parametrize("layer", LAYERS)
def test_autocast_leaves_coefficients_and_recurrence_in_float32(layer):
    spec = LAYERS[layer](d_model=4, **next(iter(LAYERS[layer].examples.values())))
    u = torch.randn(2, 40, 4, requires_grad=True)
    expected = reference.apply(spec, spec.init(0), u.detach().numpy())
    for algorithm in algorithms_of(spec):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y, state = layers("torch").Layer(spec)(u, algorithm=algorithm, return_state=True)
            y_t, _ = layers("torch").step(spec, spec.init(0), u[:, 0])
        y.float().sum().backward()
        assert (y.dtype, y_t.dtype, state.dtype) == (torch.bfloat16, torch.bfloat16, torch.complex64)
        assert relative(y.detach().float(), expected) < 3e-2
        assert torch.isfinite(u.grad).all()


def layer_gradients(spec, algorithm, u, backward_in):
    """Of all parameters and the inputs, from outputs that autocast made and a backward pass in another context."""
    made, u = layers("torch").Layer(spec), u.clone().requires_grad_()
    with bf16():
        loss = (made(u, algorithm=algorithm).float() ** 2).sum()
    with backward_in():
        loss.backward()
    return {name: p.grad for name, p in made.named_parameters()} | {"u": u.grad}


@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_inside_autocast_are_those_outside(layer):
    spec, u = small(layer), torch.randn(2, 40, 4)
    for algorithm in algorithms_of(spec):
        inside, outside = (layer_gradients(spec, algorithm, u, context) for context in (bf16, nullcontext))
        for name, gradient in inside.items():
            assert gradient.dtype == torch.float32
            assert torch.equal(gradient, outside[name]), (algorithm, name)


@pytest.mark.parametrize("algorithm", SCANS)
def test_gradients_of_a_scan_inside_autocast(algorithm):
    lam, v = torch.rand(3, dtype=torch.complex64), torch.randn(2, 40, 3, dtype=torch.complex64)
    found = []
    for context in (bf16, nullcontext):
        leaves = [x.clone().requires_grad_() for x in (lam, v)]
        with context():
            layers("torch").scan(*leaves, algorithm=algorithm).abs().sum().backward()
        found.append([leaf.grad for leaf in leaves])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("layer", LAYERS)
def test_vjp_inside_autocast_is_that_of_coarse_inputs(layer):
    spec, u, w = small(layer), torch.randn(2, 40, 4), torch.randn(2, 40, 4)
    with bf16():
        inside = layers("torch").vjp(spec, spec.init(0), u, w)
    outside = layers("torch").vjp(spec, spec.init(0), u.bfloat16(), w)
    assert inside[0].dtype == inside[2].dtype == torch.bfloat16
    assert torch.equal(inside[0], outside[0]) and torch.equal(inside[2], outside[2])
    assert all(torch.equal(g, outside[1][name]) for name, g in inside[1].items())


@pytest.mark.parametrize("layer", LAYERS)
def test_second_derivatives_inside_autocast(layer):
    spec, found = small(layer), []
    for context in (bf16, nullcontext):
        made = layers("torch").Layer(spec)
        with bf16():
            y = made(torch.linspace(-1, 1, 24).reshape(1, 6, 4), algorithm="sequential").float()
        with context():
            (first,) = torch.autograd.grad((y**2).sum(), made.D, create_graph=True)
            (first**2).sum().backward()
        found.append(made.C.grad if layer == "rotrnn" else made.C_re.grad)
    assert found[0].abs().sum() > 0
    assert relative(found[0], found[1].numpy()) < 3e-2


def test_the_graph_is_kept_as_long_as_the_caller_asks():
    made = layers("torch").Layer(small("lru"))
    with bf16():
        loss = made(torch.ones(1, 5, 4), algorithm="sequential").float().sum()
    loss.backward(retain_graph=True)
    once = made.C_re.grad.clone()
    loss.backward()
    assert np.array_equal(made.C_re.grad, 2 * once)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()
