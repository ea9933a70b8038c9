"""One job in a fresh process: JSON in on stdin, events as JSON lines out on a pipe of their own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Event = dict[str, Any]
TAIL_LINES = 15
PROBE = "benchmark.sweeps.jobs:probe"


@dataclass(frozen=True)
class Outcome:
    """How a job ended: its result if ok, else a one-line reason and the last lines of its stderr."""

    status: Literal["ok", "unsupported", "failed", "timeout", "crashed"]
    result: dict[str, Any] | None = None
    reason: str | None = None
    stderr_tail: str = ""


def worker_environment(*, threads: int, device: str, dtype: str = "float32") -> dict[str, str]:
    """Variables that must be set before a framework is imported; 0 threads for no limit."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ROTBENCH_THREADS") if threads else ()
    variables = dict.fromkeys(names, str(threads)) | {
        "JAX_ENABLE_X64": "1" if dtype == "float64" else "0",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
    if device == "cpu":
        variables |= {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    return variables


def run_job(
    job: str,
    payload: dict[str, Any],
    variables: dict[str, str],
    on_event: Callable[[Event], None] = lambda _: None,
    timeout_s: float | None = None,
) -> Outcome:
    """Run a job in a fresh process to its end and say how it went.

    Args:
        job: a function as module:function, see ``benchmark.sweeps.worker``.
        payload: its argument, JSON values.
        variables: environment on top of this process's own.
        on_event: called with each event other than the last, such as training progress.
        timeout_s: after which the job and its process group are killed.
    """
    receive, send = os.pipe()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmark.sweeps.worker", str(send)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=(send,),
            start_new_session=True,
            env={**os.environ, **variables},
        )
        os.close(send)
        try:
            last = _converse(process, receive, {"job": job, "payload": payload}, on_event, timeout_s)
        finally:
            _kill_group(process)
        log.seek(0)
        tail = "\n".join(log.read().decode("utf-8", "replace").splitlines()[-TAIL_LINES:])
    return _outcome(process.returncode, last, tail, timeout_s)


def _converse(
    process: "subprocess.Popen[bytes]",
    receive: int,
    message: Event,
    on_event: Callable[[Event], None],
    timeout_s: float | None,
) -> Event | None:
    """Send the job, hand on its events, and return the last one; None if it timed out."""
    timer = None
    timed_out = False

    def expire() -> None:
        nonlocal timed_out
        timed_out = True
        _kill_group(process, wait=False)

    if timeout_s is not None:
        import threading

        timer = threading.Timer(timeout_s, expire)
        timer.daemon = True
        timer.start()
    last: Event = {}
    try:
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(message).encode())
            process.stdin.close()
        except BrokenPipeError:
            pass
        with os.fdopen(receive, "rb") as events:
            for line in events:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue  # half a line of a process that died while writing
                if event["event"] == "progress":
                    on_event(event)
                else:
                    last = event
        process.wait()
    finally:
        if timer:
            timer.cancel()
    return None if timed_out else last


def _kill_group(process: "subprocess.Popen[bytes]", wait: bool = True) -> None:
    """Kill what is left of the job's session, and collect the job itself."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if wait:
        process.wait()


def _outcome(code: int, last: Event | None, tail: str, timeout_s: float | None) -> Outcome:
    if last is None:
        return Outcome("timeout", reason=f"no result within {timeout_s:g} s", stderr_tail=tail)
    match last.get("event"):
        case "result" if code == 0:
            return Outcome("ok", result=last["result"], stderr_tail=tail)
        case "unsupported":
            return Outcome("unsupported", reason=last["reason"], stderr_tail=tail)
        case "failed":
            return Outcome("failed", reason=last["reason"], stderr_tail=tail)
    if code < 0:
        return Outcome("crashed", reason=f"killed by {signal.Signals(-code).name}", stderr_tail=tail)
    return Outcome("failed", reason=f"the worker ended with exit code {code} and no result", stderr_tail=tail)
