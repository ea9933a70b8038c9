"""From an address to its files: download what is missing, unpack it, see that all is there."""

from pathlib import Path

from benchmark.data.digest import check, digest
from benchmark.data.fetch import address_of, fetch
from benchmark.data.files import Say, held, need_space, silent
from benchmark.data.folder import (
    State,
    archive_here,
    archive_path,
    lacking,
    locate,
    looked_up,
    state,
    unpacked_in_vain,
    why_missing,
)
from benchmark.data.sources import File, Wanted, wanted
from benchmark.data.unpack import ArchiveError, unpack
from benchmark.data.unpacked import remember
from benchmark.spec.errors import UserError
from benchmark.tasks.base import MissingDataError, Tell, quiet


def get(
    address: str,
    data_dir: Path,
    url: str | None = None,
    keep_archive: bool = False,
    tell: Tell = quiet,
    say: Say = silent,
) -> Path:
    """Bring the data of an address here, unless they are here already.

    An archive that was put into the data folder by hand is used, and left there. With an address in ``url`` it
    is used only if it is the published file; any other is downloaded anew, and the old one kept beside it.

    Args:
        address: such as imdb, lra or lra/listops.
        data_dir: the data folder, made if need be.
        url: instead of the published address, see ``fetch``.
        keep_archive: keep what was downloaded, instead of deleting it once it is unpacked.
        tell: told of bytes.
        say: told of each step.

    Returns:
        The folder below which the files lie.

    Raises:
        MissingDataError: if the archive lacks some of them, or is known to.
        UserError: if the data cannot be had or written, or are not what was published.
    """
    refuse_one_address_for_many([address], url)
    with held(data_dir / wanted(address).source.name / "data", say):
        found, before = looked_up(address, data_dir), state(address, data_dir)
        if before.status == "ready" and before.root is not None:
            unasked = f", so --url is not asked; remove that folder to get {address} anew" if url else ""
            say(f"{address} is complete in {before.root}{unasked}")
            return before.root
        if url is None and unpacked_in_vain(found, data_dir):
            raise MissingDataError(why_missing(before, data_dir))
        downloaded = _download(found, data_dir, url, tell, say)
        if not found.packed:
            return locate(address, data_dir)
        try:
            _unpack(found, data_dir, tell, say)
        except ArchiveError:  # so that the next call can download another
            _delete(downloaded)
            raise
        root = locate(address, data_dir)
        _delete([] if keep_archive else downloaded)
        return root


def _delete(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def unpack_here(address: str, data_dir: Path, tell: Tell = quiet, say: Say = silent) -> State:
    """What of an address is here, its archive unpacked if it still is packed. Raises UserError if that fails."""
    before = state(address, data_dir)
    if before.status != "packed":
        return before
    with held(data_dir / wanted(address).source.name / "data", say):
        if state(address, data_dir).status == "packed":  # another process may just have unpacked it
            _unpack(looked_up(address, data_dir), data_dir, tell, say)
    return state(address, data_dir)


def refuse_one_address_for_many(names: list[str], url: str | None) -> None:
    """Raise UserError if an address of one file is given for several."""
    files = [file for name in names for file in wanted(name).files]
    if url is not None and len(files) > 1 and len({address_of(file, url) for file in files}) == 1:
        raise UserError(f"{', '.join(names)}: {len(files)} files, so --url must be a folder or end with /, got {url!r}")


def _download(found: Wanted, data_dir: Path, url: str | None, tell: Tell, say: Say) -> list[Path]:
    """Download what is not here or was asked for from another address, and return where these files lie."""
    here = {file: archive_here(found, file, data_dir) for file in found.files}
    stay = {file for file, path in here.items() if path and _stays(file, path, url, tell, say)}
    goals = {file: archive_path(found, file, data_dir) for file in found.files if file not in stay}
    if goals:
        size_bytes = sum(file.size_bytes or 0 for file in goals) or found.source.download_bytes
        need_space(data_dir, size_bytes + (found.source.unpacked_bytes if found.packed else 0), found.address)
    for file, goal in goals.items():
        say(f"downloading {address_of(file, url)}")
        fetch(file, goal, url, tell, say, anew=url is not None)
    return [*goals.values()]


def _stays(file: File, path: Path, url: str | None, tell: Tell, say: Say) -> bool:
    """Whether a file that is here is used: where another address was named, only if it is the published one.

    Raises:
        UserError: if it is not the published one and no other address was named.
    """
    if url is None:
        check(file, path, tell)
        return True
    if not file.is_known or digest(path, tell).fault(file):
        return False
    say(f"{path} is the published file, so it is kept and --url is not asked")
    return True


def _unpack(found: Wanted, data_dir: Path, tell: Tell, say: Say) -> None:
    """Unpack every archive of the source; the folder of each has one of the names that ``folder.roots`` knows."""
    for file in found.files:
        archive = archive_here(found, file, data_dir)
        if archive is not None:
            say(f"unpacking {archive}")
            need_space(data_dir, found.source.unpacked_bytes, f"unpacking {archive.name}")
            goal = data_dir / found.source.name / found.source.folders[0]
            kept = unpack(archive, goal, tell)
            remember(archive, goal.parent, lacking(found.source, goal))
            if kept is not None:
                say(f"what was there is kept as {kept}")
