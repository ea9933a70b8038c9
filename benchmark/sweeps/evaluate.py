"""Trained weights on their test sets, in a process of their own for each framework."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.spec import UserError
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.plan import check_threads
from benchmark.sweeps.process import Pool, worker_environment
from benchmark.training.checkpoint import described_by

JOB = "benchmark.training.evaluate_job:evaluate"


class Evaluation(NamedTuple):
    """A test score in one framework, beside the one that the training noted; ``extra`` on further test sets, by name.

    No score was noted for weights of the course of a training.

    An entry of ``extra`` that is text says why there is no score.
    """

    weights: str
    task: str
    layer: str
    trained_in: str
    evaluated_in: str
    measure: str
    noted_score: float | None
    score: float
    extra: dict[str, float | str]


def evaluate_weights(
    paths: Sequence[Path],
    frameworks: Sequence[str],
    device: str,
    data_dir: Path,
    tell: Callable[[int, int], None] = lambda *_: None,
) -> list[Evaluation]:
    """Scores of each file of weights in each framework, on the test set and on further ones.

    Args:
        paths: files that a training wrote.
        frameworks: in which to evaluate.
        device: where.
        data_dir: where data sets are.
        tell: told how many of how many are done.

    Raises:
        UserError: for a file that holds no weights, or an evaluation that failed.
    """
    described = {path: described_by(path) for path in paths}
    pairs = [(path, framework) for path in paths for framework in frameworks]
    found = []
    with Pool("fork") as pool:
        for path, framework in pairs:
            found.append(_evaluate(pool, path, framework, device, data_dir, described[path]))
            tell(len(found), len(pairs))
    return found


def _evaluate(
    pool: Pool, path: Path, framework: str, device: str, data_dir: Path, described: dict[str, Any]
) -> Evaluation:
    cell = Cell.model_validate(described["cell"])
    changes = {"framework": framework, "device": device, "threads": check_threads(0)}
    payload = {"weights": str(path), "data_dir": str(data_dir), "changes": changes}
    variables = worker_environment(threads=0, device=device)
    outcome = pool.run(JOB, payload, variables, framework=framework)
    if outcome.status != "ok" or outcome.result is None:
        raise UserError(f"{path} in {framework}: {outcome.reason}")
    return Evaluation(
        str(path),
        cell.task or "",
        cell.layer,
        cell.framework,
        framework,
        described["measure"],
        described["test_score"],
        outcome.result["score"],
        outcome.result["extra"],
    )
