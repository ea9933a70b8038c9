"""Cost formulas against brute force: the operations that the frameworks' own traces hold."""

import math

import counting
import numpy as np
import pytest
from frameworks import INSTALLED

from benchmark.spec import LAYERS, UserError
from benchmark.spec.algorithms import algorithms_of, chunks, fft_length
from benchmark.spec.costs import powers_flops

BATCH, LENGTH = 2, 160  # more than one chunk; 2 L - 1 fits 320 = 5 * 64


def make(layer, **options):
    example = next(iter(LAYERS[layer].examples.values()))
    return LAYERS[layer](d_model=3, **(example | options))


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
            return run(c, u, None, None, algorithm, False)[0] + c.D * u

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
        y = run(c, x, None, None, algorithm, False)[0] + c.D * x
        if backward:
            y.backward(torch.ones_like(y))

    return counting.torch_flops(call)


def predicted(spec, algorithm, direction):
    terms = spec.flops(LENGTH, BATCH, algorithm, direction)
    made = {*spec.coefficient_flops, "coefficients, backward"}
    return sum(count for name, count in terms.items() if name not in made)


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layer", LAYERS)
def test_forward_flops_are_exact(layer, bidirectional, framework):
    spec = make(layer, bidirectional=bidirectional)
    for algorithm in algorithms_of(spec):
        assert counted(spec, framework, algorithm, False) == predicted(spec, algorithm, "forward"), algorithm


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layer", LAYERS)
def test_backward_flops_are_close(layer, bidirectional, framework):
    """Within 7 %: the frameworks add a few small sums of their own, and differently."""
    spec = make(layer, bidirectional=bidirectional)
    for algorithm in algorithms_of(spec):
        found, expected = counted(spec, framework, algorithm, True), predicted(spec, algorithm, "forward+backward")
        if framework == "torch" and spec.per_channel and algorithm in {"fft", "vandermonde"}:
            n = fft_length(LENGTH)  # torch takes the gradient of a real FFT by a complex one, twice the work
            expected += (1 + bidirectional) * (BATCH + 1) * spec.d_model * counting.fft_cost(1, n, real=True)
        assert found == pytest.approx(expected, rel=0.07), algorithm


def test_step_flops():
    spec = make("lru")
    assert sum(spec.flops(1, 2, direction="step").values()) == 2 * (4 * 3 * 5 + 8 * 5 + 4 * 3 * 5 + 2 * 3)


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


def brute_traffic(spec, batch, length, backward):
    """Items moved, by walking the stages of a shared recurrence and naming each array."""
    sizes = {"u": batch * length * spec.d_model, "z": 2 * batch * length * spec.modes}
    sizes |= {"y": sizes["u"], "x": sizes["z"], "dy": sizes["u"], "dx": sizes["z"], "G": sizes["z"], "du": sizes["u"]}
    moved = spec.param_count
    directions = range(2 if spec.bidirectional else 1)
    stages = [["u", "z"]] + [["z", "x", "x"] for _ in directions] + [["u", "y"]]
    if backward:
        moved += 2 * spec.param_count  # read again, gradients written
        stages += [["dy", "dx", "x", "dy", "dx", "G", "G", "x"] for _ in directions]
        stages += [["G", "u", "G", "du", "dy", "u"]]
    return moved + sum(sizes[name] for stage in stages for name in stage)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layer", ["rotrnn", "lru", "s5"])
@pytest.mark.parametrize("direction", ["forward", "forward+backward"])
def test_traffic_of_shared_recurrences(layer, bidirectional, direction):
    spec = make(layer, bidirectional=bidirectional)
    found = sum(spec.traffic_bytes(LENGTH, BATCH, direction, 4).values())
    assert found == 4 * brute_traffic(spec, BATCH, LENGTH, direction != "forward")


def test_traffic_of_a_convolution():
    spec, items = make("s4d"), BATCH * LENGTH * 3
    kernel = 3 * LENGTH
    expected = spec.param_count + 2 * items + items + 2 * kernel  # u for convolution and skip, y; K written and read
    assert sum(spec.traffic_bytes(LENGTH, BATCH, "forward", 4).values()) == 4 * expected


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_parameters_and_state_by_counting(layer, bidirectional):
    spec = make(layer, bidirectional=bidirectional)
    params = spec.init(3)
    assert {name: value.shape for name, value in params.items()} == spec.param_shapes
    assert spec.param_count == sum(value.size for value in params.values())
    assert spec.real_state_size == 2 * math.prod(spec.state_shape)


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
