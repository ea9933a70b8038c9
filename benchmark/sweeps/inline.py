"""A job in this very process, for a debugger: no isolation, no limits, and errors keep their traceback."""

from importlib import import_module
from typing import Any

from benchmark.spec import UserError
from benchmark.sweeps.outcome import Outcome


def run_inline(job: str, payload: dict[str, Any]) -> Outcome:
    """Call the job's function. Known errors become outcomes, unknown ones are raised."""
    module, _, name = job.partition(":")
    try:
        result = getattr(import_module(module), name)(payload, lambda **_: None)
    except UserError as error:
        from benchmark.sweeps.worker import ending_of

        ending = ending_of(error)
        return Outcome(ending["event"], reason=ending["reason"])
    return Outcome("ok", result=result)
