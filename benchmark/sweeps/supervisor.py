"""The process that starts jobs and leaves nothing of them behind.

Its arguments are FD [MODULE ...]: FD is a UNIX socket to the harness, the modules are imported
once, so that a forked job finds them loaded. No job runs here: each is a
forked child, in a session of its own, which either does the job itself or executes a new
interpreter for it.

This process is the reaper of all that its jobs start (a child subreaper): what survives a job,
in whatever session, comes back to it and is killed. When the harness goes away, however it
goes, the socket ends and everything is killed. See docs/measuring.md.
"""

import contextlib
import ctypes
import json
import os
import resource
import selectors
import signal
import socket
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def command_of(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of this project in a new interpreter.

    Not ``python -m``, which puts the working directory first on the path: whatever lies there would
    be imported in the place of our own and of the standard library's modules.
    """
    root = str(Path(__file__).resolve().parents[2])
    code = f"import sys; sys.path.append({root!r}); import runpy; runpy.run_module({module!r}, run_name='__main__')"
    return [sys.executable, "-P", "-c", code, *arguments]


class Supervisor:
    """One job at a time, as the harness asks; told when the job's process has ended."""

    def __init__(self, harness: socket.socket) -> None:
        """Become the reaper of all descendants, and be woken when a child ends."""
        self.harness = harness
        self.job: int | None = None
        self.pending = b""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.woken, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self.woken, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)

    def serve(self) -> None:
        """Until the harness goes away."""
        selector = selectors.DefaultSelector()
        selector.register(self.harness, selectors.EVENT_READ)
        selector.register(self.woken, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is self.harness:
                    if not self.command():
                        return
                else:
                    os.read(self.woken, 1 << 12)
                    self.reap()

    def command(self) -> bool:
        """Messages of the harness, one a line: start a job with the descriptors sent along, or kill it.

        False at the end.
        """
        try:
            data, descriptors, _, _ = socket.recv_fds(self.harness, 1 << 16, 3)
        except ConnectionError:
            return False
        self.pending += data
        *lines, self.pending = self.pending.split(b"\n")
        for line in lines:
            message = json.loads(line)
            match message["op"]:
                case "start":
                    self.start(message, descriptors)
                case "dump" if self.job is not None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(self.job, signal.SIGUSR1)  # a trace of all threads, even if one holds the GIL
                case "kill":
                    kill_descendants()
        return bool(data)

    def start(self, message: dict[str, Any], descriptors: list[int]) -> None:
        """Fork the job's process. Descriptors: where its message is, where its events go, where its output goes."""
        self.job = os.fork()
        if self.job == 0:
            become_job(message, self.harness, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def reap(self) -> None:
        """Collect ended children; at the job's end kill what it left, then tell the harness."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.job:
                kill_descendants()
                self.job = None
                report = {"code": os.waitstatus_to_exitcode(status), "cpu_s": usage.ru_utime + usage.ru_stime}
                with contextlib.suppress(ConnectionError):
                    self.harness.sendall(json.dumps(report).encode() + b"\n")


def become_job(message: dict[str, Any], harness: socket.socket, task: int, events: int, output: int) -> NoReturn:
    """In the forked child: a session, limits and output of its own, then the job. Never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        harness.close()
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if message.get("address_space_bytes"):
            resource.setrlimit(resource.RLIMIT_AS, (message["address_space_bytes"],) * 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if message["start"] == "spawn":
            for descriptor in (task, events):
                os.set_inheritable(descriptor, True)
            os.execv(sys.executable, command_of("benchmark.sweeps.worker", str(task), str(events)))
        from benchmark.sweeps.worker import main

        code = main(task, events)
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def kill_descendants() -> None:
    """Kill all that this process has ever started and that still runs, round by round until nothing is left."""
    while running := [pid for pid in descendants(os.getpid()) if is_running(pid)]:
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in running:
            wait_until_dead(pid)


def wait_until_dead(pid: int) -> None:
    """Until the process is gone or a zombie; a process that was killed takes a moment to die."""
    import time

    for _ in range(2000):
        if not is_running(pid):
            return
        time.sleep(0.001)


def descendants(root: int) -> list[int]:
    """Process ids below ``root``, by the parents that /proc tells; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        if (fields := stat_fields(path)) is not None:
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, waiting = [], [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def is_running(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    fields = stat_fields(Path(f"/proc/{pid}/stat"))
    return fields is not None and fields[0] not in "ZX"


def stat_fields(path: Path) -> list[str] | None:
    """The fields of a stat file after the command's name: state, parent, ... None if the process is gone."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return None


def prctl(option: int, value: int) -> None:
    """Linux's prctl; nothing elsewhere."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def main() -> None:
    """Import what jobs need, then serve the harness and clear up behind it."""
    with socket.socket(fileno=int(sys.argv[1])) as harness:
        for module in sys.argv[2:]:
            with contextlib.suppress(ImportError):  # the job itself will say what is missing
                import_module(module)
        try:
            Supervisor(harness).serve()
        finally:
            kill_descendants()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the harness to decide on
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # and clear up on the way
    main()
