"""The public interface of the twins: what it takes, gives and refuses."""

from importlib import import_module

import numpy as np
import pytest
from frameworks import INSTALLED, layers, precision, relative

from benchmark.spec import LAYERS, Unsupported, UserError, reference
from benchmark.spec.algorithms import SCANS, algorithms_of

frameworks = pytest.mark.parametrize("framework", INSTALLED)
SPEC = LAYERS["lru"](d_model=3, d_state=4)
U = np.ones((2, 5, 3), np.float32)


@frameworks
def test_float64_in_float64_out(framework):
    with precision(framework, "float64"):
        params = SPEC.init(0)
        assert layers(framework).to_numpy(layers(framework).apply(SPEC, params, U)).dtype == np.float32
        wide = layers(framework).apply(SPEC, params, U.astype(np.float64))
        assert layers(framework).to_numpy(wide).dtype == np.float64


@pytest.mark.skipif("jax" not in INSTALLED, reason="jax alone has the flag")
def test_jax_refuses_float64_without_its_flag():
    with pytest.raises(UserError, match="JAX_ENABLE_X64=1"):
        layers("jax").apply(SPEC, SPEC.init(0), U.astype(np.float64))


@frameworks
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"u": U[..., :2]}, "d_model = 3"),
        ({"u": U[:, :0]}, "length >= 1"),
        ({"u": U[0]}, "d_model = 3"),
        ({"algorithm": "quick"}, "unknown algorithm 'quick'; known: auto, sequential"),
        ({"state": np.zeros((2, 5), complex)}, r"state must have shape \(2, 4\), got \(2, 5\)"),
        ({"lengths": [0, 5]}, "integers from 1 to 5"),
        ({"lengths": [6, 5]}, "integers from 1 to 5"),
        ({"lengths": [5]}, "2 integers"),
        ({"lengths": 5}, "2 integers"),
        ({"lengths": [1.5, 2]}, "2 integers"),
        ({"lengths": [True, True]}, "2 integers"),
        ({"lengths": np.array([0, 9])}, "integers from 1 to 5"),
        ({"u": U + 0j}, "inputs must be real"),
        ({"params": {"nu_log": np.zeros(4)}}, "theta_log is missing"),
    ],
)
def test_refused(framework, change, message):
    arguments = {"params": SPEC.init(0), "u": U} | change
    with precision(framework, "float64"), pytest.raises(UserError, match=message):
        layers(framework).apply(SPEC, **arguments)


@frameworks
def test_lengths_of_the_framework_are_looked_at_too(framework):
    lengths = import_module(f"layers_{framework}.array").asarray(np.array([0, 9], np.int32))
    with pytest.raises(UserError, match="integers from 1 to 5"):
        layers(framework).apply(SPEC, SPEC.init(0), U, lengths=lengths)


@frameworks
def test_other_calls_refuse_in_their_own_words(framework):
    module, params = layers(framework), SPEC.init(0)
    with pytest.raises(UserError, match="w must have the shape of the inputs"):
        module.vjp(SPEC, params, U, U[:, :2])
    with pytest.raises(UserError, match=r"inputs of a step must be \(batch, d_model = 3\), got \(2, 5, 3\)"):
        module.step(SPEC, params, U)


@frameworks
def test_a_bidirectional_layer_has_no_state(framework):
    spec = LAYERS["lru"](d_model=3, d_state=4, bidirectional=True)
    with pytest.raises(UserError, match="no carried state"):
        layers(framework).apply(spec, spec.init(0), U, return_state=True)
    with pytest.raises(UserError, match="no carried state"):
        layers(framework).step(spec, spec.init(0), U[:, 0])


@frameworks
def test_vandermonde_is_for_s4d_alone(framework):
    with pytest.raises(Unsupported, match="which is S4D's"):
        layers(framework).apply(SPEC, SPEC.init(0), U, algorithm="vandermonde")


@frameworks
def test_scan_refuses_shapes_that_do_not_fit(framework):
    with precision(framework, "float64"), pytest.raises(UserError, match="must fit"):
        layers(framework).scan(np.ones(3, complex), np.ones((2, 5, 4), complex))


