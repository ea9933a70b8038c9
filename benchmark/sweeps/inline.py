"""A job in this very process, for a debugger: no isolation, no limits, and errors keep their traceback."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmark.spec import UserError
from benchmark.sweeps.outcome import Outcome


def run_inline(
    job: str, payload: dict[str, Any], on_event: Callable[[dict[str, Any]], None] = lambda _: None
) -> Outcome:
    """Call the job's function, and ``on_event`` with what it tells. Known errors become outcomes, others are raised."""
    module, _, name = job.partition(":")
    try:
        result = getattr(import_module(module), name)(payload, lambda **event: on_event(event))
    except UserError as error:
        from benchmark.sweeps.worker import ending_of

        ending = ending_of(error)
        return Outcome(ending["event"], reason=ending["reason"], detail=ending.get("detail", {}))
    return Outcome("ok", result=result)
