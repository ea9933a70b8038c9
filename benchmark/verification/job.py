"""One framework's values and gradients for a list of cases, in its worker."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmark import backends
from benchmark.spec import LayerSpec, Unsupported
from benchmark.spec.algorithms import algorithms_of
from benchmark.verification.cases import Case


def compute(payload: dict[str, Any], emit: Callable[..., None]) -> dict[str, Any]:
    """Write ``CASE/ALGORITHM/NAME`` arrays to the npz file that the payload names: y, u and each parameter.

    A parameter's entry is the gradient of sum(w y) with respect to it, and so is u's.
    """
    layers = backends.layers(payload["framework"])
    found: dict[str, np.ndarray] = {}
    listed = [Case(**{**case, "lengths": case["lengths"] and tuple(case["lengths"])}) for case in payload["cases"]]
    for index, case in enumerate(listed):
        params, u, w = case.inputs(payload["dtype"])
        lengths = None if case.lengths is None else np.array(case.lengths)
        for algorithm in runnable(payload["framework"], case.spec):
            y, gradients, du = layers.vjp(case.spec, params, u, w, algorithm=algorithm, lengths=lengths)
            for name, value in {"y": y, "u": du, **gradients}.items():
                found[f"{index}/{algorithm}/{name}"] = layers.to_numpy(value)
        emit(event="progress", done=index + 1, of=len(listed))
    np.savez(payload["path"], allow_pickle=False, **found)
    return {}


def runnable(framework: str, spec: LayerSpec) -> list[str]:
    """The algorithms that serve a layer on the CPU here: without a compiler there is no fused."""
    found = []
    for algorithm in algorithms_of(spec):
        try:
            found.append(backends.layers(framework).resolve_algorithm(spec, algorithm, "cpu"))
        except Unsupported:
            continue
    return found
