"""What of the data is here: the data folder, the layouts in which data sets are met, and what is missing."""

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import platformdirs

from benchmark.data.sources import File, Need, Source, Wanted, wanted
from benchmark.data.unpacked import is_lacking
from benchmark.spec.errors import UserError
from benchmark.tasks.base import MissingDataError

VARIABLE = "ROTBENCH_DATA"
NAMED_AT_MOST = 6
"""Missing files that an error lists; ``rotbench data status`` lists all."""

Status = Literal["ready", "packed", "partial", "absent"]


class State(NamedTuple):
    """What of one address is here."""

    address: str
    status: Status
    """ready: all files; packed: the archive only; partial: some files; absent: none."""
    root: Path | None
    """The folder below which the files lie, or the first ones of them."""
    archives: tuple[Path, ...]
    """Downloaded files that are not unpacked, or that were kept."""
    missing: tuple[str, ...]
    """Files that must be there and are not; of many of one kind, how many."""
    cure: str
    """What to do, empty if nothing."""


def data_dir(given: Path | None = None) -> Path:
    """The data folder: as given, else of the variable ROTBENCH_DATA, else the user's folder for data.

    Raises:
        UserError: if there is something else than a folder.
    """
    named = given or os.environ.get(VARIABLE) or platformdirs.user_data_path("rotbench")
    folder = Path(named).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"the data folder must be a folder, got the file {folder}; name another with --data-dir")
    return folder


def state(source: str, data_dir: Path, part: str | None = None) -> State:
    """What of a source, or of one part of it, is here.

    Args:
        source: a name in ``SOURCES``, or an address such as lra/listops.
        data_dir: the data folder.
        part: the part, unless the address names it.

    Raises:
        UserError: for an unknown name.
    """
    found = looked_up(f"{source}/{part}" if part else source, data_dir)
    root, missing = _best_root(found, roots(found, data_dir))
    archives = tuple(path for file in found.files if (path := archive_here(found, file, data_dir)))
    if root is not None and not missing:
        return State(found.address, "ready", root, archives, (), "")
    in_vain = unpacked_in_vain(found, data_dir)
    packed = found.packed and root is None and len(archives) == len(found.files) and not in_vain
    status: Status = "packed" if packed else "absent" if root is None else "partial"
    return State(found.address, status, root, archives, missing, _cure(found.address, packed, in_vain))


def _cure(address: str, packed: bool, in_vain: Path | None) -> str:
    command = f"`rotbench data get {address}`"
    if in_vain:
        return f"{in_vain} has been unpacked and lacks them: remove it and run {command}, or add --url ADDRESS to that"
    return f"{command} {'unpacks' if packed else 'gets'} it"


def unpacked_in_vain(found: Wanted, data_dir: Path) -> Path | None:
    """The archive that is here, has been unpacked, and did not hold what is wanted; None if there is none such."""
    folder = data_dir / found.source.name
    archives = [archive_here(found, file, data_dir) for file in found.files if found.packed]
    return next((path for path in archives if path and is_lacking(path, folder, found.address)), None)


def locate(source: str, data_dir: Path, part: str | None = None) -> Path:
    """The folder below which the files of a source, or of one part of it, lie.

    Args:
        source: a name in ``SOURCES``, or an address such as lra/listops.
        data_dir: the data folder.
        part: the part, unless the address names it.

    Raises:
        MissingDataError: if a file is missing; says which, and the command that gets it.
        UserError: for an unknown name.
    """
    return root_of(state(source, data_dir, part), data_dir)


def root_of(found: State, data_dir: Path) -> Path:
    """The root of a state that is ready. Raises MissingDataError for any other."""
    if found.status == "ready" and found.root is not None:
        return found.root
    raise MissingDataError(why_missing(found, data_dir))


def why_missing(found: State, data_dir: Path) -> str:
    """One line for a state that is not ready."""
    if found.status == "packed":
        return f"{found.address} is here but still packed, as {found.archives[0]}; {found.cure}"
    rest = len(found.missing) - NAMED_AT_MOST
    names = ", ".join(found.missing[:NAMED_AT_MOST]) + (f" and {rest} more" if rest > 0 else "")
    return f"{found.address} is not complete in {found.root or data_dir}: missing {names}; {found.cure}"


def looked_up(address: str, data_dir: Path) -> Wanted:
    """What an address stands for: with the archive of its whole source, where that is here, before single files.

    An archive that is known to lack them does not count.

    Raises:
        UserError: for an unknown name.
    """
    found = wanted(address)
    whole = replace(found, files=found.source.files, packed=found.source.packed)
    archive_is_here = whole.packed and all(archive_here(whole, file, data_dir) for file in whole.files)
    return whole if archive_is_here and not unpacked_in_vain(whole, data_dir) else found


def archive_path(found: Wanted, file: File, data_dir: Path) -> Path:
    """Where ``get`` puts a downloaded file, and where it may be put by hand."""
    return data_dir / found.source.name / file.name


def archive_here(found: Wanted, file: File, data_dir: Path) -> Path | None:
    """Where a downloaded file lies, in the source's folder or beside it; None if it does not."""
    return next(filter(Path.is_file, (archive_path(found, file, data_dir), data_dir / file.name)), None)


def lacking(source: Source, root: Path) -> list[str]:
    """The addresses of a source, its own included, whose files are not all in a folder or nested in it."""
    places = (root, *(root / name for name in source.folders))
    addresses = dict.fromkeys([source.name, *source.addresses])
    return [address for address in addresses if _best_root(wanted(address), places)[1]]


def _best_root(found: Wanted, places: Iterable[Path]) -> tuple[Path | None, tuple[str, ...]]:
    """The folder that lacks the least, None if all lack everything, and what it lacks."""
    nothing = _missing(found.needs, None)
    best: tuple[Path | None, tuple[str, ...]] = (None, nothing)
    for root in places:
        missing = _missing(found.needs, root)
        if missing != nothing and (best[0] is None or len(missing) < len(best[1])):
            best = (root, missing)
        if not missing:
            break
    return best


def roots(found: Wanted, data_dir: Path) -> Iterator[Path]:
    """Folders in which the files may lie: the archive's own, nested in itself or not, the source's, the data folder."""
    own = data_dir / found.source.name
    for base in (own, data_dir):
        for name in found.source.folders:
            yield from (base / name / name, base / name)
    yield from (own, data_dir)


def _missing(needs: tuple[Need, ...], root: Path | None) -> tuple[str, ...]:
    return tuple(text for need in needs if (text := _lack(need, root)))


def _lack(need: Need, root: Path | None) -> str:
    """What is missing of one need, in words; empty if nothing is."""
    here = len(matches(need, root)) if root else 0
    if here >= (need.count or 1):
        return ""
    return f"{need.count - here:,} of {need.count:,} {need.pattern}" if need.count else need.pattern


def matches(need: Need, root: Path) -> list[str]:
    """The files or folders that satisfy a need, as paths below the root, sorted; hidden ones do not count."""
    if need.is_glob:
        return sorted(glob.glob(need.pattern, root_dir=root))
    return [name for name in (need.pattern, need.instead) if name and (root / name).is_file()][:1]
