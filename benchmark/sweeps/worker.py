"""What happens in a job's own process, forked or executed: ``python -m benchmark.sweeps.worker TASK EVENTS``.

TASK is a descriptor from which the job is read, EVENTS one to which events go, a JSON line each. A
job is a function, named as module:function, from a payload and an emitter of events to a result.
"""

import contextlib
import faulthandler
import json
import os
import signal
import sys
from importlib import import_module
from typing import Any

from benchmark.spec.errors import Unsupported, UserError

Event = dict[str, Any]


def main(task: int, events: int) -> int:
    """Do the job and write its events. Returns the exit code: 0 if it came to an answer of any kind."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    with os.fdopen(events, "w", buffering=1) as channel, os.fdopen(task) as source:

        def emit(**event: Any) -> None:
            channel.write(json.dumps(event, allow_nan=False) + "\n")

        message = json.load(source)
        limit_processors(int(os.environ.get("ROTBENCH_THREADS", "0")))
        module, _, name = message["job"].partition(":")
        try:
            result = getattr(import_module(module), name)(message["payload"], emit)
        except Exception as error:
            emit(**ending_of(error))
            if not isinstance(error, UserError):
                raise
        else:
            emit(event="result", result=result)
    return 0


def ending_of(error: Exception) -> Event:
    """The event that tells how an exception ended the job."""
    if isinstance(error, Unsupported):
        return {"event": "unsupported", "reason": str(error)}
    if isinstance(error, UserError):
        found = {"event": getattr(error, "status", "failed"), "reason": str(error)}
        return found | ({"detail": error.detail} if hasattr(error, "detail") else {})
    text = f"{type(error).__name__}: {next(iter(str(error).strip().splitlines()), '')}"
    if (where := out_of_memory(error)) is not None:
        return {"event": "oom", "reason": f"{where}: {text}"}
    return {"event": "failed", "reason": text}


def out_of_memory(error: Exception) -> str | None:
    """Device or allocator, if the error says that memory ran out in any of the ways of the libraries; else None."""
    text = f"{type(error).__name__} {error}"
    if type(error).__name__ == "OutOfMemoryError" or "CUDA_ERROR_OUT_OF_MEMORY" in text or "CUDA out of memory" in text:
        return "device"
    if "RESOURCE_EXHAUSTED" in text:
        return "device" if "GPU" in text or "cuda" in text.lower() else "allocator"
    if isinstance(error, MemoryError) or "can't allocate memory" in text or "std::bad_alloc" in text:
        return "allocator"
    return None


def limit_processors(threads: int) -> None:
    """Let this process use only so many processors; XLA knows no other way to be told."""
    if threads and hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, allowed[:threads])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
