"""A tiny data set, its archive, and a server that breaks off: for the tests of the data layer."""

import contextlib
import errno
import gzip
import hashlib
import http.server
import io
import re
import tarfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmark.data.sources import File, Need, Part, Source
from benchmark.tasks.base import Affine, Extra, Kind, Split, Splits, Task, quiet

ROOT = Path(__file__).parent.parent
BLOB = np.random.default_rng(0).bytes(600_000)
TREE = {"letters.txt": b"abc", "many/1.bin": BLOB, "many/2.bin": b"2", "many/3.bin": b"3"}


def tar_of(contents, prefix="tinydata/", extra=()):
    """A tar.gz of these files, and of further members as they are."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in contents.items():
            member = tarfile.TarInfo(prefix + name)
            member.size, member.mtime = len(data), 1_000_000_000
            tar.addfile(member, io.BytesIO(data))
        for member in extra:
            tar.addfile(member)
    return out.getvalue()


ARCHIVE = tar_of(TREE)


def file_of(data, name="tiny.tar.gz", url="http://127.0.0.1:9/tiny.tar.gz"):
    return File(name, url, len(data), hashlib.md5(data).hexdigest(), hashlib.sha256(data).hexdigest())


TINY = Source(
    name="tiny",
    files=(file_of(ARCHIVE),),
    parts={
        "letters": Part("Letters", (Need("letters.txt"),)),
        "many": Part("Many", (Need("many/*.bin", 3),)),
    },
    licence="none",
    citation="nobody",
    folders=("tinydata",),
)
PAIR = Source(
    name="pair",
    files=tuple(file_of(gzip.compress(data, mtime=0), f"{data.decode()}.gz") for data in (b"one", b"two")),
    parts={"": Part("Pair", (Need("one.gz", instead="one"), Need("two.gz", instead="two")))},
    licence="none",
    citation="nobody",
    packed=False,
)


def lay(root, contents=TREE):
    """Write files as an unpacked archive has them."""
    for name, data in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


class Server(http.server.ThreadingHTTPServer):
    """Serves one body under every path; tells of what it was asked."""

    daemon_threads = True

    def __init__(self, body, ranges=True, kind="application/gzip", stop_after=None, code=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.ranges, self.kind, self.stop_after, self.code = body, ranges, kind, stop_after, code
        self.asked = []
        self.stall = self.finish = False  # wait after ``stop_after`` bytes, and send the rest then

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/tiny.tar.gz"

    def handle_error(self, request, client_address):
        """A client that was killed is expected."""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server, wanted_range = self.server, self.headers["Range"]
        server.asked.append(wanted_range)
        if server.code:
            self.send_error(server.code)
            return
        start = int(re.match(r"bytes=(\d+)-", wanted_range)[1]) if wanted_range and server.ranges else 0
        if start and start >= len(server.body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(server.body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.body) - 1}/{len(server.body)}")
        self.send_header("Content-Type", server.kind)
        self.send_header("Content-Length", str(len(server.body) - start))
        self.end_headers()
        self.wfile.write(server.body[start : server.stop_after])
        self.wfile.flush()
        while server.stall:
            time.sleep(0.02)
        if server.finish and server.stop_after:
            self.wfile.write(server.body[server.stop_after :])

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def serving(body=ARCHIVE, **options):
    with Server(body, **options) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.stall = False
        server.shutdown()


def contents_of(root):
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def no_space(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@dataclass(frozen=True, kw_only=True)
class Counting(Task):
    """Says how often it was loaded."""

    name: ClassVar[str] = "counting"
    kinds: ClassVar[tuple[Kind, ...]] = ("real", "generated", "stand-in")
    archive: ClassVar[str | None] = "tiny/letters"
    loads: ClassVar[list[str]] = []
    size: int = 4

    def load(self, kind: Kind, folder: Path | None = None, tell=quiet) -> Splits:
        self.loads.append(kind)
        text = (folder / "letters.txt").read_bytes() if folder else b"xyz"
        inputs = np.frombuffer(text * self.size, np.uint8).reshape(self.size, -1)
        part = Split(inputs, np.arange(self.size), np.full(self.size, 3, np.int32))
        empty = Split(inputs[:0], np.arange(0))
        affine = Affine(np.zeros((3, 1), np.float32), np.float32([[2.0]]))
        return Splits(part, part, empty, affine, {"8khz": Extra(part, affine, 2.0), "other": Extra(empty)})
