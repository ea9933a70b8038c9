"""Whether what is here is as it was published or made: sums of archives, files that must be there, caches."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmark.data.arrays import DamagedError, read_arrays
from benchmark.data.cache import cache_root
from benchmark.data.digest import CHUNK_BYTES, digest
from benchmark.data.files import held, remove
from benchmark.data.folder import archive_here, locate, looked_up, matches, state
from benchmark.data.sources import SOURCES, File, Need, wanted
from benchmark.tasks.base import Tell, quiet


class Finding(NamedTuple):
    """What was looked at, and whether it is as it should be."""

    address: str
    place: Path
    good: bool
    detail: str


def addresses(names: list[str]) -> list[str]:
    """The addresses of all parts that are named, without repeats; all there are if none is named.

    >>> addresses(["lra/listops", "mnist"])
    ['lra/listops', 'mnist']

    Raises:
        UserError: for an unknown name.
    """
    listed = []
    for name in names or SOURCES:
        source = wanted(name).source
        listed += [name] if "/" in name else source.addresses
    return list(dict.fromkeys(listed))


def examine(listed: list[str], data_dir: Path, tell: Tell = quiet) -> list[Finding]:
    """Check the archives and the files of these addresses; what is not here at all is no finding.

    Args:
        listed: addresses.
        data_dir: the data folder.
        tell: told of the bytes of each archive.
    """
    archives: dict[Path, tuple[str, File]] = {}
    for address in listed:
        found = looked_up(address, data_dir)
        for file in found.files:
            if (path := archive_here(found, file, data_dir)) is not None:
                archives[path] = (found.source.name if found.packed else address, file)
    findings = [_examine_archive(address, path, file, tell) for path, (address, file) in archives.items()]
    return findings + [finding for address in listed for finding in _examine_files(address, data_dir)]


def _examine_archive(address: str, path: Path, file: File, tell: Tell) -> Finding:
    if not file.is_known:
        return Finding(address, path, True, "no sum of it has been published")
    fault = digest(path, tell).fault(file)
    return Finding(address, path, not fault, fault or "size and sums as published")


def _examine_files(address: str, data_dir: Path) -> list[Finding]:
    found = state(address, data_dir)
    if found.root is None:
        return []
    if found.missing:
        return [Finding(address, found.root, False, f"missing: {', '.join(found.missing)}")]
    root = locate(address, data_dir)
    here = [(need, matches(need, root)) for need in wanted(address).needs]
    wrong = [fault for need, names in here if (fault := _fault(need, names, root))]
    total = sum(len(names) for _, names in here)
    return [Finding(address, root, not wrong, "; ".join(wrong) or f"{total:,} files, all that are needed")]


def _fault(need: Need, names: list[str], root: Path) -> str:
    """In what files that satisfy a need differ from the published ones, in words; empty if in nothing."""
    if need.count and len(names) > need.count:
        return f"{len(names):,} {need.pattern}, not {need.count:,}"
    if need.lines and (lines := _lines_of(root / need.pattern)) != need.lines:
        return f"{need.pattern} has {lines:,} lines, not {need.lines:,}"
    if need.md5:
        fault = digest(root / need.pattern).fault(File(need.pattern, "", md5=need.md5))
        return f"{need.pattern} is not the published file: {fault}" if fault else ""
    return ""


def _lines_of(path: Path) -> int:
    """Ends of lines, and one more where the last line has none."""
    last, count = b"\n", 0
    with path.open("rb") as file:
        while data := file.read(CHUNK_BYTES):
            last, count = data[-1:], count + data.count(b"\n")
    return count + (last != b"\n")


def examine_caches(data_dir: Path, tasks: Iterable[str] | None = None, tell: Tell = quiet) -> list[Finding]:
    """Compare all checksums of what is kept of tasks; a damaged cache is deleted, as it can be made again.

    Args:
        data_dir: the data folder.
        tasks: names; all there are if None.
        tell: told of folders.
    """
    wanted_names = None if tasks is None else set(tasks)
    named = [(path.name.rpartition("-")[0], path) for path in sorted(cache_root(data_dir).glob("[!.]*-*/"))]
    listed = [(task, path) for task, path in named if wanted_names is None or task in wanted_names]
    findings = []
    for done, (task, path) in enumerate(listed, 1):
        findings.append(_examine_cache(task, path))
        tell(done, len(listed))
    return findings


def _examine_cache(task: str, folder: Path) -> Finding:
    if _cache_fault(folder):
        with held(folder):
            if fault := _cache_fault(folder):  # and no other process was just making it
                remove(folder)
                return Finding(task, folder, False, f"{fault}; this cache is deleted, and made again when it is needed")
    return Finding(task, folder, True, "all arrays are as they were written")


def _cache_fault(folder: Path) -> str:
    """In what a cache differs from what was written, in words; empty if in nothing."""
    try:
        read_arrays(folder, verified_bytes=math.inf)
    except DamagedError as error:
        return str(error)
    return ""
