"""How far the scans in float32 are from the same recurrence in complex128, by length and modulus."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmark import backends
from benchmark.spec import UserError
from benchmark.spec.algorithms import SCANS
from benchmark.spec.devices import parse_device
from benchmark.spec.reference import relative_error
from benchmark.sweeps.gate import inputs
from benchmark.sweeps.process import Pool, worker_environment

JOB = "benchmark.verification.accuracy:errors"

LENGTHS = (1024, 16384, 65536)
MODULI = (0.99, 0.9999, 0.99999)
STATES = 16

BOUND = 2e-5
"""Largest relative error of ``auto``, values and gradients."""


class Accuracy(NamedTuple):
    """Relative errors, by norm, of the states and of the gradients of coefficients and inputs."""

    framework: str
    algorithm: str
    seq_len: int
    modulus: float
    values: float
    lam_gradient: float
    input_gradient: float
    rounding: float
    """What rounding the coefficients to float32 costs by itself; it is in none of the others."""
    ran: str
    """The algorithm that ran, which ``auto`` stands for."""

    @property
    def worst(self) -> float:
        """The largest error of the scan."""
        return max(self.values, self.lam_gradient, self.input_gradient)

    @property
    def bound(self) -> float | None:
        """Largest error that ``auto`` may make; the other algorithms have no bound."""
        return BOUND if self.algorithm == "auto" else None

    @property
    def passed(self) -> bool:
        """Whether the error keeps its bound; one that is no number does not."""
        return self.bound is None or self.worst <= self.bound


def accuracies(
    frameworks: Sequence[str],
    device: str,
    lengths: Sequence[int] = LENGTHS,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Accuracy]:
    """The errors of every algorithm in every framework, each framework in a process of its own.

    Raises:
        UserError: if a process does not end well.
    """
    parse_device(device)
    found = []
    with Pool() as pool:
        for index, framework in enumerate(frameworks):
            payload = {"framework": framework, "device": device, "lengths": list(lengths)}
            outcome = pool.run(
                JOB,
                payload,
                worker_environment(threads=0, device=device),
                framework=framework,
                on_event=partial(_tell, on_progress, index, len(frameworks)),
            )
            if outcome.status != "ok":
                raise UserError(f"{framework}: {outcome.status}, {outcome.reason}")
            found += [Accuracy(framework, **values) for values in (outcome.result or {})["errors"]]
    return found


def _tell(on_progress: Callable[[int, int], None], before: int, of: int, event: dict[str, Any]) -> None:
    """Progress of all frameworks from that of one."""
    on_progress(before * event["of"] + event["done"], of * event["of"])


def errors(payload: dict[str, Any], emit: Callable[..., None]) -> dict[str, Any]:
    """The worker's half: every algorithm at every length and modulus."""
    found = []
    cases = [(seq_len, modulus) for seq_len in payload["lengths"] for modulus in MODULI]
    for index, (seq_len, modulus) in enumerate(cases):
        arrays, exact = case(seq_len, modulus)
        expected = reference(exact.astype(np.complex64).astype(np.complex128), arrays)
        rounding = relative_error(expected[0], reference(exact, arrays)[0])
        for algorithm in ("auto", *SCANS):
            if (got := _scanned(payload, algorithm, arrays)) is not None:
                worst = [relative_error(a, b) for a, b in zip(got, expected, strict=True)]
                found.append([algorithm, seq_len, modulus, *worst, rounding, _ran(payload, algorithm)])
        emit(event="progress", done=index + 1, of=len(cases))
    names = Accuracy._fields[1:]
    return {"errors": [dict(zip(names, values, strict=True)) for values in found]}


def case(seq_len: int, modulus: float) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Planar float32 arrays lam, z and w of one sequence, and the coefficients before they were rounded."""
    from benchmark.spec import LAYERS

    spec = LAYERS["lru"](d_model=1, d_state=STATES)
    arrays = inputs(spec, "forward+backward", 1, seq_len, 0, subject="scan")
    exact = modulus * np.exp(2j * np.pi * np.random.default_rng(1).random(STATES))
    return arrays | {"lam": np.concatenate([exact.real, exact.imag]).astype(np.float32)}, exact


def _scanned(payload: dict[str, Any], algorithm: str, arrays: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    """States and gradients of lam and z as complex numbers; None where the algorithm cannot serve."""
    from benchmark.spec import LAYERS, Unsupported

    device, layers = backends.device(payload["framework"]), backends.layers(payload["framework"])
    spec = LAYERS["lru"](d_model=1, d_state=STATES)
    options: dict[str, Any] = {"direction": "forward+backward", "device": payload["device"], "dtype": "float32"}
    try:
        call = device.prepare(spec, {}, arrays, algorithm=algorithm, subject="scan", **options)
        x, (d_lam, d_z) = call.run()
    except Unsupported:
        return None
    return [as_complex(layers.to_numpy(value).astype(np.float64)) for value in (x, d_lam, d_z)]


def _ran(payload: dict[str, Any], algorithm: str) -> str:
    """What ``auto`` stands for on the device."""
    from benchmark.spec import LAYERS

    spec, kind = LAYERS["lru"](d_model=1, d_state=STATES), parse_device(payload["device"])[0]
    resolved: str = backends.layers(payload["framework"]).resolve_algorithm(spec, algorithm, kind)
    return resolved


def reference(lam: np.ndarray, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    """States and gradients by plain loops in complex128."""
    z, w = (as_complex(arrays[name].astype(np.float64))[0] for name in ("z", "w"))
    x, G = np.empty_like(z), np.empty_like(z)
    state = adjoint = np.zeros_like(lam)
    for t in range(len(z)):
        state = x[t] = lam * state + z[t]
    for t in reversed(range(len(z))):
        adjoint = G[t] = lam.conj() * adjoint + w[t]
    return [x[None], (G[1:] * x[:-1].conj()).sum(0), G[None]]


def as_complex(planar: np.ndarray) -> np.ndarray:
    """Complex numbers of real parts followed by imaginary ones."""
    real, imag = np.split(planar, 2, -1)
    return real + 1j * imag
