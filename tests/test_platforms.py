"""Compiled calls go where the arrays are, not where a process would put them; grids fit a GPU. No GPU is needed."""

import numpy as np
import pytest
from frameworks import INSTALLED, relative

needs_jax = pytest.mark.skipif("jax" not in INSTALLED, reason="jax's platforms")


@pytest.fixture
def beside_a_gpu(monkeypatch):
    """jax's native module as on a machine that has a GPU, where Pallas would give minus the inputs."""
    from layers_jax import native, pallas_kernels

    monkeypatch.setattr(native, "only_cpu", lambda: False)
    monkeypatch.setattr(pallas_kernels, "scan", lambda lam, z, state, reverse: -z)
    traced = native._scan_anywhere, native._correlate_anywhere
    for function in traced:
        function.clear_cache()
    yield native
    for function in traced:
        function.clear_cache()


def gradients(algorithm):
    import jax

    from layers_jax.scan import planar_scan

    rng = np.random.default_rng(0)
    leaves = [jax.numpy.asarray(rng.standard_normal(n) * 0.5, "float32") for n in ((2,), (1, 3, 2), (1, 2))]
    return jax.grad(lambda *given: (planar_scan(*given, False, algorithm) ** 2).sum(), (0, 1, 2))(*leaves)


@needs_jax
@pytest.mark.parametrize("compiled", [True, False])
def test_arrays_on_the_cpu_of_a_machine_with_a_gpu(beside_a_gpu, monkeypatch, compiled):
    monkeypatch.setattr(beside_a_gpu, "_registered", lambda made=beside_a_gpu._registered: made() and compiled)
    for found, expected in zip(gradients("fused"), gradients("sequential"), strict=True):
        assert relative(found, np.asarray(expected)) < 1e-5


@needs_jax
def test_a_call_lowered_for_a_gpu_has_no_call_of_the_cpu(beside_a_gpu):
    import jax

    kinds = [jax.ShapeDtypeStruct(n, "float32") for n in ((6,), (2, 9, 6), (2, 6))]

    def text(platform):
        def both(lam, z, state):
            x = beside_a_gpu.scan(lam, z, state, False)
            return x, beside_a_gpu.correlate(x, x, state, False)

        return jax.jit(both).trace(*kinds).lower(lowering_platforms=(platform,)).as_text()

    assert text("cpu").count("@rotbench_") == 2
    assert "rotbench_" not in text("cuda")
    assert "negate" in text("cuda")


class Launches:
    """In place of a Triton kernel: keeps the grids of its launches."""

    def __init__(self):
        self.grids = []

    def __getitem__(self, grid):
        self.grids.append(grid)
        return lambda *_: None


@pytest.mark.skipif("torch" not in INSTALLED, reason="torch's Triton kernels")
def test_grids_stay_within_what_a_gpu_takes(monkeypatch):
    """65,535 programs on the second and third axis."""
    import torch

    kernels = pytest.importorskip("layers_torch.triton_kernels")
    launches = Launches()
    monkeypatch.setattr(kernels, "CHUNK", 1)
    monkeypatch.setattr(kernels, "_scan_kernel", launches)
    monkeypatch.setattr(kernels, "_carry_kernel", launches)
    for B, L in ((1, 70_000), (70_000, 1), (0, 5)):
        kernels.scan(torch.ones(2), torch.ones(B, L, 2), torch.ones(B, 2), False)
    assert launches.grids == [(70_000, 1), (1, 1), (70_000, 1), (70_000, 1)]
