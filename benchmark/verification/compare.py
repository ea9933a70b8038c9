"""Run the frameworks on the same cases, and hold them against the oracle and against each other."""

import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmark.spec import UserError, reference
from benchmark.spec.algorithms import algorithms_of
from benchmark.spec.reference import relative_error
from benchmark.sweeps.process import Pool, worker_environment
from benchmark.verification.cases import Case, cases

Arrays = Mapping[str, np.ndarray]

JOB = "benchmark.verification.job:compute"

TOLERANCES = {
    ("float64", "values"): 1e-10,
    ("float64", "gradients"): 1e-8,
    ("float32", "values"): 1e-5,
    ("float32", "gradients"): 1e-4,
}
"""Largest relative error, in the norm over an array, that passes."""


class NotVerifiedError(UserError):
    """A framework's job came to no answer."""

    exit_code = 1


@dataclass(frozen=True)
class Check:
    """One comparison: ``subject`` is torch, jax (each against the oracle) or twins (against each other)."""

    case: Case
    algorithm: str
    dtype: str
    subject: str
    kind: str
    worst: str
    error: float

    @property
    def tolerance(self) -> float:
        """What the error must not exceed."""
        return TOLERANCES[self.dtype, self.kind]

    @property
    def passed(self) -> bool:
        """A NaN fails."""
        return self.error <= self.tolerance


def verify(
    layers: list[str],
    frameworks: list[str],
    dtypes: list[str],
    quick: bool = False,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Check]:
    """All checks for the layers.

    Raises:
        NotVerifiedError: if a framework fails outright, with its own words.
    """
    listed = cases(layers, quick)
    runs = [(framework, dtype) for dtype in dtypes for framework in frameworks]
    done = dict.fromkeys(runs, 0)
    pools = {key: Pool("spawn") for key in runs}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as threads:

        def run(key: tuple[str, str]) -> Arrays:
            def report(event: dict[str, int]) -> None:
                done[key] = event["done"]
                on_progress(sum(done.values()), len(runs) * len(listed))

            with pools[key] as pool:
                return _run_framework(pool, *key, listed, Path(folder), report)

        try:
            found = dict(zip(runs, threads.map(run, runs), strict=True))
        except BaseException:  # Ctrl-C among them: do not wait for what still runs
            threads.shutdown(wait=False, cancel_futures=True)
            for pool in pools.values():
                pool.stop()
            raise
    return [check for dtype in dtypes for check in _checks(listed, frameworks, dtype, found)]


def _run_framework(
    pool: Pool, framework: str, dtype: str, listed: list[Case], folder: Path, report: Callable[[dict[str, int]], None]
) -> Arrays:
    path = folder / f"{framework}-{dtype}.npz"
    payload = {"framework": framework, "dtype": dtype, "cases": [asdict(c) for c in listed], "path": str(path)}
    variables = worker_environment(threads=0, device="cpu", dtype=dtype)
    outcome = pool.run(JOB, payload, variables, on_event=report)
    if outcome.status != "ok":
        raise NotVerifiedError(f"{framework} could not be verified: {outcome.status}, {outcome.reason}")
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _checks(
    listed: list[Case], frameworks: list[str], dtype: str, found: Mapping[tuple[str, str], Arrays]
) -> list[Check]:
    checks = []
    for index, case in enumerate(listed):
        oracle = Oracle(case, dtype)
        for algorithm in algorithms_of(case.spec):
            results = {
                framework: selected
                for framework in frameworks
                if (selected := _select(found[framework, dtype], f"{index}/{algorithm}/"))
            }  # one that cannot serve here has no entry, and no line
            for framework, result in results.items():
                value = oracle.value_error(result["y"])
                worst, gradient = oracle.gradient_error(result)
                checks.append(Check(case, algorithm, dtype, framework, "values", "y", value))
                checks.append(Check(case, algorithm, dtype, framework, "gradients", worst, gradient))
            for one, other in combinations(results, 2):
                checks += _twin_checks(case, algorithm, dtype, results[one], results[other])
    return checks


def _select(arrays: Arrays, prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _twin_checks(case: Case, algorithm: str, dtype: str, one: Arrays, other: Arrays) -> list[Check]:
    floor = _floor(one)
    errors = {name: relative_error(one[name], other[name], 0.0 if name == "y" else floor) for name in one}
    worst = max((name for name in errors if name != "y"), key=lambda name: np.nan_to_num(errors[name], nan=np.inf))
    return [
        Check(case, algorithm, dtype, "twins", "values", "y", errors["y"]),
        Check(case, algorithm, dtype, "twins", "gradients", worst, errors[worst]),
    ]


def _floor(gradients: Arrays) -> float:
    """The least scale for errors of gradients: some vanish identically, such as that of M where heads are planes."""
    return 1e-2 * max(float(np.linalg.norm(value)) for name, value in gradients.items() if name != "y")


class Oracle:
    """The oracle's outputs and directional derivatives for one case, computed once for all algorithms."""

    def __init__(self, case: Case, dtype: str) -> None:
        """Work in float64 from the very numbers that the frameworks get."""
        self.case = case
        self.params, self.u, self.w = case.inputs(dtype)
        self.y = self._apply(self.params, self.u)
        rng = np.random.default_rng(7)
        self.directions = {
            name: rng.standard_normal(value.shape) for name, value in {"u": self.u, **self.params}.items()
        }
        self.derivatives = {name: self._derivative(name) for name in self.directions}

    def value_error(self, y: np.ndarray) -> float:
        """Of outputs, within the sequences' ends."""
        return relative_error(np.where(self.w != 0, y, 0), np.where(self.w != 0, self.y, 0))

    def gradient_error(self, gradients: Arrays) -> tuple[str, float]:
        """The array whose gradient is worst, and its error along a random direction over the gradient's norm."""
        errors = {}
        floor = _floor(gradients)
        for name, direction in self.directions.items():
            gradient = gradients[name].astype(np.float64)
            scale = max(float(np.linalg.norm(gradient)), floor) or 1.0
            errors[name] = abs(float((gradient * direction).sum()) - self.derivatives[name]) / scale
        worst = max(errors, key=lambda name: np.nan_to_num(errors[name], nan=np.inf))
        return worst, errors[worst]

    def _apply(self, params: Arrays, u: np.ndarray) -> np.ndarray:
        return reference.apply(self.case.spec, params, u, self.case.lengths)

    def _derivative(self, name: str) -> float:
        """Of sum(w y) along the direction of one array. Derivatives grow with length, so the step shrinks."""

        def total(value: np.ndarray) -> float:
            if name == "u":
                return float((self.w * self._apply(self.params, value)).sum())
            return float((self.w * self._apply({**self.params, name: value}, self.u)).sum())

        start = (self.u if name == "u" else self.params[name]).astype(np.float64)
        return reference.directional(total, start, self.directions[name], step=5e-4 / self.case.seq_len)
