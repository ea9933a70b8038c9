"""Archives are unpacked into a folder beside the goal, which then takes the goal's place: whole or not at all."""

import gzip
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from benchmark.data.files import aside, remove, writing
from benchmark.spec.errors import UserError
from benchmark.tasks.base import Tell, quiet

CHUNK_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
TAR_MAGIC, TAR_MAGIC_AT = b"ustar", 257
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile)


class ArchiveError(UserError):
    """An archive is damaged, or holds what no data set holds. Nothing of it has been kept."""


def unpack(archive: Path, goal: Path, tell: Tell = quiet) -> Path | None:
    """Unpack an archive so that its contents are the folder ``goal``.

    What it holds is seen from its contents, not from its name: a tar.gz, a zip, or a single gz file.
    A folder that holds everything else of the archive becomes the goal itself. What lay at the goal is
    kept beside it.

    Args:
        archive: the file.
        goal: the folder to be made; its parent exists.
        tell: told of bytes of the archive.

    Returns:
        Where what lay at the goal is now, None if nothing did.

    Raises:
        ArchiveError: if it is damaged or cut off, or has a member that would lie elsewhere.
        UserError: if it cannot be written.
    """
    staging = goal.with_name(f".{goal.name}.unpacking")
    with writing(goal):
        remove(staging)
        staging.mkdir(parents=True)
        try:
            _extract(archive, staging, tell)
            kept = aside(goal) if goal.exists() else None
            _only_folder(staging).replace(goal)
            return kept
        except DAMAGED as error:
            raise ArchiveError(f"{archive} is damaged or cut off: {error}; delete it and download it again") from None
        finally:
            remove(staging)


def _only_folder(staging: Path) -> Path:
    inside = list(staging.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else staging


def _extract(archive: Path, folder: Path, tell: Tell) -> None:
    if zipfile.is_zipfile(archive):
        return _extract_zip(archive, folder, tell)
    with archive.open("rb") as file:
        if file.read(len(GZIP_MAGIC)) != GZIP_MAGIC:
            raise ArchiveError(f"{archive} must be a tar.gz, a zip or a gz file, and is none; download it again")
        file.seek(0)
        with gzip.GzipFile(fileobj=file) as unzipped:
            is_tar = unzipped.peek(TAR_MAGIC_AT + len(TAR_MAGIC))[TAR_MAGIC_AT:].startswith(TAR_MAGIC)
            told = _teller(file, archive, tell)
            if is_tar:
                _extract_tar(unzipped, archive, folder, told)
            else:
                _extract_file(unzipped, folder / archive.stem, told)


def _teller(file: IO[bytes], archive: Path, tell: Tell) -> Callable[[], None]:
    """Tells how much of the compressed file has been read."""
    total = archive.stat().st_size
    return lambda: tell(file.tell(), total)


def _extract_tar(unzipped: gzip.GzipFile, archive: Path, folder: Path, told: Callable[[], None]) -> None:
    def checked(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        told()
        _refuse(archive, member.name, special=member.isdev())  # a device, a pipe
        try:
            return tarfile.data_filter(member, path)
        except tarfile.FilterError:
            raise _unsafe(archive, member.name, f"a link to {member.linkname}") from None

    with tarfile.open(fileobj=unzipped, mode="r|") as tar:
        tar.extractall(folder, filter=checked)
    while unzipped.read(CHUNK_BYTES):  # to the end, where gzip compares its checksum
        told()


def _extract_file(unzipped: gzip.GzipFile, path: Path, told: Callable[[], None]) -> None:
    with path.open("wb") as out:
        while data := unzipped.read(CHUNK_BYTES):
            out.write(data)
            told()


def _extract_zip(archive: Path, folder: Path, tell: Tell) -> None:
    with zipfile.ZipFile(archive) as packed:
        members = packed.infolist()
        total, done = sum(member.file_size for member in members), 0
        for member in members:
            _refuse(archive, member.orig_filename, special=stat.S_ISLNK(member.external_attr >> 16))
            packed.extract(member, folder)
            tell(done := done + member.file_size, total)


def _refuse(archive: Path, name: str, special: bool) -> None:
    """Raise ArchiveError for a member that would lie outside the folder, or is no plain file."""
    path = PurePosixPath(name.replace("\\", "/"))
    drive = path.parts[:1] and path.parts[0].endswith(":")
    if path.is_absolute() or ".." in path.parts or drive:
        raise _unsafe(archive, name, "a path out of the folder")
    if special:
        raise _unsafe(archive, name, "neither a file nor a folder")


def _unsafe(archive: Path, name: str, what: str) -> ArchiveError:
    return ArchiveError(
        f"{archive} is not safe to unpack: its member {name!r} is {what}; nothing was unpacked, "
        "download it from another address with --url"
    )
