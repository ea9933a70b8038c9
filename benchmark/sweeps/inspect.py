"""What this machine has, each framework asked in a process of its own."""

from typing import Any

from benchmark import backends
from benchmark.metrics.environment import environment
from benchmark.sweeps.plan import available_processors
from benchmark.sweeps.process import PROBE, Limits, Pool, worker_environment


def inspect() -> dict[str, Any]:
    """The machine's record, usable processors, and by framework what it answered or why it did not."""
    frameworks: dict[str, Any] = {}
    with Pool("spawn") as pool:
        for name in backends.FRAMEWORKS:
            if name not in backends.installed():
                frameworks[name] = f"not installed: pip install 'rotbench[{name}]'"
                continue
            variables = worker_environment(threads=0, device="any")
            outcome = pool.run(PROBE, {"framework": name, "build": True}, variables, limits=Limits(timeout_s=120))
            frameworks[name] = outcome.result if outcome.status == "ok" else f"does not start: {outcome.reason}"
    return {"machine": environment(), "threads": available_processors(), "frameworks": frameworks}