@frameworks
@pytest.mark.parametrize("layer", LAYERS)
def test_an_empty_batch_gives_empty_outputs(framework, layer):
    """Compiled code too must not divide work among nobody."""
    spec = LAYERS[layer](d_model=3, **next(iter(LAYERS[layer].examples.values())))
    module, empty = layers(framework), U[:0]
    array = import_module(f"layers_{framework}.array")
    for algorithm, dtype in zip(algorithms_of(spec), ("float32", "bfloat16") * 9, strict=False):
        u = array.asarray(empty, dtype=array.dtype_of(dtype))
        y, state = module.apply(spec, spec.init(0), u, algorithm=algorithm, return_state=True)
        assert (y.shape, y.dtype) == ((0, 5, 3), array.dtype_of(dtype)), algorithm
        assert (state.shape, "complex64" in str(state.dtype)) == ((0, *spec.state_shape), True)
        y_t, _ = module.step(spec, spec.init(0), u[:, 0], state)
        assert (y_t.shape, y_t.dtype) == ((0, 3), u.dtype)
    y, gradients, du = module.vjp(spec, spec.init(0), empty, empty)
    assert y.shape == du.shape == (0, 5, 3)
    assert all((array.to_numpy(g) == 0).all() for g in gradients.values())


@frameworks
@pytest.mark.parametrize("algorithm", SCANS)
def test_scans_of_nothing_are_nothing(framework, algorithm):
    scan, to_numpy = layers(framework).scan, layers(framework).to_numpy
    for batch, states in ((0, 3), (2, 0)):
        v = np.ones((batch, 4, states), np.complex64)
        x = to_numpy(scan(np.ones(states, np.complex64), v, algorithm=algorithm))
        assert (x.shape, x.dtype) == (v.shape, v.dtype)
        assert (scan_gradient(framework, np.ones(states, np.complex64), v, algorithm) == 0).all()


def scan_gradient(framework, lam, v, algorithm):
    """Of the sum of all states' real parts with respect to lam's."""
    scan = layers(framework).scan
    if framework == "torch":
        import torch

        lam = torch.tensor(lam, requires_grad=True)
        scan(lam, v, algorithm=algorithm).real.sum().backward()
        return lam.grad.real.numpy()
    import jax

    return np.asarray(jax.grad(lambda re: scan(re + 0j, v, algorithm=algorithm).real.sum())(lam.real))


@frameworks
@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_do_not_hang_on_the_algorithm(framework, layer):
    """Also with respect to the state, which ``vjp`` does not give."""
    spec = LAYERS[layer](d_model=3, d_state=4, **({"heads": 2} if layer == "rotrnn" else {}))
    params = {k: v.astype(np.float64) for k, v in spec.init(1).items()}
    rng = np.random.default_rng(0)
    u = rng.standard_normal((2, 6, 3))
    state = rng.standard_normal((2, *spec.state_shape)) + 1j * rng.standard_normal((2, *spec.state_shape))
    with precision(framework, "float64"):
        found = {a: state_gradient(framework, spec, params, u, state, a) for a in algorithms_of(spec)}
    for algorithm, gradient in found.items():
        assert relative(gradient, found["sequential"]) < 1e-10, algorithm


def state_gradient(framework, spec, params, u, state, algorithm):
    """Of sum(y^2) with respect to the real and imaginary parts of the state."""
    if framework == "torch":
        import torch

        s = torch.tensor(state, requires_grad=True)
        (layers("torch").apply(spec, params, u, state=s, algorithm=algorithm) ** 2).sum().backward()
        return s.grad.numpy()
    import jax

    def total(re, im):
        return (layers("jax").apply(spec, params, u, state=jax.lax.complex(re, im), algorithm=algorithm) ** 2).sum()

    re, im = jax.grad(total, (0, 1))(state.real, state.imag)
    return np.asarray(re) + 1j * np.asarray(im)


@pytest.mark.skipif("torch" not in INSTALLED, reason="a torch module")
def test_the_torch_layer_is_a_module():
    import torch

    layer = layers("torch").Layer(SPEC, seed=3)
    assert {name: tuple(p.shape) for name, p in layer.named_parameters()} == SPEC.param_shapes
    y = layer(torch.ones(2, 5, 3))
    y.sum().backward()
    assert all(p.grad is not None for p in layer.parameters())
    assert relative(y.detach(), layers("torch").apply(SPEC, SPEC.init(3), U).numpy()) < 1e-6


