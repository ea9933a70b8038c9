"""What a result was measured on: hardware, versions, commit. No host or user name."""

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from benchmark.backends import FRAMEWORKS
from benchmark.metrics.machine import governor

PACKAGES = ("rotbench", *FRAMEWORKS, "jaxlib", "optax", "numpy")


def environment() -> dict[str, Any]:
    """A record of this machine and installation, as JSON values."""
    commit, dirty = git_state(Path(__file__).resolve().parents[2])
    return {
        "cpu": cpu_model(),
        "cores": psutil.cpu_count(logical=False),
        "cpus": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "load_1min": os.getloadavg()[0],
        "cpu_governor": governor(),
        "system": f"{platform.system()} {platform.machine()}",
        "os": os_major(),
        "python": platform.python_version(),
        "versions": versions(),
        "commit": commit,
        "dirty": dirty,
    }


def versions() -> dict[str, str]:
    """Installed versions of the packages that decide a result."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def os_major() -> str | None:
    """Name and major version of the distribution, such as Debian 12, where the system tells."""
    try:
        found = platform.freedesktop_os_release()
    except OSError:
        return None
    return f"{found['ID'].capitalize()} {found.get('VERSION_ID', '').split('.')[0]}".strip()


def cpu_model() -> str:
    """The processor's own name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def git_state(folder: Path) -> tuple[str | None, bool | None]:
    """Commit and whether the tree differs from it; None, None outside a checkout of this project."""
    if not (folder / ".git").exists():
        return None, None
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return commit, bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
