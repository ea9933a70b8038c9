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

    monkeypatch.setattr(ours, "piece_steps", lambda: piece)
    monkeypatch.setattr(ours, "KEPT_BYTES", kept)
    assert torch.autograd.gradcheck(lambda *inputs: ours.half(*inputs, reverse), half_inputs())


@needs_torch
def test_second_derivatives_of_a_half():
    import torch

    from layers_torch import native as ours

    assert torch.autograd.gradgradcheck(lambda *inputs: ours.half(*inputs, False), half_inputs(2, 3, 1, 1))


@needs_torch
@pytest.mark.parametrize("kept", [1 << 20, 0])
def test_threads_may_change_before_the_backward_pass(monkeypatch, kept):
    import torch

    from layers_torch import native as ours

    monkeypatch.setattr(ours, "KEPT_BYTES", kept)
    inputs, found = half_inputs(2, 50), []
    for after in (16, 5):
        monkeypatch.setattr(ours, "piece_steps", lambda: 16)
        y = ours.half(*inputs, False)[0]
        monkeypatch.setattr(ours, "piece_steps", lambda steps=after: steps)
        found.append(torch.autograd.grad(y.sum(), inputs))
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


@needs_torch
def test_pieces_cover_a_batch_once():
    from layers_torch import native as ours

    for batch, length in ((1, 1), (7, 5), (2, 16), (3, 17), (2, 100)):
        for reverse in (False, True):
            seen = np.zeros((batch, length), int)
            for piece in ours.pieces(batch, length, 16, reverse):
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


