"""Builds the compiled recurrences (calls.cpp) on first use, for both frameworks, and says why where it cannot.

It needs a C++ compiler and nothing of Python's. What was built lies in the user's cache, by source,
compiler and processor. ``ROTBENCH_NATIVE=0`` does without.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("calls.cpp")
FLAGS = ("-O3", "-march=native", "-std=c++17", "-fno-math-errno", "-fPIC", "-shared", "-pthread")
COMPILERS = ("c++", "g++", "clang++")
BUILD_TIMEOUT_S = 120

CALLS = {"scan": (4, 3), "correlate": (4, 3), "channels": (5, 4), "channel_gradients": (8, 4)}
"""Of calls.cpp: how many arrays each takes, and how many sizes; then whether in reverse, and threads."""

KEPT_STEPS = 128
"""Steps from one state that a per-channel recurrence keeps to the next, as channels.hpp has it."""


class Built(NamedTuple):
    """A library's path, or why there is none."""

    path: Path | None
    reason: str


@cache
def library() -> ctypes.CDLL | None:
    """The calls of calls.cpp; None where they cannot be built, see ``build``."""
    built = build(SOURCE)
    if built.path is None:
        return None
    loaded = ctypes.CDLL(str(built.path))
    for name in ("f32", "f64"):
        for call, (arrays, sizes) in CALLS.items():
            function = getattr(loaded, f"rotbench_{call}_{name}")
            kinds = [ctypes.c_void_p] * arrays + [ctypes.c_int64] * sizes + [ctypes.c_int] * 2
            function.argtypes, function.restype = kinds, None
    return loaded


@cache
def build(source: Path, include: Sequence[Path] = (), version: str = "") -> Built:
    """Compile a source file to a shared library, unless that has been done.

    Args:
        source: a C++ file.
        include: further folders of headers.
        version: of what is included.
    """
    if os.environ.get("ROTBENCH_NATIVE") == "0":
        return Built(None, "switched off by ROTBENCH_NATIVE=0")
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        return Built(None, f"no C++ compiler here ({', '.join(COMPILERS)})")
    from platformdirs import user_cache_path

    folder = user_cache_path("rotbench") / "native"
    target = folder / f"{source.stem}-{_key(source, compiler, version)}.so"
    if target.exists():
        return Built(target, "built earlier")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as staging:
            made = Path(staging) / target.name
            paths = [f"-I{path}" for path in (source.parent, *include)]
            command = [compiler, *FLAGS, *paths, "-o", str(made), str(source)]
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S)
            ctypes.CDLL(str(made))  # what cannot be loaded must not be kept
            made.replace(target)
    except subprocess.CalledProcessError as error:
        return Built(None, f"{compiler} fails: {_first_line(error.stderr)}")
    except (OSError, subprocess.SubprocessError) as error:
        return Built(None, f"{compiler}: {_first_line(str(error))}")
    return Built(target, "built now")


def _key(source: Path, compiler: str, version: str) -> str:
    """Of everything that decides what is built: a cache may be shared by machines of several kinds."""
    digest = hashlib.sha256(" ".join((*FLAGS, version, platform.machine(), _processor())).encode())
    for path in sorted(path for path in source.parent.iterdir() if path.suffix in {".cpp", ".hpp"}):
        digest.update(path.read_bytes())
    digest.update(subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout)
    return digest.hexdigest()[:16]


def _processor() -> str:
    """What this processor can do, as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "no message")
