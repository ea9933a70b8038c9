"""NVIDIA's management library behind one door: device, memory of a process, energy, clocks, throttling.

Everything here reads and nothing changes a setting. Where the library, the driver or a counter is
missing the answer is None, never 0. ``Nvml`` takes the module that talks to the driver, so that
tests bring a fake.
"""

import os
from importlib import import_module
from typing import Any

from benchmark.spec.devices import parse_device

THROTTLE_REASONS = {
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}


class Nvml:
    """The driver's view of one device, named as CUDA names it (cuda:1 among the visible ones)."""

    def __init__(self, index: int, module: Any = None, visible: str | None = None) -> None:
        """Find the device.

        Args:
            index: of the device among those that CUDA sees.
            module: nvidia-ml-py's ``pynvml`` if None.
            visible: CUDA_VISIBLE_DEVICES, from the environment if None.
        """
        self.reason: str | None = None
        self.handle: Any = None
        try:
            self.module = module if module is not None else import_module("pynvml")
            self.module.nvmlInit()
            listed = os.environ.get("CUDA_VISIBLE_DEVICES") if visible is None else visible
            self.handle = self._find(index, listed)
        except Exception as error:  # no library, no driver, no such device: all mean "not known"
            self.reason = f"NVML: {type(error).__name__}: {error}".strip()

    def _find(self, index: int, visible: str | None) -> Any:
        """The handle; names in CUDA_VISIBLE_DEVICES may be indices, UUIDs, prefixes of UUIDs, or MIG instances."""
        if visible is None:
            return self.module.nvmlDeviceGetHandleByIndex(index)
        name = [word.strip() for word in visible.split(",") if word.strip()][index]
        if name.isdecimal():
            return self.module.nvmlDeviceGetHandleByIndex(int(name))
        handles = [self.module.nvmlDeviceGetHandleByIndex(i) for i in range(self.module.nvmlDeviceGetCount())]
        handles += [mig for handle in list(handles) for mig in self._mig_instances(handle)]
        for handle in handles:
            if _text(self.module.nvmlDeviceGetUUID(handle)).startswith(name):
                return handle
        raise LookupError(f"no device {name} of CUDA_VISIBLE_DEVICES")

    def _mig_instances(self, handle: Any) -> list[Any]:
        found = []
        try:
            for i in range(self.module.nvmlDeviceGetMaxMigDeviceCount(handle)):
                found.append(self.module.nvmlDeviceGetMigDeviceHandleByIndex(handle, i))
        except Exception:  # the end of the instances, or a device without MIG
            return found
        return found

    def _ask(self, name: str, *arguments: Any) -> Any:
        """One question; None if there is no answer."""
        if self.handle is None:
            return None
        try:
            return getattr(self.module, name)(self.handle, *arguments)
        except Exception:  # not supported on this device, or not permitted
            return None

    def process_bytes(self, pid: int | None = None) -> int | None:
        """Device memory that a process holds, this one if None."""
        wanted = pid or os.getpid()
        for process in self._ask("nvmlDeviceGetComputeRunningProcesses") or []:
            if process.pid == wanted:
                return process.usedGpuMemory
        return None

    def other_processes(self) -> list[int] | None:
        """Process ids of others that compute on the device; None if unknown."""
        found = self._ask("nvmlDeviceGetComputeRunningProcesses")
        return None if found is None else [p.pid for p in found if p.pid != os.getpid()]

    def energy_j(self) -> float | None:
        """Energy since the driver was loaded, joules (Volta and newer)."""
        millijoules = self._ask("nvmlDeviceGetTotalEnergyConsumption")
        return None if millijoules is None else millijoules / 1000

    def power_w(self) -> float | None:
        """Power now, watts."""
        milliwatts = self._ask("nvmlDeviceGetPowerUsage")
        return None if milliwatts is None else milliwatts / 1000

    def state(self) -> dict[str, Any]:
        """Clocks, temperature and reasons for throttling now; only what is known."""
        mask = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        found = {
            "sm_clock_mhz": self._ask("nvmlDeviceGetClockInfo", 1),
            "memory_clock_mhz": self._ask("nvmlDeviceGetClockInfo", 2),
            "temperature_c": self._ask("nvmlDeviceGetTemperature", 0),
            "power_w": self.power_w(),
            "other_processes": self.other_processes(),
            "throttled_by": None if mask is None else [text for bit, text in THROTTLE_REASONS.items() if mask & bit],
        }
        return {name: value for name, value in found.items() if value is not None}

    def description(self) -> dict[str, Any]:
        """What the device is and how it is set; only what is known."""
        found = {
            "gpu": _text(self._ask("nvmlDeviceGetName")),
            "gpu_memory_bytes": getattr(self._ask("nvmlDeviceGetMemoryInfo"), "total", None),
            "power_limit_w": _per_thousand(self._ask("nvmlDeviceGetEnforcedPowerLimit")),
            "ecc": _first(self._ask("nvmlDeviceGetEccMode")),
            "persistence": self._ask("nvmlDeviceGetPersistenceMode"),
            "max_sm_clock_mhz": self._ask("nvmlDeviceGetMaxClockInfo", 1),
            "driver": _text(self.module.nvmlSystemGetDriverVersion()) if self.handle is not None else None,
        }
        return {name: value for name, value in found.items() if value is not None}


def nvml_of(device: str) -> Nvml | None:
    """The driver's view of a device by its name; None of one that is no GPU."""
    kind, index = parse_device(device)
    return Nvml(index) if kind == "cuda" else None


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _per_thousand(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list | tuple) and value else value
