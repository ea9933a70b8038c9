"""How a job ended, told apart from what is left of it."""

import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

Status = Literal["ok", "oom", "timeout", "crashed", "killed", "diverged", "unsupported", "failed", "skipped_after_oom"]

STATUSES: tuple[str, ...] = get_args(Status)

TAIL_LINES, TAIL_BYTES = 15, 4000


@dataclass
class Ending:
    """The raw facts of a job's end. ``oom_kills`` counts what the kernel killed for memory meanwhile."""

    last: dict[str, Any] | None = None
    code: int | None = None
    cpu_s: float | None = None
    timed_out: bool = False
    timeout_s: float | None = None
    oom_kills: int = 0


@dataclass(frozen=True)
class Outcome:
    """How a job ended: its result if ok, else a one-line reason and the last lines of its output.

    ``detail`` is what a job that failed had to tell for its row.
    """

    status: Status
    result: dict[str, Any] | None = None
    reason: str | None = None
    output_tail: str = ""
    cpu_s: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)


def outcome_of(ending: Ending, output: bytes) -> Outcome:
    """The status and reason of an ending, with the last lines of what the job printed."""
    tail = "\n".join(output[-TAIL_BYTES:].decode("utf-8", "replace").splitlines()[-TAIL_LINES:])
    status, reason = _judge(ending, tail)
    last = ending.last or {}
    result = last["result"] if status == "ok" else None
    return Outcome(status, result, reason, "" if status == "ok" else tail, ending.cpu_s, last.get("detail", {}))


def _judge(ending: Ending, tail: str) -> tuple[Status, str | None]:
    event, code = ending.last or {}, ending.code or 0
    if ending.timed_out:
        return "timeout", f"no result within {ending.timeout_s:g} s"
    if event.get("event") == "result" and code == 0:
        return "ok", None
    if event.get("event") in {"oom", "unsupported", "diverged", "failed"}:
        return event["event"], event["reason"]
    if code < 0:
        return _signal(-code, ending.oom_kills, tail)
    return "failed", f"ended with exit code {code} and no result"


def _signal(number: int, oom_kills: int, tail: str) -> tuple[Status, str]:
    name = signal.Signals(number).name
    if name == "SIGKILL":
        return ("oom", "host: killed by the kernel for want of memory") if oom_kills else ("killed", "by SIGKILL")
    if "bad_alloc" in tail:
        return "oom", f"allocator: std::bad_alloc, {name}"
    return "crashed", f"by {name}"


def host_oom_kills() -> int:
    """How many processes the kernel has killed for want of memory since boot, in control groups too; 0 if unknown."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