@pytest.mark.skipif("torch" not in INSTALLED, reason="torch's own check")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("algorithm", SCANS)
def test_gradcheck(algorithm, reverse):
    import torch

    rng = np.random.default_rng(0)
    parts = [
        torch.tensor(rng.standard_normal(n) + 1j * rng.standard_normal(n), requires_grad=True)
        for n in (2, (1, 5, 2), (1, 2))
    ]
    scan = layers("torch").scan
    assert torch.autograd.gradcheck(lambda lam, v, state: scan(lam, v, state, reverse, algorithm), parts)
    assert torch.autograd.gradgradcheck(lambda lam, v, state: scan(lam, v, state, reverse, algorithm), parts)


@pytest.mark.skipif("torch" not in INSTALLED, reason="torch's own transforms")
@pytest.mark.parametrize("algorithm", ["sequential", "associative", "chunked", "fft"])
def test_torch_func(algorithm):
    import torch

    lam, v = torch.tensor([0.9 + 0.1j, 0.5], dtype=torch.complex128), torch.randn(3, 6, 2, dtype=torch.complex128)

    def energy(v):
        return layers("torch").scan(lam, v[None], algorithm=algorithm).abs().pow(2).sum()

    together = torch.func.vmap(torch.func.grad(energy))(v)
    apart = torch.stack([torch.func.grad(energy)(row) for row in v])
    assert torch.allclose(together, apart)


@pytest.mark.skipif("torch" not in INSTALLED, reason="a torch context")
def test_vjp_in_no_grad():
    import torch

    with torch.no_grad():
        y, gradients, _ = layers("torch").vjp(SPEC, SPEC.init(0), U, U)
    assert not y.requires_grad
    assert gradients["nu_log"].abs().sum() > 0


@pytest.mark.skipif("torch" not in INSTALLED, reason="torch's own dtypes")
def test_lengths_of_any_integer_dtype():
    import torch

    expected = layers("torch").apply(SPEC, SPEC.init(0), U, lengths=[2, 1], return_state=True)[1]
    for dtype in (torch.uint8, torch.int8, torch.int32):
        lengths = torch.tensor([2, 1], dtype=dtype)
        found = layers("torch").apply(SPEC, SPEC.init(0), U, lengths=lengths, return_state=True)[1]
        assert torch.equal(found, expected)


NEAR_1 = {
    "rotrnn": {"gamma_min": 0.99999, "gamma_max": 0.999999},
    "lru": {"r_min": 0.99999, "r_max": 0.999999},
    "s4d": {"dt_min": 1e-6, "dt_max": 1e-5},
    "s5": {"dt_min": 1e-6, "dt_max": 1e-5},
}


@frameworks
@pytest.mark.parametrize("layer", LAYERS)
def test_lam_has_no_error_but_that_of_its_storage(layer, framework):
    """A state magnifies it by 1 / (1 - |lam|)."""
    spec = LAYERS[layer](d_model=4, d_state=64, **NEAR_1[layer])
    params = spec.init(0)
    to_numpy, coefficients = layers(framework).to_numpy, layers(framework).coefficients
    made = {name: layers(framework).array.asarray(value) for name, value in params.items()}
    lam = to_numpy(coefficients(spec, made).lam)
    with precision(framework, "float64"):
        made = {name: layers(framework).array.asarray(value.astype(np.float64)) for name, value in params.items()}
        exact = to_numpy(coefficients(spec, made).lam)
    assert lam.dtype == np.complex64 and exact.dtype == np.complex128
    assert np.abs(exact).max() > 0.9999
    np.testing.assert_array_equal(lam, exact.astype(np.complex64))


@frameworks
def test_powers_of_lam_are_rounded_once(framework):
    module = import_module(f"layers_{framework}.scan")
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 8)
    lam = (0.99999 * np.exp(1j * angles)).astype(np.complex64)
    planar = layers(framework).array.asarray(np.concatenate([lam.real, lam.imag]))
    found = layers(framework).to_numpy(module.powers(planar, 4097)).astype(np.float64)
    exact = lam.astype(np.complex128) ** np.arange(4097)[:, None]
    assert np.abs(found[:, :8] - exact.real).max() < 2**-25 * 1.001
    assert np.abs(found[:, 8:] - exact.imag).max() < 2**-25 * 1.001


