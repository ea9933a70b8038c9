"""The process that does one job: ``python -m benchmark.sweeps.worker FD``, the job on stdin.

A job is a function, named as module:function, from a payload and an emitter of events to a result.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any

from benchmark.spec.errors import Unsupported, UserError


def main() -> None:
    """Read the job, do it, and write its events to the file descriptor named on the command line."""
    with os.fdopen(int(sys.argv[1]), "w", buffering=1) as channel:

        def emit(**event: Any) -> None:
            channel.write(json.dumps(event, allow_nan=False) + "\n")

        message = json.load(sys.stdin)
        limit_processors(int(os.environ.get("ROTBENCH_THREADS", "0")))
        module, _, name = message["job"].partition(":")
        try:
            result = getattr(import_module(module), name)(message["payload"], emit)
        except Unsupported as error:
            emit(event="unsupported", reason=str(error))
        except UserError as error:
            emit(event="failed", reason=str(error))
        except Exception as error:
            text = str(error).strip().splitlines()
            emit(event="failed", reason=f"{type(error).__name__}: {text[0] if text else ''}")
            raise
        else:
            emit(event="result", result=result)


def limit_processors(threads: int) -> None:
    """Let this process use only so many processors; XLA knows no other way to be told."""
    if threads and hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[:threads])


if __name__ == "__main__":
    main()