@pytest.mark.parametrize("damage", [lambda whole: whole[: len(whole) // 2], lambda _: b"no library", lambda _: b""])
def test_a_damaged_library_is_built_anew(tmp_path, monkeypatch, damage):
    """In a cache a library may be cut off; to load it would end the process with SIGBUS."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    small = tmp_path / "small.cpp"
    small.write_text('extern "C" int one() { return 1; }\n')
    kept = native.build.__wrapped__(small).path
    whole = kept.read_bytes()
    other = tmp_path / "damaged"  # a new file in its place, as this process holds the old one
    other.write_bytes(damage(whole))
    other.replace(kept)
    again = native.build.__wrapped__(small)
    assert again.reason == "built anew, as what was kept is damaged"
    assert again.path.read_bytes() == whole
    assert native.build.__wrapped__(small).reason == "built earlier"


def test_a_damaged_library_without_a_way_to_build_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    small = tmp_path / "small.cpp"
    small.write_text('extern "C" int one() { return 1; }\n')
    kept = native.build.__wrapped__(small).path
    kept.unlink()
    kept.write_bytes(b"no library")

    def no_room(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(native.tempfile, "TemporaryDirectory", no_room)
    built = native.build.__wrapped__(small)
    assert built.path is None
    assert "No space left on device" in built.reason


def test_compilers_are_tried_in_turn(tmp_path, monkeypatch):
    """One that is no program, one that fails, then a good one."""
    good = native._compilers()[0]
    programs = {"c++": b"\x00\x01 no program", "g++": b"#!/bin/sh\necho wrong >&2\nexit 1\n"}
    for name, text in programs.items():
        (tmp_path / name).write_bytes(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(native, "COMPILERS", ("c++", "g++"))
    small = tmp_path / "small.cpp"
    small.write_text('extern "C" int one() { return 1; }\n')
    bad = native.build.__wrapped__(small)
    assert bad.path is None
    assert [part.split(":")[0] for part in bad.reason.split("; ")] == [
        f"{tmp_path / 'c++'}",
        f"{tmp_path / 'g++'} fails",
    ]
    (tmp_path / "clang++").symlink_to(good)
    monkeypatch.setattr(native, "COMPILERS", ("c++", "g++", "clang++"))
    assert native.build.__wrapped__(small).reason == "built now"


@pytest.mark.parametrize("framework", INSTALLED)
def test_states_that_die_away_cost_no_more(framework):
    """Below the normal range numbers are zero: otherwise each would cost a hundred times as much."""
    lam, v = np.array([0.5 + 0j], np.complex64), np.zeros((1, 400, 1), np.complex64)
    v[0, 0] = 1
    x = np.asarray(layers(framework).to_numpy(layers(framework).scan(lam, v, algorithm="fused")))
    assert x[0, 100, 0] == 0.5**100
    assert (x[0, 140:] == 0).all()


KERNELS = """
import numpy as np
import torch
from layers_torch import native, triton_kernels
from layers_torch.scan import planar_scan, run

torch.manual_seed(0)
for B, L, N in ((1, 1, 1), (2, 65, 3), (3, 130, 33), (1, 64, 70)):
    angle, modulus = torch.rand(N) * 6, torch.rand(N) * 0.3 + 0.75  # some beyond 1
    lam = torch.cat([modulus * angle.cos(), modulus * angle.sin()])
    state = torch.randn(B, 2 * N)
    for reverse in (False, True):
        for dtype, bound in ((torch.float32, 2e-6), (torch.bfloat16, 1e-2), (torch.float16, 1e-3)):
            z = torch.randn(B, L, 2 * N).to(dtype)
            x = triton_kernels.scan(lam, z, state, reverse)
            expected = run(lam, z.float(), state, reverse, "sequential")
            assert x.dtype == dtype
            assert (x.float() - expected).norm() <= bound * expected.norm(), (B, L, N, reverse, dtype)

native.scan = triton_kernels.scan
leaves = [x.requires_grad_() for x in (lam, torch.randn(B, L, 2 * N), state)]
w = torch.randn(B, L, 2 * N)
for reverse in (False, True):
    ours, theirs = (
        torch.autograd.grad(planar_scan(*leaves, reverse, name), leaves, w) for name in ("fused", "sequential")
    )
    for a, b in zip(ours, theirs):
        assert (a - b).norm() <= 1e-5 * b.norm()
print("whole")
"""


@needs_torch
def test_triton_kernels_in_the_interpreter():
    """Values and gradients at odd sizes, in a process of its own as the interpreter is chosen at import."""
    env = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", KERNELS], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout == "whole\n", done.stderr


COMPILED = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from layers_torch.triton_kernels import _carry_kernel, _scan_kernel

def cubin(kernel, constants, **kinds):
    source = ASTSource(kernel, kinds | dict.fromkeys(constants, "constexpr"), constants)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]

sizes = {"L": "i32", "N": "i32", "K": "i32"}
for kind, sums, ends in (("fp32", "fp32", True), ("bf16", "fp32", False), ("fp64", "fp64", False)):
    constants = {"T": 64, "BLOCK": 64, "REVERSE": True, "ENDS": ends}
    arrays = {"z": "*" + kind, "lam": "*" + sums, "starts": "*" + sums, "out": "*" + (sums if ends else kind)}
    assert cubin(_scan_kernel, constants, **arrays, **sizes)
arrays = dict.fromkeys(("ends", "decay", "state", "starts"), "*fp32")
assert cubin(_carry_kernel, {"BLOCK": 64}, **arrays, N="i32", K="i32")
print("whole")
"""


@needs_torch
@pytest.mark.full
def test_triton_kernels_compile_for_a_gpu(tmp_path):
    """To machine code, for which no GPU is needed; the interpreter does not see what the compiler refuses."""
    pytest.importorskip("triton")
    command, env = [sys.executable, "-W", "ignore", "-c", COMPILED], {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout == "whole\n", done.stderr


@pytest.mark.skipif("jax" not in INSTALLED, reason="Pallas is jax's")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("B", "L", "N"), [(1, 1, 1), (2, 65, 3), (3, 130, 33)])
def test_the_pallas_kernel_interpreted(B, L, N, reverse):
    import jax.numpy as jnp

    from layers_jax import pallas_kernels
    from layers_jax.scan import run

    rng = np.random.default_rng(0)
    lam = rng.uniform(0.75, 1.05, N) * np.exp(2j * np.pi * rng.random(N))
    lam = jnp.asarray(np.concatenate([lam.real, lam.imag]), jnp.float32)
    z, state = (jnp.asarray(rng.standard_normal(shape, dtype=np.float32)) for shape in ((B, L, 2 * N), (B, 2 * N)))
    found = np.asarray(pallas_kernels.scan(lam, z, state, reverse, interpret=True))
    assert relative(found, np.asarray(run(lam, z, state, reverse, "sequential"))) < 2e-6


@pytest.mark.skipif("jax" not in INSTALLED, reason="Pallas is jax's")
@pytest.mark.parametrize(("B", "L", "N"), [(1, 1, 1), (2, 200, 70)])
def test_the_pallas_kernel_lowers_for_cuda(B, L, N):
    """To Triton, in whose form it is; no GPU is needed for that, and the interpreter does not see it."""
    import jax

    from layers_jax import pallas_kernels

    shapes = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((2 * N,), (B, L, 2 * N), (B, 2 * N))]
    traced = jax.jit(lambda *arrays: pallas_kernels.scan(*arrays, True)).trace(*shapes)
    assert "xla.gpu.triton" in traced.lower(lowering_platforms=("cuda",)).as_text()


@pytest.mark.skipif("jax" not in INSTALLED, reason="Pallas is jax's")
def test_gradients_through_the_pallas_kernel(monkeypatch):
    import jax

    from layers_jax import native as ours
    from layers_jax import pallas_kernels
    from layers_jax.scan import planar_scan

    ours.check_available("cpu")  # which hands the calls to XLA: their sums over time are compiled code
    rng = np.random.default_rng(0)
    arrays = [jax.numpy.asarray(rng.standard_normal(shape) * 0.5, "float32") for shape in ((6,), (2, 70, 6), (2, 6))]
    w = rng.standard_normal((2, 70, 6), dtype=np.float32)

    def gradients(algorithm):
        return jax.grad(lambda *leaves: (w * planar_scan(*leaves, False, algorithm)).sum(), (0, 1, 2))(*arrays)

    expected = gradients("sequential")
    monkeypatch.setattr(ours, "scan", lambda *words: pallas_kernels.scan(*words, interpret=True))
    for a, b in zip(gradients("fused"), expected, strict=True):
        assert relative(np.asarray(a), np.asarray(b)) < 1e-5


@needs_torch
def test_kept_coefficients_set_the_dtype():
    import torch

    spec = LAYERS["lru"](d_model=3, d_state=2)
    params = {name: torch.tensor(value, dtype=torch.float64) for name, value in spec.init(0).items()}
    u = np.ones((1, 3), np.float32)
    y, state = layers("torch").step(spec, layers("torch").coefficients(spec, params), u)
    expected, _ = layers("torch").step(spec, params, u)
    assert (y.dtype, state.dtype) == (torch.float64, torch.complex128)
    assert relative(y, expected.numpy()) < 1e-15


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("layer", LAYERS)
def test_steps_from_coefficients_that_are_kept(layer, framework):
    lib = layers(framework)
    spec = LAYERS[layer](d_model=3, **next(iter(LAYERS[layer].examples.values())))
    array = __import__(f"layers_{framework}.array", fromlist=["asarray"])
    params = {name: array.asarray(value) for name, value in spec.init(0).items()}
    u = np.random.default_rng(0).standard_normal((2, 3), dtype=np.float32)
    kept = lib.coefficients(spec, params)
    y, state = lib.step(spec, kept, u)
    expected, _ = lib.step(spec, params, u)
    assert relative(array.to_numpy(y), array.to_numpy(expected)) < 1e-6
    y, _ = lib.step(spec, kept, u, state)
    expected, _ = lib.step(spec, params, u, state)
    assert relative(array.to_numpy(y), array.to_numpy(expected)) < 1e-6
