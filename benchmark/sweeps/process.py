"""The harness's side of a job: start it under a supervisor, hear it, bound it, say how it ended."""

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmark.sweeps.outcome import Ending, Outcome, host_oom_kills, outcome_of
from benchmark.sweeps.supervisor import command_of

Event = dict[str, Any]
Start = Literal["fork", "spawn"]

PRELOADED = ("benchmark.sweeps.jobs", "benchmark.training.job")

PROBE = "benchmark.sweeps.jobs:probe"
UNDERWAY = ("progress", "note")
"""Events of a job that has not ended; any other is its last."""
LARGEST_RESULT_BYTES = 256 << 20
DUMP_GRACE_S = 0.3
"""Between asking a job that is out of time for a trace of its threads, and killing it."""


@dataclass(frozen=True)
class Limits:
    """What a job may use; None for no bound."""

    timeout_s: float | None = None
    memory_bytes: int | None = None
    """Of address space on the CPU. With CUDA, whose driver maps far more than it uses, of resident memory."""


@dataclass
class Pool:
    """Supervisors by (framework, environment), so that each has imported its framework once.

    Use as a context: at its end no supervisor is left, and with them no job.
    """

    start: Start = "fork"
    supervisors: dict[tuple[str, ...], "Handle"] = field(default_factory=dict)

    def __enter__(self) -> "Pool":
        """Nothing is started before the first job."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close every supervisor and wait until it has cleared up."""
        for handle in self.supervisors.values():
            handle.close()
        self.supervisors.clear()

    def run(
        self,
        job: str,
        payload: dict[str, Any],
        variables: dict[str, str],
        *,
        framework: str | None = None,
        limits: Limits | None = None,
        on_event: Callable[[Event], None] = lambda _: None,
    ) -> Outcome:
        """Run a job to its end and say how it went.

        Args:
            job: a function as module:function, see ``benchmark.sweeps.worker``.
            payload: its argument, JSON values.
            variables: environment on top of this process's own.
            framework: imported by the supervisor beforehand; a job of another one gets another supervisor.
            limits: time and memory.
            on_event: called with each event other than the last: progress, and notes for the user.
        """
        handle = self._handle(framework, variables)
        with tempfile.TemporaryFile() as task, tempfile.TemporaryFile() as output:
            task.write(json.dumps({"job": job, "payload": payload}, allow_nan=False).encode())
            task.seek(0)
            ending = handle.run(task.fileno(), output.fileno(), self.start, limits or Limits(), on_event)
            output.seek(0)
            return outcome_of(ending, output.read())

    def stop(self) -> None:
        """End every supervisor now, from another thread than the one that waits for a job; that sees it killed."""
        for handle in list(self.supervisors.values()):
            handle.process.terminate()

    def _handle(self, framework: str | None, variables: dict[str, str]) -> "Handle":
        key = (framework or "", *(f"{name}={value}" for name, value in sorted(variables.items())))
        handle = self.supervisors.get(key)
        if handle is None or not handle.alive():
            modules = [*PRELOADED, f"layers_{framework}.train"] if framework and self.start == "fork" else []
            handle = self.supervisors[key] = Handle(modules, variables)
        return handle


class Handle:
    """One supervisor process."""

    def __init__(self, modules: list[str], variables: dict[str, str]) -> None:
        """Start it; the modules are imported in it."""
        self.socket, theirs = socket.socketpair()
        self.socket.setblocking(False)
        with theirs:
            self.process = subprocess.Popen(
                command_of("benchmark.sweeps.supervisor", str(theirs.fileno()), *modules),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                env={**os.environ, **variables},
                start_new_session=True,
            )

    def alive(self) -> bool:
        """Whether it can take a job."""
        return self.process.poll() is None

    def close(self) -> None:
        """Let it clear up and end."""
        self.socket.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def run(self, task: int, output: int, start: Start, limits: Limits, on_event: Callable[[Event], None]) -> Ending:
        """Start a job and hear it until it has ended, in its own time or ours."""
        receive, send = os.pipe()
        os.set_blocking(receive, False)
        ending = Ending(timeout_s=limits.timeout_s, oom_kills=host_oom_kills())
        address_space = limits.memory_bytes
        try:
            message = {"op": "start", "start": start, "address_space_bytes": address_space}
            self.socket.setblocking(True)
            socket.send_fds(self.socket, [json.dumps(message).encode() + b"\n"], [task, send, output])
            self.socket.setblocking(False)
        finally:
            os.close(send)
        try:
            self._hear(receive, ending, limits, on_event)
        except BaseException:  # Ctrl-C among them: nothing of the job outlives it
            self._send({"op": "kill"})
            self.close()
            raise
        finally:
            os.close(receive)
        ending.oom_kills = host_oom_kills() - ending.oom_kills
        return ending

    def _hear(self, receive: int, ending: Ending, limits: Limits, on_event: Callable[[Event], None]) -> None:
        """Read events and the supervisor's report; ask for a trace, then for the end, when time is up."""
        deadline = time.monotonic() + limits.timeout_s if limits.timeout_s is not None else None
        asked_for_trace = False
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(receive, selectors.EVENT_READ)
            selector.register(self.socket, selectors.EVENT_READ)
            while ending.code is None:
                ready = selector.select(None if deadline is None else max(0.0, deadline - time.monotonic()))
                for key, _ in ready:
                    if key.fileobj is self.socket:
                        self._report(ending)
                    elif (data := _read(receive)) == b"":
                        selector.unregister(receive)
                    else:
                        pending = _events(pending + data, ending, on_event)
                if not ready and deadline is not None and time.monotonic() >= deadline:
                    ending.timed_out = True
                    self._send({"op": "kill" if asked_for_trace else "dump"})
                    deadline = None if asked_for_trace else time.monotonic() + DUMP_GRACE_S
                    asked_for_trace = True
        while data := _read(receive):
            pending = _events(pending + data, ending, on_event)

    def _report(self, ending: Ending) -> None:
        """What the supervisor says of the job's end; its own end is the job's too."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError:
            data = b""
        if data:
            report = json.loads(data)
            ending.code, ending.cpu_s = report["code"], report["cpu_s"]
        else:
            ending.code = -int(signal.SIGKILL)

    def _send(self, message: Event) -> None:
        with contextlib.suppress(OSError):
            self.socket.sendall(json.dumps(message).encode() + b"\n")


def _read(descriptor: int) -> bytes:
    """What is there now; empty at the end, and where there is nothing."""
    try:
        return os.read(descriptor, 1 << 20)
    except BlockingIOError:
        return b""


def _events(data: bytes, ending: Ending, on_event: Callable[[Event], None]) -> bytes:
    """Hand on every whole line of ``data`` and return the rest, unless it is too long to be a result."""
    *lines, rest = data.split(b"\n")
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("event") in UNDERWAY:
            on_event(event)
        else:
            ending.last = event
    return rest if len(rest) < LARGEST_RESULT_BYTES else b""


def worker_environment(*, threads: int, device: str, dtype: str = "float32") -> dict[str, str]:
    """Variables that must be set before a framework is imported; 0 threads for no limit."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ROTBENCH_THREADS") if threads else ()
    variables = dict.fromkeys(names, str(threads)) | {
        "JAX_ENABLE_X64": "1" if dtype == "float64" else "0",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        # glibc maps large arrays anew at every call, over 32 MiB whatever the threshold, and the first touch of fresh
        # pages can cost more than the call: so all memory comes from one heap that is never given back
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
        "MALLOC_TOP_PAD_": str(64 << 20),
    }
    if device == "cpu":
        variables |= {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    return variables
