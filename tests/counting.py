"""Brute force: count the operations that a framework's own trace of a call holds.

One convention, as in docs/costs.md: real add, mul or division 1, complex add 2, mul 6 (2 with a
real number) and division 11 (2 by a real number, 7 of one), matrix product 2 m k n (4 times that
if complex), FFT 5 n log2 n (half if real), a sum one addition an element; exponentials, roots and
moves are free.
"""

import math


def fft_cost(transforms, n, real):
    return transforms * round(5 * n * math.log2(n)) // (2 if real else 1)


def jax_flops(function, *arguments):
    import jax

    return jaxpr_flops(jax.make_jaxpr(function)(*arguments).jaxpr)


def jaxpr_flops(jaxpr):
    padded = {id(out) for equation in jaxpr.eqns if equation.primitive.name == "pad" for out in equation.outvars}
    return sum(equation_flops(equation, padded) for equation in jaxpr.eqns)


def equation_flops(equation, padded):
    name, shaped = equation.primitive.name, [v.aval for v in equation.invars]
    if name == "scan":
        return equation.params["length"] * jaxpr_flops(equation.params["jaxpr"].jaxpr)
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if key in equation.params:
            inner = equation.params[key]
            return jaxpr_flops(getattr(inner, "jaxpr", inner))
    out = equation.outvars[0].aval
    if not any(kind in str(out.dtype) for kind in ("float", "complex")):
        return 0
    is_complex = "complex" in str(out.dtype)
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        depth = math.prod(shaped[0].shape[axis] for axis in contracted)
        return 2 * depth * out.size * (4 if is_complex else 1)
    if name == "mul":
        return out.size * (6 if is_complex else 1)
    if name == "integer_pow":
        return out.size
    if name == "div":
        return 0 if is_complex else out.size  # complex ones here are how jax scales the gradient of an FFT
    if name in {"add", "add_any"} and all(id(v) in padded for v in equation.invars):
        return 0  # two arrays padded with zeros are interleaved or put side by side: a move
    if name in {"add", "sub", "add_any"}:
        return out.size * (2 if is_complex else 1)
    if name == "reduce_sum":
        return shaped[0].size * (2 if is_complex else 1)
    if name == "fft":
        kind, (n,) = equation.params["fft_type"], equation.params["fft_lengths"]
        real = kind.name.endswith("RFFT")
        data = out if kind.name == "IRFFT" else shaped[0]
        return fft_cost(data.size // data.shape[-1], n, real)
    return 0


def torch_flops(function, *arguments):
    """Through a dispatch mode, so that the backward pass counts too."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counter(TorchDispatchMode):
        total = 0

        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            out = op(*args, **(kwargs or {}))
            self.total += aten_flops(op._schema.name.removeprefix("aten::"), args, out)
            return out

    with Counter() as counter:
        function(*arguments)
    assert isinstance(counter.total, int)
    del torch
    return counter.total


def aten_flops(name, args, out):
    first = args[0] if args else None
    if not hasattr(out, "is_complex") or not (out.is_floating_point() or out.is_complex()):
        return 0
    is_complex = out.is_complex()
    match name.rstrip("_"):
        case "mm" | "bmm":
            return 2 * first.shape[-1] * out.numel() * (4 if is_complex else 1)
        case "mul":
            both = is_complex and all(getattr(a, "is_complex", lambda: False)() for a in args[:2])
            return out.numel() * (6 if both else 2 if is_complex else 1)
        case "div":
            over, under = (getattr(a, "is_complex", lambda: False)() for a in args[:2])
            return out.numel() * (11 if over and under else 7 if under else 2 if over else 1)
        case "reciprocal":
            return out.numel()
        case "pow":
            return 0 if hasattr(args[1], "numel") else out.numel()  # to an array of powers: by logarithms
        case "addcmul":
            assert not is_complex
            return 2 * out.numel()
        case "add" | "sub" | "rsub":
            return out.numel() * (2 if is_complex else 1)
        case "sum":
            return first.numel() * (2 if is_complex else 1)
        case "_fft_c2c":
            n = first.shape[args[1][-1]]
            return fft_cost(first.numel() // n, n, real=False)
        case "_fft_r2c":
            n = first.shape[args[1][-1]]
            return fft_cost(first.numel() // n, n, real=True)
        case "_fft_c2r":
            n = args[3]
            return fft_cost(out.numel() // n, n, real=True)
    return 0