@frameworks
def test_a_decay_that_has_underflowed(framework):
    """lam = 0: no logarithm of it may be taken, also not for a gradient."""
    spec = LAYERS["s4d"](d_model=2, d_state=4)
    params = {k: v.astype(np.float64) for k, v in spec.init(0).items()}
    params["log_dt"][0], params["log_A_real"][0] = 3, 6
    u = np.random.default_rng(0).standard_normal((1, 7, 2))
    with precision(framework, "float64"):
        for algorithm in algorithms_of(spec):
            y, gradients, du = layers(framework).vjp(spec, params, u, u, algorithm=algorithm)
            assert relative(layers(framework).to_numpy(y), reference.apply(spec, params, u)) < 1e-10, algorithm
            assert all(np.isfinite(layers(framework).to_numpy(g)).all() for g in (*gradients.values(), du)), algorithm


@frameworks
def test_a_real_state_and_integer_inputs(framework):
    with precision(framework, "float64"):
        found = layers(framework).apply(SPEC, SPEC.init(0), np.ones((2, 3, 3), np.int64), state=np.ones((2, 4)))
        same = layers(framework).apply(SPEC, SPEC.init(0), np.ones((2, 3, 3)), state=np.ones((2, 4)) + 0j)
    assert relative(layers(framework).to_numpy(found), layers(framework).to_numpy(same)) < 1e-6


@pytest.mark.skipif("jax" not in INSTALLED, reason="a jax object")
def test_the_jax_layer_is_a_frozen_object():
    import jax

    layer = layers("jax").Layer(SPEC, seed=3)
    params = layer.init()
    y = jax.jit(layer.apply)(params, U)
    assert relative(y, layers("jax").apply(SPEC, SPEC.init(3), U)) < 1e-6
    assert hash(layer) == hash(layers("jax").Layer(SPEC, seed=3))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("layer", LAYERS)
def test_below_float32_only_the_projections_are_coarse(layer, framework, dtype):
    """Outputs come in the dtype of the inputs; state and gradients of parameters in float32."""
    array = import_module(f"layers_{framework}.array")
    spec = LAYERS[layer](d_model=4, **next(iter(LAYERS[layer].examples.values())))
    rng = np.random.default_rng(0)
    u, w = rng.standard_normal((2, 40, 4)), rng.standard_normal((2, 40, 4))
    coarse_u, coarse_w = (array.asarray(x.astype(np.float32), dtype=array.dtype_of(dtype)) for x in (u, w))
    y, gradients, du = layers(framework).vjp(spec, spec.init(0), coarse_u, coarse_w)
    assert y.dtype == du.dtype == array.dtype_of(dtype)
    assert all(g.dtype == array.dtype_of("float32") for g in gradients.values())
    bound = {"bfloat16": 3e-2, "float16": 4e-3}[dtype]
    assert relative(array.to_numpy(y), reference.apply(spec, spec.init(0), u)) < bound
    _, state = layers(framework).apply(spec, spec.init(0), coarse_u, return_state=True)
    assert "complex64" in str(state.dtype)
    y_t, _ = layers(framework).step(spec, spec.init(0), coarse_u[:, 0])
    assert relative(array.to_numpy(y_t), reference.apply(spec, spec.init(0), u)[:, 0]) < 2 * bound


@pytest.mark.skipif("torch" not in INSTALLED, reason="torch's second derivatives")
@pytest.mark.parametrize("of_inputs", [False, True])
@pytest.mark.parametrize("layer", LAYERS)
def test_second_derivatives_of_a_layer_as_it_is_used(layer, of_inputs):
    """A penalty on gradients, by auto and by another algorithm, whether or not the inputs ask for gradients."""
    import torch

    spec = LAYERS[layer](d_model=3, **next(iter(LAYERS[layer].examples.values())))
    found = []
    for algorithm in ("auto", "sequential"):
        u = torch.ones(1, 6, 3, dtype=torch.float64, requires_grad=of_inputs)
        made = layers("torch").Layer(spec).double()
        first = torch.autograd.grad(
            (made(u, algorithm=algorithm) ** 2).sum(), made.C_re if layer != "rotrnn" else made.C, create_graph=True
        )
        (first[0] ** 2).sum().backward()
        found.append(made.D.grad if made.D.grad is not None else torch.zeros(3))
        found.append((made.B if layer == "rotrnn" else made.C_re if layer == "s4d" else made.B_re).grad)
    assert relative(found[1], found[3].numpy()) < 1e-9


