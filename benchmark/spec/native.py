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
    """Compile a source file to a shared library, unless that has been done and what is kept is whole.

    Compilers are tried in turn; the reasons of all stand in the answer if none serves.

    Args:
        source: a C++ file.
        include: further folders of headers.
        version: of what is included.
    """
    if os.environ.get("ROTBENCH_NATIVE") == "0":
        return Built(None, "switched off by ROTBENCH_NATIVE=0")
    reasons = []
    for compiler in _compilers():
        try:
            return _kept_or_built(compiler, source, include, version)
        except subprocess.CalledProcessError as error:
            reasons.append(f"{compiler} fails: {_first_line(error.stderr)}")
        except (OSError, subprocess.SubprocessError) as error:
            reasons.append(f"{compiler}: {_first_line(str(error))}")
    return Built(None, "; ".join(reasons) or f"no C++ compiler here ({', '.join(COMPILERS)})")


def _compilers() -> list[str]:
    """Those on the path, each once: the names are often links to one program."""
    found = [path for name in COMPILERS if (path := shutil.which(name))]
    return list({Path(path).resolve(): path for path in reversed(found)}.values())[::-1]


def _kept_or_built(compiler: str, source: Path, include: Sequence[Path], version: str) -> Built:
    """The library of one compiler. A file's name ends in the sum of what it holds, so that a damaged one is seen."""
    from platformdirs import user_cache_path

    folder = user_cache_path("rotbench") / "native"
    name = f"{source.stem}-{_key(source, compiler, version)}"
    kept = sorted(folder.glob(f"{name}-*.so"))
    if whole := next((path for path in kept if _is_whole(path)), None):
        return Built(whole, "built earlier")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as staging:
        made = Path(staging) / f"{name}.so"
        paths = [f"-I{path}" for path in (source.parent, *include)]
        _run(compiler, *FLAGS, *paths, "-o", str(made), str(source))
        ctypes.CDLL(str(made))  # what cannot be loaded must not be kept
        target = made.replace(folder / f"{name}-{_sum(made)}.so")
    return Built(target, "built anew, as what was kept is damaged" if kept else "built now")


def _is_whole(path: Path) -> bool:
    """Whether a file holds what its name says, and loads; a damaged one would end the process, not raise."""
    if _sum(path) != path.stem.rpartition("-")[2]:
        return False
    try:
        ctypes.CDLL(str(path))
    except OSError:
        return False
    return True


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _key(source: Path, compiler: str, version: str) -> str:
    """Of everything that decides what is built: a cache may be shared by machines of several kinds."""
    digest = hashlib.sha256(" ".join((*FLAGS, version, platform.machine(), _processor())).encode())
    for path in sorted(path for path in source.parent.iterdir() if path.suffix in {".cpp", ".hpp"}):
        digest.update(path.read_bytes())
    digest.update(_run(compiler, "--version").encode())
    return digest.hexdigest()[:16]


def _run(*command: str) -> str:
    """What a program says on stdout; raises if it cannot be run, fails or takes too long."""
    return subprocess.run(
        command, check=True, capture_output=True, text=True, errors="replace", timeout=BUILD_TIMEOUT_S
    ).stdout


def _processor() -> str:
    """What this processor can do, as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "no message")
