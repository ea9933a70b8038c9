"""Cost formulas against brute force: the operations that the frameworks' own traces hold."""

import counting
import numpy as np
import pytest
from frameworks import INSTALLED

from benchmark import backends
from benchmark.spec import LAYERS, UserError
from benchmark.spec.algorithms import algorithms_of, chunks, fft_length
from benchmark.spec.costs import powers_flops

BATCH, LENGTH = 2, 160  # more than one chunk; 2 L - 1 fits 320 = 5 * 64
EXAMPLES = [(layer, label) for layer, spec in LAYERS.items() for label in spec.examples]


def make(layer, label=None, **options):
    examples = LAYERS[layer].examples
    return LAYERS[layer](d_model=3, **(examples[label or next(iter(examples))] | options))


def counted(spec, framework, algorithm, backward):
    """FLOPs of the recurrence proper, from coefficients at hand."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((BATCH, LENGTH, spec.d_model), dtype=np.float32)
    if framework == "jax":
        import jax

        from layers_jax import recurrence as r

        c = r.coefficients(spec, {k: jax.numpy.asarray(v) for k, v in spec.init(0).items()})
        run = r.per_channel if spec.per_channel else r.shared

        def call(c, u):
            return run(c, u, None, None, algorithm, False)[0]

        if not backward:
            return counting.jax_flops(call, c, u)
        return counting.jax_flops(lambda c, u, w: jax.vjp(call, c, u)[1](w), c, u, u)
    import torch

    from layers_torch import recurrence as r

    params = {k: torch.tensor(v) for k, v in spec.init(0).items()}
    c = r.Coefficients(*(x if x is None else x.detach().requires_grad_() for x in r.coefficients(spec, params)))
    run = r.per_channel if spec.per_channel else r.shared
    x = torch.tensor(u, requires_grad=True)

    def call():
        y = run(c, x, None, None, algorithm, False)[0]
        if backward:
            y.backward(torch.ones_like(y))

    return counting.torch_flops(call)


def visible(spec):
    """Algorithms whose operations the frameworks see; those of compiled code they do not."""
    return [name for name in algorithms_of(spec) if name != "fused"]


def predicted(spec, algorithm, direction):
    terms = spec.flops(LENGTH, BATCH, algorithm, direction)
    made = {*spec.coefficient_flops, "coefficients, backward"}
    return sum(count for name, count in terms.items() if name not in made)


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("layer", "label"), EXAMPLES)
def test_forward_flops_are_exact(layer, label, bidirectional, framework):
    spec = make(layer, label, bidirectional=bidirectional)
    for algorithm in visible(spec):
        assert counted(spec, framework, algorithm, False) == predicted(spec, algorithm, "forward"), algorithm


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("layer", "label"), EXAMPLES)
def test_backward_flops_are_close(layer, label, bidirectional, framework):
    """Within 7 %: the frameworks add a few small sums of their own, and differently."""
    spec = make(layer, label, bidirectional=bidirectional)
    for algorithm in visible(spec):
        found, expected = counted(spec, framework, algorithm, True), predicted(spec, algorithm, "forward+backward")
        if framework == "torch" and spec.per_channel and algorithm in {"fft", "vandermonde"}:
            n = fft_length(LENGTH)  # torch keeps no spectrum of inputs and kernel: they are computed anew
            expected += (BATCH + 1) * spec.d_model * counting.fft_cost(1, n, real=True)
        assert found == pytest.approx(expected, rel=0.07), algorithm


@pytest.mark.skipif("torch" not in INSTALLED, reason="counted in torch, which multiplies real by complex as such")
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("layer", "label"), EXAMPLES)
def test_coefficient_flops_are_exact(layer, label, bidirectional):
    """Products of matrices, the matrix exponential apart, and what is done to each entry."""
    import torch

    from layers_torch import recurrence

    spec = make(layer, label, bidirectional=bidirectional)
    params = {k: torch.tensor(v) for k, v in spec.init(0).items()}
    found = counting.torch_flops(lambda: recurrence.coefficients(spec, params))
    terms = spec.coefficient_flops
    assert found == sum(terms.values()) - terms.get("matrix exponential", 0)


@pytest.mark.skipif("torch" not in INSTALLED, reason="counted in torch")
@pytest.mark.parametrize(("layer", "label"), EXAMPLES)
def test_step_flops_are_exact(layer, label):
    import torch

    from layers_torch import recurrence

    spec = make(layer, label, bidirectional=False)
    params = {k: torch.tensor(v) for k, v in spec.init(0).items()}
    state = torch.zeros((BATCH, *spec.state_shape), dtype=torch.complex64)
    c = recurrence.coefficients(spec, params)
    found = counting.torch_flops(lambda: recurrence._step(spec, c, torch.zeros(BATCH, 3), state))
    assert found == sum(spec.flops(1, BATCH, direction="step").values())


@pytest.mark.parametrize("layer", [name for name in LAYERS if name != "s4d"])
def test_compiled_code_does_what_the_visible_algorithm_does(layer):
    spec = make(layer)
    for direction in ("forward", "forward+backward"):
        assert spec.flops(LENGTH, BATCH, "fused", direction) == spec.flops(LENGTH, BATCH, "sequential", direction)


def test_compiled_code_of_a_layer_with_real_inputs():
    spec = LAYERS["s4d"](d_model=3, d_state=4)
    states = 2 * 5 * 3 * 2  # batch, steps, channels, modes
    forward = {"C B": 6 * 6, "scan": (6 + 1) * states, "sum over modes": (3 + 1) * states, "skip": 2 * 2 * 5 * 3}
    backward = {
        "C B, backward": 12 * 6,
        "scan, backward": (6 + 2 + 8) * states,  # the reverse recurrence, and the gradient of lam
        "sum over modes, backward": (2 + 4 + 1) * states,  # what enters it, the gradient of w, and that of u
        "skip, backward": 4 * 2 * 5 * 3,
    }
    found = spec.flops(5, 2, "fused", "forward+backward")
    assert {name: found[name] for name in (*forward, *backward)} == forward | backward
    assert set(found) - {*forward, *backward} == {*spec.coefficient_flops, "coefficients, backward"}


def test_auto_has_no_flops_of_its_own():
    with pytest.raises(UserError, match="resolve it"):
        make("lru").flops(8, 1, "auto")


@pytest.mark.parametrize("layer", LAYERS)
def test_costs_grow_in_proportion_to_batch_and_length(layer):
    spec = make(layer)
    once, twice = (sum(spec.flops(LENGTH, b).values()) - sum(spec.coefficient_flops.values()) for b in (1, 2))
    assert twice == 2 * once


def test_powers_by_counting():
    def products(count):
        made, have = 0, 1
        while have < count:
            made += have + 1  # the new powers, and the square for the next round
            have *= 2
        return made

    for count in (1, 2, 3, 64, 65, 129):
        assert powers_flops(count, 1) == 6 * products(count)


def stages(spec, backward):
    """The arrays that each stage of a real call reads and writes, from the call itself."""
    import torch

    from layers_torch import recurrence as r
    from layers_torch.array import planar, project, read_in, read_out
    from layers_torch.scan import planar_scan, zero_state

    params = {k: torch.tensor(v) for k, v in spec.init(0).items()}
    u = torch.randn(BATCH, LENGTH, spec.d_model)
    c = r.coefficients(spec, params)
    if spec.per_channel:
        from layers_torch.convolution import kernel

        readouts = [c.C, *([c.C2] if spec.bidirectional else [])]
        kernels = [kernel(c.lam, C * c.B, LENGTH) for C in readouts]
        moved = [u, u, u, *(K for K in kernels for _ in range(2))]  # u by convolution and skip, y; K written and read
        if backward:
            moved += [u] * 3  # dy and u by the skip, du written
            moved += [u] * 3  # dy, u, du of the one convolution
            moved += [K for K in kernels for _ in range(3)]  # K read, its gradient written and read
        return list(params.values()), moved
    z = project(u, read_in(c.B))
    moved = [u, z, u, u]
    for readout, reverse in ((c.C, False), (c.C2, True))[: 2 if spec.bidirectional else 1]:
        x = planar_scan(planar(c.lam), z, zero_state(z), reverse, "sequential")
        y = project(x, read_out(readout))
        moved += [z, x, x]
        if backward:
            moved += [y, x, x, y, x, x, x, x]  # dy to dx; x, dy to dC; dx to G; G, x to dlam
    if backward:
        moved += [z, u, z, u, u, u]  # G, u to dB; G to du; dy, u by the skip
    return list(params.values()), moved


@pytest.mark.skipif("torch" not in INSTALLED, reason="the arrays are torch's")
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("direction", ["forward", "forward+backward"])
def test_traffic_by_adding_up_real_arrays(layer, bidirectional, direction):
    spec = make(layer, bidirectional=bidirectional)
    params, moved = stages(spec, direction != "forward")
    passes = 1 if direction == "forward" else 3  # parameters read again, their gradients written
    expected = sum(a.nbytes for a in moved) + passes * sum(a.nbytes for a in params)
    assert sum(spec.traffic_bytes(LENGTH, BATCH, direction, 4).values()) == expected


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("layer", LAYERS)
def test_state_size_and_step_traffic_by_the_state_that_comes_back(layer, framework):
    spec = make(layer)
    module = backends.layers(framework)
    y, state = module.step(spec, spec.init(0), np.zeros((1, 3), np.float32))
    assert spec.real_state_size == 2 * module.to_numpy(state)[0].size
    moved = 2 * module.to_numpy(state).nbytes + 3 * module.to_numpy(y).nbytes + 4 * spec.param_count
    assert sum(spec.traffic_bytes(1, 1, "step", 4).values()) == moved


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_parameters_and_state_by_counting(layer, bidirectional):
    spec = make(layer, bidirectional=bidirectional)
    params = spec.init(3)
    assert {name: value.shape for name, value in params.items()} == spec.param_shapes
    assert spec.param_count == sum(value.size for value in params.values())


@pytest.mark.parametrize(("layer", "expected"), [("rotrnn", 8), ("lru", 10), ("s4d", 3 * 8), ("s5", 8)])
def test_real_state_sizes(layer, expected):
    assert make(layer).real_state_size == expected


@pytest.mark.parametrize("length", [1, 2, 3, 50, 63, 1000, 4097])
def test_fft_lengths_are_smooth_and_least(length):
    def smooth(n):
        for factor in (2, 3, 5):
            while n % factor == 0:
                n //= factor
        return n == 1

    n = fft_length(length)
    assert smooth(n) and n >= 2 * length - 1
    assert not any(smooth(m) and m % 27 for m in range(2 * length - 1, n))


@pytest.mark.parametrize(("length", "longest"), [(1, 128), (128, 128), (129, 128), (1000, 64), (65536, 128)])
def test_chunks_cover_with_little_padding(length, longest):
    count, size = chunks(length, longest)
    assert size <= longest
    assert length <= count * size < length + count
