"""One study cell in its worker."""

from collections.abc import Callable
from typing import Any

from benchmark import backends
from benchmark.metrics import memory
from benchmark.studies import equivalence_job, norms_job, period_job
from benchmark.studies.names import study_of
from benchmark.sweeps.cell import Cell
from benchmark.training.setup import Setting

JOBS = {"norms": norms_job.norms, "equivalence": equivalence_job.equivalence, "period": period_job.period}


def study(payload: dict[str, Any], emit: Callable[..., None]) -> dict[str, Any]:
    """What the cell's study finds, in ``detail``."""
    cell, setting = Cell.model_validate(payload["cell"]), Setting.of(payload)
    subject = study_of(cell.task)
    device = backends.device(cell.framework)
    device.resolve(cell.device)
    device.set_threads(cell.threads)
    found = JOBS[subject.name](cell, subject, setting, payload["training"].get("weights", {}), emit)
    found |= {"study": subject.name, "device_name": device.describe(cell.device)}
    return {"rss_peak_bytes": memory.rss_peak_bytes(), "detail": found}
