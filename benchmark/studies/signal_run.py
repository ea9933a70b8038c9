"""A signal study from its settings to its points; each framework simulates in a process of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from benchmark.spec import UserError
from benchmark.studies.signal import log_q, log_running_sum
from benchmark.studies.signal_layers import matched_specs, steps_of
from benchmark.studies.signal_plan import Settings
from benchmark.studies.signal_table import EXACT, GAUSSIAN, Point
from benchmark.sweeps.process import Pool, worker_environment

JOB = "benchmark.studies.signal_job:simulate"

LARGEST_FOR_ONE_THREAD = 256
"""Width up to which products are so small that threads wait for each other more than they compute."""


def study(
    settings: Settings, frameworks: Sequence[str], on_progress: Callable[[int, int], None] = lambda *_: None
) -> list[Point]:
    """Exact points, then those of each framework.

    Args:
        settings: what to compute; without samples nothing is simulated.
        frameworks: in which to simulate; the first gives the layers' exact energies, which are left out without one.
        on_progress: told how many of how many are done.

    Raises:
        UserError: for layers that cannot have their size, or a process that does not end well.
    """
    check_layers(settings)
    wanted = frameworks if settings.samples else frameworks[:1]
    return exact_points(settings) + (_in_workers(settings, wanted, on_progress) if wanted else [])


def check_layers(settings: Settings) -> None:
    """Raise UserError where a layer cannot have the state asked for, or the length is none."""
    matched_specs(settings.layers, settings.d_model, settings.state)
    steps_of(settings.seq_len)


def exact_points(settings: Settings) -> list[Point]:
    """Q and S of a recurrent network at every width and depth."""
    found = []
    for n in settings.widths:
        depths = settings.depths_of(n)
        logs = log_q(n, depths[-1])
        for quantity, values in (("Q", logs), ("S", log_running_sum(logs))):
            found += [_exact_point(quantity, n, depth, float(values[depth])) for depth in depths]
    return found


def _exact_point(quantity: str, n: int, depth: int, log_value: float) -> Point:
    return Point(GAUSSIAN, EXACT, quantity, n, depth, log_value, "recurrent", "complex", c=depth / n**0.5)


def _in_workers(settings: Settings, frameworks: Sequence[str], on_progress: Callable[[int, int], None]) -> list[Point]:
    """Every framework's points; they run side by side, as nothing is timed."""
    done = dict.fromkeys(frameworks, 0)

    def tell(framework: str, event: dict[str, Any]) -> None:
        done[framework] = event["done"]
        on_progress(sum(done.values()), event["of"] * len(done))

    pools = {framework: Pool() for framework in frameworks}
    with ThreadPoolExecutor(len(pools)) as threads:
        futures = [
            threads.submit(_simulated, pool, settings, framework, framework == frameworks[0], partial(tell, framework))
            for framework, pool in pools.items()
        ]
        try:
            return [point for future in futures for point in future.result()]
        except BaseException:  # Ctrl-C among them: the others must not be waited for
            for pool in pools.values():
                pool.stop()
            raise


def _simulated(
    pool: Pool, settings: Settings, framework: str, exact: bool, tell: Callable[[dict[str, Any]], None]
) -> list[Point]:
    threads = 0 if max(settings.simulated_widths, default=0) > LARGEST_FOR_ONE_THREAD else 1
    payload = {"framework": framework, "settings": settings.as_json(), "exact": exact}
    variables = worker_environment(threads=threads, device="cpu")
    with pool:
        outcome = pool.run(JOB, payload, variables, framework=framework, on_event=tell)
    if outcome.status != "ok" or outcome.result is None:
        raise UserError(f"signal: the simulation in {framework} ended as {outcome.status}: {outcome.reason}")
    return [Point(*values) for values in outcome.result["points"]]
