"""Resident memory of this process, now and at its highest."""

import resource
import sys
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def rss_bytes() -> int | None:
    """Resident memory now; None where the system does not tell."""
    return _status("VmRSS")


def rss_peak_bytes() -> int:
    """The most that has been resident since the start, or since the last ``reset_rss_peak`` that worked."""
    if (peak := _status("VmHWM")) is not None:
        return peak
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage if sys.platform == "darwin" else usage * 1024


def reset_rss_peak() -> bool:
    """Let the peak start anew from what is resident now. False where the system does not allow it."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return False
    return True


def _status(name: str) -> int | None:
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), None)