@pytest.mark.parametrize("framework", INSTALLED)
def test_inputs_of_16_bits_are_widened_where_they_must_be_complex(framework):
    array = import_module(f"layers_{framework}.array")
    lam, v = np.array([0.5 + 0j], np.complex64), np.ones((1, 3, 1), np.float32)
    coarse = array.asarray(v, dtype=array.dtype_of("bfloat16"))
    assert relative(array.to_numpy(layers(framework).scan(lam, coarse)), np.array([[[1], [1.5], [1.75]]])) < 1e-6


@pytest.mark.skipif("torch" not in INSTALLED, reason="torch convolves some sequences at a time")
@pytest.mark.parametrize("group_bytes", [1, 1 << 20])
def test_derivatives_of_a_convolution_in_groups(monkeypatch, group_bytes):
    import torch

    from layers_torch import convolution

    monkeypatch.setattr(convolution, "GROUP_BYTES", group_bytes)
    u, K = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 5, 2), (2, 5)))
    assert torch.autograd.gradcheck(convolution.convolve, (u, K))
    assert torch.autograd.gradgradcheck(convolution.convolve, (u[:1, :3], K[:, :3]))
    assert torch.allclose(convolution.convolve(u, K), convolution._convolve(u, K))


@pytest.mark.skipif("torch" not in INSTALLED, reason="torch's own check")
@pytest.mark.parametrize("length", [1, 5])
def test_derivatives_of_kernels_and_of_short_convolutions(monkeypatch, length):
    import torch

    from layers_torch import convolution

    monkeypatch.setattr(convolution, "CHANNEL_CHUNK", 2)
    rng = np.random.default_rng(0)

    def drawn(*shape):
        return torch.tensor(rng.standard_normal(shape) + 1j * rng.standard_normal(shape), requires_grad=True)

    lam, B, C, state = drawn(2, 1), drawn(2, 1), drawn(2, 1), drawn(1, 2, 1)
    u = torch.tensor(rng.standard_normal((1, length, 2)), requires_grad=True)
    for kernel in (convolution.kernel, convolution.vandermonde_kernel):
        assert torch.autograd.gradcheck(lambda lam, w, made=kernel: made(lam, w, length), (lam, C))
    assert torch.autograd.gradcheck(convolution.chunked_convolve, (lam, B, C, u, state))
    assert torch.autograd.gradcheck(lambda *given: convolution.chunked_convolve(*given, None), (lam, B, C, u))


@pytest.mark.skipif("torch" not in INSTALLED, reason="torch's forward mode")
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # by torch itself, which calls it
@pytest.mark.parametrize("layer", LAYERS)
def test_forward_mode_is_refused_in_one_line(layer):
    import torch
    from torch.autograd import forward_ad

    spec = LAYERS[layer](d_model=3, **next(iter(LAYERS[layer].examples.values())))
    u = torch.ones(1, 4, 3)
    for algorithm in algorithms_of(spec):
        with pytest.raises(Unsupported, match="no forward-mode derivatives"), forward_ad.dual_level():
            layers("torch").apply(spec, spec.init(0), forward_ad.make_dual(u, u), algorithm=algorithm)
    with pytest.raises(Unsupported, match="no forward-mode derivatives"):
        torch.func.jvp(lambda x: layers("torch").apply(spec, spec.init(0), x, algorithm="chunked"), (u,), (u,))


@pytest.mark.skipif("torch" not in INSTALLED, reason="torch's arrays without memory")
def test_devices_of_other_kinds_are_refused_in_one_line():
    import torch

    module, params, u = layers("torch"), SPEC.init(0), torch.ones(2, 5, 3)
    calls = (
        lambda: module.apply(SPEC, params, u.to("meta")),
        lambda: module.Layer(SPEC).to("meta")(u),
        lambda: module.step(SPEC, params, u[:, 0].to("meta")),
        lambda: module.vjp(SPEC, params, u.to("meta"), u),
        lambda: module.scan(np.ones(3, np.complex64), u.to("meta")),
    )
    for call in calls:
        with pytest.raises(Unsupported, match="layers run on cpu and cuda, not on meta"):
            call()
