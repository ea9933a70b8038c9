"""The processor's state while measuring: frequency, throttling, load. Read, never changed."""

import os
from pathlib import Path
from typing import Any

from benchmark.metrics.nvml import Nvml

CPU = Path("/sys/devices/system/cpu")


def state(nvml: Nvml | None = None, cpu: Path = CPU) -> dict[str, Any]:
    """What is known now: of the GPU if one works, and of the processor."""
    found: dict[str, Any] = {"load_1min": os.getloadavg()[0]}
    frequency = _number(cpu / "cpu0/cpufreq/scaling_cur_freq")
    if frequency is not None:
        found["cpu_mhz"] = frequency / 1000
    throttles = [_number(path) for path in cpu.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")]
    if throttles:
        found["cpu_throttle_count"] = sum(count or 0 for count in throttles)
    return found | (nvml.state() if nvml else {})


def governor(cpu: Path = CPU) -> str | None:
    """The policy that sets the processor's frequency."""
    try:
        return (cpu / "cpu0/cpufreq/scaling_governor").read_text().strip()
    except OSError:
        return None


def warnings(before: dict[str, Any], after: dict[str, Any], cpus: int) -> list[str]:
    """Plain words on what may have disturbed a measurement between two states."""
    said = []
    if after.get("cpu_throttle_count", 0) > before.get("cpu_throttle_count", 0):
        said.append("the processor throttled for heat")
    reasons = {*before.get("throttled_by", []), *after.get("throttled_by", [])}
    if reasons:
        said.append(f"the GPU was throttled: {', '.join(sorted(reasons))}")
    others = {*before.get("other_processes", []), *after.get("other_processes", [])}
    if others:
        said.append(f"{len(others)} other processes computed on the GPU")
    if before["load_1min"] > cpus:
        said.append(f"other processes kept the machine busy (load {before['load_1min']:.1f} on {cpus} CPUs)")
    return said


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
