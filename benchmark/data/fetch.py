"""Downloads of single files: resumed, checked while they stream, written whole or not at all."""

import contextlib
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import urlsplit

from benchmark.data.digest import Digest, check, digest
from benchmark.data.files import Say, aside, held, need_space, silent, sync, writing
from benchmark.data.sources import File
from benchmark.spec.errors import UserError
from benchmark.tasks.base import Tell, quiet

TIMEOUT_S = 30.0
"""Without a byte from the server."""
CHUNK_BYTES = 1 << 18
SCHEMES = ("https", "http", "file")


class DownloadError(UserError):
    """A file could not be downloaded. Says why, and what else can be done."""


def fetch(
    file: File, goal: Path, url: str | None = None, tell: Tell = quiet, say: Say = silent, anew: bool = False
) -> Path:
    """Download a file to ``goal``, unless the published one is there already.

    What has arrived is kept as NAME.part whatever happens, and the next call goes on from there. Of
    two processes one downloads, the other waits and finds the work done.

    Args:
        file: the published file.
        goal: where it shall lie.
        url: another address: https, http, file, or a path; a folder, or an address that ends with /,
            stands for a mirror of all files.
        tell: told of bytes.
        say: told who is waited for, and what was kept.
        anew: download it whatever is there, which is kept beside it.

    Returns:
        ``goal``.

    Raises:
        DownloadError: if it cannot be had, is an HTML page, or is not the published file.
        UserError: if it cannot be written, or the disk is too small.
    """
    address = address_of(file, url)
    with held(goal, say):
        if goal.exists() and not anew:
            check(file, goal, tell)
            return goal
        part = goal.with_name(f"{goal.name}.part")
        with _explained(address, goal):
            found = _download(address, file, part, tell)
        if fault := found.fault(file):
            part.unlink()
            raise DownloadError(f"{address} is not the published {file.name}: {fault}; it was deleted, {_else(goal)}")
        with writing(goal):
            sync(part)
            kept = aside(goal) if goal.exists() else None
            part.replace(goal)
        if kept:
            say(f"what was there is kept as {kept}")
    return goal


def address_of(file: File, url: str | None) -> str:
    """Where to download from. Raises UserError for an address of a kind that is not known."""
    if url is None:
        return file.url
    if "://" not in url:
        path = Path(url).expanduser().absolute()
        url = path.as_uri() + ("/" if path.is_dir() or url.endswith("/") else "")
    with contextlib.suppress(ValueError):  # what urlsplit raises for half an address
        if urlsplit(url).scheme in SCHEMES:
            return url + Path(file.name).name if url.endswith("/") else url
    raise UserError(f"--url must be a path or begin with https://, http:// or file://, got {url!r}")


def _else(goal: Path) -> str:
    return f"try another address with --url, or put the file at {goal} by hand"


@contextmanager
def _explained(address: str, goal: Path) -> Iterator[None]:
    """Turn what can go wrong between here and a server into one line."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(f"{address} answers {error.code} {error.reason}; {_else(goal)}") from None
    except urllib.error.URLError as error:
        why = getattr(error.reason, "strerror", None) or str(error.reason)
        raise DownloadError(f"{address} cannot be reached: {why}; {_else(goal)}") from None
    except (TimeoutError, ConnectionError, http.client.HTTPException) as error:
        why = f"nothing came for {TIMEOUT_S:g} s" if isinstance(error, TimeoutError) else str(error)
        raise DownloadError(f"{address} broke off: {why}; run the command again to go on, or {_else(goal)}") from None


class Reply(NamedTuple):
    """An open answer: from which byte of the file it starts, and how many the file has, None if unsaid."""

    address: str
    body: IO[bytes]
    start: int
    total: int | None


def _download(address: str, file: File, part: Path, tell: Tell) -> Digest:
    """Bring ``part`` to its full length and return its sums."""
    found = digest(part) if part.exists() else Digest()
    if found.size_bytes and found.size_bytes == file.size_bytes:
        return found
    reply = _ask(address, found.size_bytes, file)
    if reply is None:
        return found
    with reply.body:
        _refuse_size(reply, file)
        if reply.total is not None:
            need_space(part.parent, reply.total - reply.start, f"the rest of {file.name}")
        found = found if reply.start else Digest()
        _copy(reply, part, found, tell)
    if reply.total is not None and found.size_bytes < reply.total:
        raise http.client.HTTPException(f"{found.size_bytes:,} of {reply.total:,} bytes came")
    return found


def _ask(address: str, have_bytes: int, file: File) -> Reply | None:
    """Ask for what follows the first bytes; None if nothing does.

    A server that cannot go on from there, or goes on with another file, is asked for the whole.
    """
    if have_bytes and (file.size_bytes is None or have_bytes < file.size_bytes):
        try:
            reply = _open(address, have_bytes)
        except urllib.error.HTTPError as error:
            if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise
            error.close()
            if _total(error.headers.get("Content-Range", "")) == have_bytes:
                return None
        else:
            continues = reply.start == have_bytes and file.size_bytes in (None, reply.total)
            if continues or reply.start == 0:
                return reply
            reply.body.close()
    return _open(address, 0)


def _open(address: str, start: int) -> Reply:
    headers = {"User-Agent": "rotbench", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    body = urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=TIMEOUT_S)
    if "text/html" in body.headers.get("Content-Type", ""):
        body.close()
        raise _html(address)
    if body.status == http.client.PARTIAL_CONTENT:
        span = body.headers.get("Content-Range", "")
        first = re.match(r"bytes (\d+)-", span)
        return Reply(address, body, int(first.group(1)) if first else -1, _total(span))
    length = body.headers.get("Content-Length")
    return Reply(address, body, 0, int(length) if length and length.isdigit() else None)


def _total(content_range: str) -> int | None:
    """The length of the file in a Content-Range such as ``bytes 5-9/10`` or ``bytes */10``."""
    end = content_range.rpartition("/")[2]
    return int(end) if end.isdigit() else None


def _refuse_size(reply: Reply, file: File) -> None:
    if None not in (reply.total, file.size_bytes) and reply.total != file.size_bytes:
        raise DownloadError(
            f"{reply.address} is not the published {file.name}: it has {reply.total:,} bytes, "
            f"not {file.size_bytes:,}; try another address with --url"
        )


def _html(address: str) -> DownloadError:
    return DownloadError(
        f"{address} answers with an HTML page, not with data; open it in a browser to see what it says, "
        "or try another address with --url"
    )


def _copy(reply: Reply, part: Path, found: Digest, tell: Tell) -> None:
    """Append the answer to ``part``, or begin it anew, and add it to ``found``."""
    data = _read(reply.body)
    if not reply.start and data.lstrip()[:1] == b"<":
        raise _html(reply.address)
    with writing(part), part.open("ab" if reply.start else "wb") as out:
        while data:
            out.write(data)
            found.update(data)
            tell(found.size_bytes, reply.total or 0)
            data = _read(reply.body)


def _read(body: IO[bytes]) -> bytes:
    """The next bytes. A fault of the network comes as one that cannot be mistaken for one of the disk."""
    try:
        return body.read(CHUNK_BYTES)
    except TimeoutError:
        raise http.client.HTTPException(f"nothing came for {TIMEOUT_S:g} s") from None
    except OSError as error:
        raise http.client.HTTPException(error.strerror or str(error)) from None
