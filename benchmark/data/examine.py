"""Whether what is here is what was published: sums of archives, files that must be there, and how many."""

from pathlib import Path
from typing import NamedTuple

from benchmark.data.digest import digest
from benchmark.data.folder import archive_here, locate, looked_up, matches, state
from benchmark.data.sources import SOURCES, File, wanted
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
    if file.size_bytes is None and not file.md5 and not file.sha256:
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
    counts = [(need, len(matches(need, root))) for need in wanted(address).needs]
    wrong = [
        f"{here:,} {need.pattern}, not {need.count:,}" for need, here in counts if need.count and here > need.count
    ]
    total = sum(here for _, here in counts)
    return [Finding(address, root, not wrong, "; ".join(wrong) or f"{total:,} files, all that are needed")]
