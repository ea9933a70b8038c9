"""Energy of a span of work, from a counter or from power read along the way, or None with the reason."""

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmark.metrics.nvml import Nvml

RAPL = Path("/sys/class/powercap")


class Energy(NamedTuple):
    """Joules, and how they were found or why they were not."""

    joules: float | None
    how: str


class EnergyMeter:
    """Use as a context around the work; ``result`` is there afterwards.

    A GPU's energy comes from its counter, else from power integrated over time. A processor's comes
    from RAPL, where the system lets it be read. Idle power is not taken off.
    """

    def __init__(
        self,
        nvml: Nvml | None = None,
        rapl: Path = RAPL,
        clock: Callable[[], float] = time.monotonic,
        interval_s: float = 0.05,
    ) -> None:
        """Args: nvml, of the GPU that works, None on a CPU; rapl, clock and interval_s for tests."""
        self.nvml, self.rapl, self.clock, self.interval_s = nvml, rapl, clock, interval_s
        self.result = Energy(None, "not measured")

    def __enter__(self) -> "EnergyMeter":
        """Read the counter, or start to read power."""
        self.start = self._counter()
        self.done = threading.Event()
        self.readings: list[tuple[float, float]] = []
        self.reader: threading.Thread | None = None
        if self.start is None and self.nvml is not None and self.nvml.power_w() is not None:
            self.reader = threading.Thread(target=self._read_power, daemon=True)
            self.reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Read again and set the result."""
        self.done.set()
        if self.reader:
            self.reader.join()
        self.result = self.so_far()

    def so_far(self) -> Energy:
        """Of the work since the context was entered."""
        end = self._counter()
        if self.start is not None and end is not None:
            wrapped = end < self.start  # a counter that began anew
            how = "NVML energy counter" if self.nvml else "RAPL"
            return Energy(None, f"{how} wrapped around") if wrapped else Energy(end - self.start, how)
        readings = list(self.readings)
        if len(readings) > 1:
            joules = sum((t1 - t0) * (p0 + p1) / 2 for (t0, p0), (t1, p1) in pairwise(readings))
            return Energy(joules, "NVML power, integrated")
        return Energy(None, self._why_not())

    def _counter(self) -> float | None:
        """Joules so far, by the GPU's counter or the sum of all processor packages."""
        if self.nvml is not None:
            return self.nvml.energy_j()
        try:
            counters = [int(path.read_text()) for path in self.rapl.glob("intel-rapl:[0-9]*/energy_uj")]
        except OSError:
            return None
        return sum(counters) / 1e6 if counters else None

    def _read_power(self) -> None:
        while self.nvml is not None and (power := self.nvml.power_w()) is not None:
            self.readings.append((self.clock(), power))
            if self.done.wait(self.interval_s):
                self.readings.append((self.clock(), power))
                return

    def _why_not(self) -> str:
        if self.nvml is not None:
            return self.nvml.reason or "NVML tells neither energy nor power of this device"
        return "no RAPL counter that may be read" if self.rapl.exists() else "no RAPL here"
