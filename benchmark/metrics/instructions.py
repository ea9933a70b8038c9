"""Instructions that a call executes, counted by the processor (perf) or by simulation (valgrind): hardly any noise.

A count is no time: it knows neither caches nor how many instructions run at once. But a busy machine
does not change it, so it is a second opinion where times scatter.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.spec.errors import Unsupported, UserError

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Counter:
    """A tool that counts the instructions of a command and all that it starts or forks."""

    name: str
    prefix: tuple[str, ...]
    """Words before the command; ``{log}`` stands for the file that the tool writes."""
    pattern: str
    """Of the count in that file."""
    variables: Mapping[str, str]
    """Environment that the command needs under the tool."""

    def command(self, words: Sequence[str], log: Path) -> list[str]:
        """The command under the tool."""
        return [*(word.replace("{log}", str(log)) for word in self.prefix), *words]

    def read(self, text: str) -> int | None:
        """The count in what the tool has written; None if there is none."""
        found = re.search(self.pattern, text, flags=re.MULTILINE)
        return int(found[1].replace(",", "")) if found else None


PERF = Counter(
    "perf", ("perf", "stat", "-x", ",", "-e", "instructions:u", "-o", "{log}", "--"), r"^(\d+),[^,]*,instructions:u", {}
)
VALGRIND = Counter(
    "valgrind",
    ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--log-file={log}"),
    r"I\s+refs:\s+([\d,]+)",
    {"ROTBENCH_NATIVE": "0"},  # built for this processor, which may know more instructions than valgrind does
)
COUNTERS = {counter.name: counter for counter in (PERF, VALGRIND)}


def find_counter(name: str = "auto", run: Run = subprocess.run) -> Counter:
    """The first counter that works here.

    Args:
        name: auto, perf or valgrind.
        run: what runs a command, as ``subprocess.run``.

    Raises:
        Unsupported: if none works, with the reason of each.
    """
    reasons = []
    for counter in [COUNTERS[name]] if name != "auto" else list(COUNTERS.values()):
        if shutil.which(counter.prefix[0]) is None:
            reasons.append(f"{counter.name} is not installed")
        elif count(["true"], counter, {}, run) is None:
            reasons.append(f"{counter.name} counts nothing here, as in most virtual machines and containers")
        else:
            return counter
    raise Unsupported(f"instructions cannot be counted: {'; '.join(reasons)}; install valgrind, or compare times")


def count(
    words: Sequence[str], counter: Counter, environment: Mapping[str, str], run: Run = subprocess.run
) -> int | None:
    """Instructions of a command; None if the counter has found none.

    Raises:
        UserError: if the command fails, with its last line.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "count"
        done = run(
            counter.command(words, log), env={**environment} or None, capture_output=True, text=True, check=False
        )
        found = counter.read(log.read_text(errors="replace")) if log.exists() else None
    if done.returncode and found is not None:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise UserError(f"the counted command must end well: {lines[-1]}")
    return found


def per_call(command_of: Callable[[int], Sequence[str]], counter: Counter, env: Mapping[str, str], calls: int) -> float:
    """Instructions of one call, start and compilation taken out: the difference of two commands over their calls.

    Args:
        command_of: from a number of calls to the command that makes them.
        counter: what counts.
        env: the command's environment.
        calls: by which the two commands differ, from 1.

    Raises:
        Unsupported: if the counter finds nothing.
        UserError: if a command fails.
    """
    few, many = (count(command_of(n), counter, env) for n in (1, 1 + calls))
    if few is None or many is None:
        raise Unsupported(f"{counter.name} has counted nothing of the call; try the other counter, or compare times")
    return (many - few) / calls
