"""From an address to its files: download what is missing, unpack it, see that all is there."""

from pathlib import Path

from benchmark.data.digest import check
from benchmark.data.fetch import address_of, fetch
from benchmark.data.files import Say, held, need_space, silent
from benchmark.data.folder import archive_here, archive_path, locate, looked_up, state
from benchmark.data.sources import Wanted, wanted
from benchmark.data.unpack import ArchiveError, unpack
from benchmark.spec.errors import UserError
from benchmark.tasks.base import Tell, quiet


def get(
    address: str,
    data_dir: Path,
    url: str | None = None,
    keep_archive: bool = False,
    tell: Tell = quiet,
    say: Say = silent,
) -> Path:
    """Bring the data of an address here, unless they are here already.

    An archive that was put into the data folder by hand is used, and left there.

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
        UserError: if the data cannot be had or written, or are not what was published.
    """
    found = looked_up(address, data_dir)
    refuse_one_address_for_many([address], url)
    with held(data_dir / found.source.name / "data", say):
        before = state(address, data_dir)
        if before.status == "ready" and before.root is not None:
            say(f"{address} is complete in {before.root}")
            return before.root
        downloaded = _download(found, data_dir, url, tell, say)
        if found.packed:
            try:
                _unpack(found, data_dir, tell, say)
            except ArchiveError:  # so that the next call can download another
                for path in downloaded:
                    path.unlink(missing_ok=True)
                raise
        root = locate(address, data_dir)
        for path in downloaded if found.packed and not keep_archive else ():
            path.unlink()
        return root


def unpack_here(address: str, data_dir: Path, tell: Tell = quiet, say: Say = silent) -> None:
    """Unpack an archive that is here, unless another process has just done so. Raises UserError if that fails."""
    found = looked_up(address, data_dir)
    with held(data_dir / found.source.name / "data", say):
        if state(address, data_dir).status == "packed":
            _unpack(found, data_dir, tell, say)


def refuse_one_address_for_many(names: list[str], url: str | None) -> None:
    """Raise UserError if an address of one file is given for several."""
    files = [file for name in names for file in wanted(name).files]
    if url is not None and len(files) > 1 and len({address_of(file, url) for file in files}) == 1:
        raise UserError(f"{', '.join(names)}: {len(files)} files, so --url must be a folder or end with /, got {url!r}")


def _download(found: Wanted, data_dir: Path, url: str | None, tell: Tell, say: Say) -> list[Path]:
    """Check the files that are here, download the others, and return these."""
    here = {file: archive_here(found, file, data_dir) for file in found.files}
    for file, path in here.items():
        if path is not None:
            check(file, path, tell)
    absent = {file: archive_path(found, file, data_dir) for file, path in here.items() if path is None}
    if absent:
        size_bytes = sum(file.size_bytes or 0 for file in absent) or found.source.download_bytes
        need_space(data_dir, size_bytes + (found.source.unpacked_bytes if found.packed else 0), found.address)
    for file, goal in absent.items():
        say(f"downloading {address_of(file, url)}")
        fetch(file, goal, url, tell, say)
    return [*absent.values()]


def _unpack(found: Wanted, data_dir: Path, tell: Tell, say: Say) -> None:
    """Unpack every archive of the source; the folder of each has one of the names that ``folder.roots`` knows."""
    for file in found.files:
        archive = archive_here(found, file, data_dir)
        if archive is not None:
            say(f"unpacking {archive}")
            need_space(data_dir, found.source.unpacked_bytes, f"unpacking {archive.name}")
            kept = unpack(archive, data_dir / found.source.name / found.source.folders[0], tell)
            if kept is not None:
                say(f"what was there is kept as {kept}")
