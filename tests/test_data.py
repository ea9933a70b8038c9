"""The data layer: downloads that break off, archives that lie, layouts, and caches that are built once."""

import contextlib
import errno
import gzip
import hashlib
import http.server
import io
import json
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmark.commands.data import data_app
from benchmark.console import ExitError
from benchmark.data import cache, files, folder
from benchmark.data.arrays import flatten, read_arrays
from benchmark.data.examine import addresses, examine
from benchmark.data.fetch import address_of, fetch
from benchmark.data.get import get
from benchmark.data.sources import SOURCES, File, Need, Part, Source, wanted
from benchmark.data.unpack import ArchiveError, unpack
from benchmark.spec.errors import UserError
from benchmark.tasks.base import Affine, Extra, Kind, MissingDataError, Split, Splits, Task, quiet

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


@pytest.fixture(autouse=True)
def tiny_sources(monkeypatch):
    monkeypatch.setitem(SOURCES, "tiny", TINY)
    monkeypatch.setitem(SOURCES, "pair", PAIR)


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


# sources


def test_registry_names_and_sums_are_well_formed():
    for name, source in SOURCES.items():
        assert source.name == name and source.files and source.parts
        assert source.packed == bool(source.folders) or not source.packed
        for file in (*source.files, *(f for part in source.parts.values() for f in part.files)):
            assert file.url.startswith(("https://", "http://127.0.0.1"))
            assert not file.md5 or re.fullmatch("[0-9a-f]{32}", file.md5)
            assert not file.sha256 or re.fullmatch("[0-9a-f]{64}", file.sha256)


def test_addresses_name_sources_and_parts():
    assert wanted("tiny").needs == (Need("letters.txt"), Need("many/*.bin", 3))
    assert wanted("tiny/many").needs == (Need("many/*.bin", 3),)
    assert wanted("lra/listops").packed is False and len(wanted("lra/listops").files) == 3
    assert wanted("lra/retrieval").files == SOURCES["lra"].files
    assert addresses(["tiny", "pair", "tiny/many"]) == ["tiny/letters", "tiny/many", "pair"]
    with pytest.raises(UserError, match="unknown data set 'tny'; known: lra, imdb"):
        wanted("tny")
    with pytest.raises(UserError, match="unknown part of tiny 'few'; known: letters, many"):
        wanted("tiny/few")


# the folder


def test_the_data_folder_is_the_option_then_the_variable_then_the_users(tmp_path, monkeypatch):
    monkeypatch.setenv("ROTBENCH_DATA", str(tmp_path / "variable"))
    assert folder.data_dir(tmp_path / "option") == tmp_path / "option"
    assert folder.data_dir() == tmp_path / "variable"
    monkeypatch.delenv("ROTBENCH_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    assert folder.data_dir().name == "rotbench"
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="must be a folder, got the file"):
        folder.data_dir(tmp_path / "file")


@pytest.mark.parametrize(
    "place", ["tiny", "tiny/tinydata", "tiny/tinydata/tinydata", "tinydata", "tinydata/tinydata", "."]
)
def test_every_layout_is_recognised(tmp_path, place):
    root = lay(tmp_path / place)
    assert folder.locate("tiny", tmp_path) == root
    assert folder.state("tiny", tmp_path) == folder.State("tiny", "ready", root, (), (), "")


def test_a_part_is_enough_for_its_task(tmp_path):
    root = lay(tmp_path / "tinydata", {"letters.txt": b"a"})
    assert folder.locate("tiny", tmp_path, part="letters") == folder.locate("tiny/letters", tmp_path) == root
    with pytest.raises(
        MissingDataError, match=r"tiny/many .* missing 3 of 3 many/\*.bin; `rotbench data get tiny/many`"
    ):
        folder.locate("tiny", tmp_path, part="many")


def test_missing_files_are_listed_and_hidden_ones_do_not_count(tmp_path):
    lay(tmp_path / "tiny", {"many/1.bin": b"1", "many/.2.bin": b"2"})
    found = folder.state("tiny", tmp_path)
    assert found.status == "partial" and found.root == tmp_path / "tiny"
    assert found.missing == ("letters.txt", "2 of 3 many/*.bin")
    assert folder.state("pair", tmp_path).missing == ("one.gz", "two.gz")


def test_the_fullest_of_several_folders_counts(tmp_path):
    lay(tmp_path / "tiny/tinydata", {"letters.txt": b"a"})
    root = lay(tmp_path / "tinydata")
    assert folder.locate("tiny", tmp_path) == root


@pytest.mark.parametrize("place", ["tiny.tar.gz", "tiny/tiny.tar.gz"])
def test_a_packed_archive_is_recognised(tmp_path, place):
    lay(tmp_path, {place: ARCHIVE})
    found = folder.state("tiny/many", tmp_path)
    assert found.status == "packed" and found.archives == (tmp_path / place,)
    with pytest.raises(MissingDataError, match=r"still packed.*`rotbench data get tiny/many` unpacks it"):
        folder.locate("tiny/many", tmp_path)


def test_unpacked_names_will_do_where_a_reader_takes_both(tmp_path):
    lay(tmp_path / "pair", {"one": b"1", "two.gz": b"2"})
    assert folder.locate("pair", tmp_path) == tmp_path / "pair"


# downloads


def test_a_download_arrives_whole_and_tells_of_progress(tmp_path):
    told = []
    with serving() as server:
        path = fetch(TINY.files[0], tmp_path / "new" / "a.gz", server.url, lambda done, of: told.append((done, of)))
    assert path.read_bytes() == ARCHIVE
    assert told[-1] == (len(ARCHIVE), len(ARCHIVE)) and told == sorted(told)
    assert not path.with_name("a.gz.part").exists()


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_goes_on_where_it_stopped(tmp_path, ranges):
    (tmp_path / "a.gz.part").write_bytes(ARCHIVE[:1000])
    with serving(ranges=ranges) as server:
        assert fetch(TINY.files[0], tmp_path / "a.gz", server.url).read_bytes() == ARCHIVE
    assert server.asked == ["bytes=1000-"]


def test_a_part_that_is_complete_needs_no_server(tmp_path):
    (tmp_path / "a.gz.part").write_bytes(ARCHIVE)
    assert fetch(TINY.files[0], tmp_path / "a.gz").read_bytes() == ARCHIVE


@pytest.mark.parametrize(("have", "asked"), [(0, ["bytes={}-"]), (7, ["bytes={}-", None])])
def test_without_a_published_size_the_server_says_when_all_is_here(tmp_path, have, asked):
    """Of a .part that is complete nothing follows; one that is longer is of another file."""
    part = ARCHIVE + b"x" * have
    (tmp_path / "a.gz.part").write_bytes(part)
    with serving() as server:
        assert fetch(File("a.gz", server.url), tmp_path / "a.gz").read_bytes() == ARCHIVE
    assert server.asked == [text and text.format(len(part)) for text in asked]


def test_a_part_longer_than_the_file_is_dropped(tmp_path):
    (tmp_path / "a.gz.part").write_bytes(ARCHIVE + b"x")
    with serving() as server:
        assert fetch(TINY.files[0], tmp_path / "a.gz", server.url).read_bytes() == ARCHIVE
    assert server.asked == [None]


def test_a_connection_that_breaks_keeps_what_came(tmp_path):
    with serving(stop_after=300_000) as server:
        with pytest.raises(
            UserError, match=r"broke off: 300,000 of \d+,\d+ bytes came; run the command again to go on"
        ):
            fetch(TINY.files[0], tmp_path / "a.gz", server.url)
        assert (tmp_path / "a.gz.part").read_bytes() == ARCHIVE[:300_000]
        server.stop_after = None
        assert fetch(TINY.files[0], tmp_path / "a.gz", server.url).read_bytes() == ARCHIVE
    assert server.asked == [None, "bytes=300000-"]


def test_a_server_that_falls_silent_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark.data.fetch.TIMEOUT_S", 0.2)
    with serving(stop_after=5) as server:
        server.stall = True
        with pytest.raises(UserError, match=r"broke off: nothing came for 0.2 s"):
            fetch(TINY.files[0], tmp_path / "a.gz", server.url)


def test_a_wrong_sum_is_said_and_the_file_deleted(tmp_path):
    other = bytearray(ARCHIVE)
    other[100] ^= 1
    sums = [hashlib.sha256(data).hexdigest() for data in (bytes(other), ARCHIVE)]
    with serving(bytes(other)) as server, pytest.raises(UserError, match=r"its sha256 is {}, not {}".format(*sums)):
        fetch(TINY.files[0], tmp_path / "a.gz", server.url)
    assert [path.name for path in tmp_path.iterdir()] == [".a.gz.lock"]


def test_a_file_of_another_size_is_refused_before_it_is_downloaded(tmp_path):
    with serving(ARCHIVE + b"x") as server, pytest.raises(UserError, match=r"it has 6.* bytes, not 6.*--url"):
        fetch(TINY.files[0], tmp_path / "a.gz", server.url)
    assert not (tmp_path / "a.gz.part").exists()


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/gzip"])
def test_an_html_page_is_no_data(tmp_path, kind):
    page = b"\n<!DOCTYPE html><p>Not found"
    with serving(page, kind=kind) as server, pytest.raises(UserError, match="answers with an HTML page, not with data"):
        fetch(File("a.gz", server.url), tmp_path / "a.gz")
    assert not (tmp_path / "a.gz").exists()


def test_http_errors_name_the_cure(tmp_path):
    with (
        serving(code=404) as server,
        pytest.raises(UserError, match=r"answers 404 Not Found; .*--url, or put the file at"),
    ):
        fetch(TINY.files[0], tmp_path / "a.gz", server.url)
    with pytest.raises(UserError, match=r"cannot be reached: Connection refused; .*put the file at .*a.gz by hand"):
        fetch(TINY.files[0], tmp_path / "a.gz")


def test_addresses_of_mirrors(tmp_path):
    file = File("listops/train.tsv", "https://host/all/train.tsv")
    assert address_of(file, None) == "https://host/all/train.tsv"
    assert address_of(file, "http://mirror/x.tsv") == "http://mirror/x.tsv"
    assert address_of(file, "http://mirror/") == "http://mirror/train.tsv"
    assert address_of(file, str(tmp_path)) == f"file://{tmp_path}/train.tsv"
    assert address_of(file, str(tmp_path / "x y")) == f"file://{tmp_path}/x%20y"
    for bad in ("ftp://host/x", "http://[half"):
        with pytest.raises(UserError, match=f"--url must be .*got {re.escape(repr(bad))}"):
            address_of(file, bad)


def test_a_mirror_may_be_a_path(tmp_path):
    lay(tmp_path, {"from/tiny.tar.gz": ARCHIVE})
    assert fetch(TINY.files[0], tmp_path / "to.gz", str(tmp_path / "from")).read_bytes() == ARCHIVE
    with pytest.raises(UserError, match="cannot be reached: No such file or directory"):
        fetch(TINY.files[0], tmp_path / "other.gz", str(tmp_path / "nowhere.gz"))


def test_a_file_put_by_hand_is_checked(tmp_path):
    (tmp_path / "a.gz").write_bytes(ARCHIVE[:-1])
    with pytest.raises(UserError, match=r"is not the published file.*delete it and run"):
        fetch(TINY.files[0], tmp_path / "a.gz")


def no_space(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    free = files.SPARE_BYTES + len(ARCHIVE) - 1
    with serving() as server, monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=free))
        with pytest.raises(UserError, match=r"needs 0.00 GB and 0.07 GB are free at .*--data-dir"):
            fetch(TINY.files[0], tmp_path / "a.gz", server.url)
    monkeypatch.setattr("benchmark.data.fetch.Digest.update", no_space)
    with serving() as server, pytest.raises(UserError, match=r"the disk is full: .*a.gz.part could not be written"):
        fetch(TINY.files[0], tmp_path / "a.gz", server.url)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot write .*: .*; choose another folder with --data-dir"):
        get("tiny", tmp_path / "file" / "data")


# archives


def packed(tmp_path, data, name="a.gz"):
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


def zip_of(contents, mode=0o644):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            archive.writestr(member, data)
    return out.getvalue()


def contents_of(root):
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "data",
    [ARCHIVE, tar_of(TREE, "./"), tar_of(TREE, ""), zip_of(TREE), zip_of({f"top/{k}": v for k, v in TREE.items()})],
)
def test_archives_are_known_by_their_contents(tmp_path, data):
    told = []
    assert unpack(packed(tmp_path, data), tmp_path / "goal", lambda *at: told.append(at)) is None
    assert contents_of(tmp_path / "goal") == TREE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gz", "goal"]
    assert told and all(done <= of for done, of in told)


def test_a_single_gz_file_keeps_its_name(tmp_path):
    unpack(packed(tmp_path, gzip.compress(BLOB), "one.bin.gz"), tmp_path / "goal")
    assert contents_of(tmp_path / "goal") == {"one.bin": BLOB}


def link(name, target, kind=tarfile.SYMTYPE):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


UNSAFE = {
    "tar, up": (tar_of({"../evil": b""}, ""), "'../evil' is a path out of the folder"),
    "tar, up within": (tar_of({"a/../../evil": b""}, ""), "a path out of the folder"),
    "tar, absolute": (tar_of({"/tmp/evil": b""}, ""), "a path out of the folder"),
    "tar, link out": (tar_of(TREE, extra=[link("tinydata/way", "../../..")]), "'tinydata/way' is a link to ../../.."),
    "tar, absolute link": (tar_of(TREE, extra=[link("way", "/etc/passwd")]), "a link to /etc/passwd"),
    "tar, hard link out": (tar_of(TREE, extra=[link("way", "../evil", tarfile.LNKTYPE)]), "a link to ../evil"),
    "tar, through a link": (
        tar_of({}, extra=[link("way", ".."), tarfile.TarInfo("way/evil")]),
        "'way' is a link to ..",
    ),
    "tar, device": (tar_of(TREE, extra=[link("tinydata/null", "", tarfile.CHRTYPE)]), "neither a file nor a folder"),
    "zip, up": (zip_of({"../evil": b""}), "'../evil' is a path out of the folder"),
    "zip, backslash": (zip_of({"..\\evil": b""}), "a path out of the folder"),
    "zip, absolute": (zip_of({"/tmp/evil": b""}), "a path out of the folder"),
    "zip, link": (zip_of({"way": b"/etc"}, stat.S_IFLNK | 0o777), "neither a file nor a folder"),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_what_would_lie_elsewhere_is_refused(tmp_path, name):
    data, why = UNSAFE[name]
    (tmp_path / "in").mkdir()
    with pytest.raises(ArchiveError, match=f"is not safe to unpack: its member .*{re.escape(why)}"):
        unpack(packed(tmp_path / "in", data), tmp_path / "in" / "goal")
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["a.gz"]
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("end", [30, 5_000, -20_000, -9, -1])
@pytest.mark.parametrize("whole", [ARCHIVE, gzip.compress(BLOB), zip_of(TREE)])
def test_a_truncated_archive_leaves_nothing(tmp_path, whole, end):
    with pytest.raises(ArchiveError, match=r"is damaged or cut off|must be a tar.gz, a zip or a gz file"):
        unpack(packed(tmp_path, whole[:end]), tmp_path / "goal")
    assert [path.name for path in tmp_path.iterdir()] == ["a.gz"]


def test_a_flipped_bit_is_noticed(tmp_path):
    flipped = bytearray(ARCHIVE)
    flipped[len(flipped) // 2] ^= 1
    with pytest.raises(ArchiveError, match="is damaged or cut off"):
        unpack(packed(tmp_path, bytes(flipped)), tmp_path / "goal")


def test_no_archive_at_all_is_said(tmp_path):
    with pytest.raises(ArchiveError, match=r"must be a tar.gz, a zip or a gz file, and is none"):
        unpack(packed(tmp_path, b"<html>"), tmp_path / "goal")


def test_what_lay_at_the_goal_is_kept(tmp_path):
    lay(tmp_path / "goal", {"notes": b"mine"})
    lay(tmp_path / ".goal.unpacking", {"left over": b"of a killed process"})
    kept = unpack(packed(tmp_path, ARCHIVE), tmp_path / "goal")
    assert contents_of(kept) == {"notes": b"mine"}
    assert contents_of(tmp_path / "goal") == TREE


def test_a_full_disk_while_unpacking_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tarfile.copyfileobj", no_space)
    with pytest.raises(UserError, match="the disk is full"):
        unpack(packed(tmp_path, ARCHIVE), tmp_path / "goal")
    assert [path.name for path in tmp_path.iterdir()] == ["a.gz"]


# both together


@pytest.mark.parametrize("keep", [True, False])
def test_get_downloads_verifies_and_unpacks(tmp_path, keep):
    said = []
    with serving() as server:
        root = get("tiny/many", tmp_path, server.url, keep_archive=keep, say=said.append)
        assert root == tmp_path / "tiny" / "tinydata" == get("tiny", tmp_path, server.url, say=said.append)
    assert contents_of(root) == TREE
    assert (tmp_path / "tiny" / "tiny.tar.gz").exists() == keep
    assert len(server.asked) == 1
    assert [line.split()[0] for line in said] == ["downloading", "unpacking", "tiny"]


def test_get_uses_an_archive_put_by_hand_and_leaves_it_there(tmp_path):
    lay(tmp_path, {"tiny.tar.gz": ARCHIVE})
    assert contents_of(get("tiny", tmp_path)) == TREE
    assert (tmp_path / "tiny.tar.gz").exists()


def test_a_part_is_got_alone_or_from_the_archive_that_is_here(tmp_path, monkeypatch):
    alone = Part("Letters", (Need("letters.txt"),), files=(file_of(b"abc", "letters.txt"),))
    monkeypatch.setitem(SOURCES, "tiny", replace(TINY, parts=TINY.parts | {"letters": alone}))
    lay(tmp_path, {"mirror/letters.txt": b"abc", "with/tiny.tar.gz": ARCHIVE})
    assert get("tiny/letters", tmp_path / "without", str(tmp_path / "mirror")) == tmp_path / "without" / "tiny"
    assert folder.state("tiny/many", tmp_path / "without").status == "absent"
    assert folder.state("tiny/letters", tmp_path / "with").status == "packed"
    assert get("tiny/letters", tmp_path / "with") == tmp_path / "with" / "tiny" / "tinydata"


def test_get_refuses_a_damaged_archive_put_by_hand(tmp_path):
    lay(tmp_path, {"tiny/tiny.tar.gz": ARCHIVE[:-10]})
    with pytest.raises(UserError, match="is not the published file"):
        get("tiny", tmp_path)
    assert not (tmp_path / "tiny" / "tinydata").exists()


def test_get_says_what_an_archive_lacks(tmp_path, monkeypatch):
    short = tar_of({"letters.txt": b"a"})
    monkeypatch.setitem(SOURCES, "tiny", replace(TINY, files=(file_of(short),)))
    with serving(short) as server, pytest.raises(MissingDataError, match="missing 3 of 3 many"):
        get("tiny", tmp_path, server.url)


def test_a_source_of_several_files_takes_a_mirror_folder(tmp_path):
    mirror = lay(tmp_path / "mirror", {f"{n}.gz": gzip.compress(n.encode(), mtime=0) for n in ("one", "two")})
    with pytest.raises(UserError, match="2 files, so --url must be a folder or end with /"):
        get("pair", tmp_path / "data", str(mirror / "one.gz"))
    root = get("pair", tmp_path / "data", str(mirror))
    assert root == tmp_path / "data" / "pair" and gzip.decompress((root / "two.gz").read_bytes()) == b"two"


def test_too_small_a_disk_is_seen_before_the_download(tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "tiny", replace(TINY, unpacked_bytes=10**18))
    with serving() as server, pytest.raises(UserError, match=r"tiny needs 1,000,000,000.\d+ GB"):
        get("tiny", tmp_path, server.url)
    assert not server.asked


def child_get(tmp_path, url):
    """A process of its own that gets tiny."""
    (tmp_path / "source.pickle").write_bytes(pickle.dumps(TINY))
    code = f"""
import pickle, pathlib
from benchmark.data.sources import SOURCES
from benchmark.data.get import get
SOURCES["tiny"] = pickle.loads(pathlib.Path({str(tmp_path / "source.pickle")!r}).read_bytes())
get("tiny", pathlib.Path({str(tmp_path / "data")!r}), {url!r}, say=lambda line: print(line, flush=True))
"""
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_of_two_downloads_at_once_one_waits_and_finds_the_work_done(tmp_path):
    with serving(stop_after=1000) as server:
        server.stall = server.finish = True  # the first keeps its lock until the second has come
        first = child_get(tmp_path, server.url)
        wait_for(lambda: server.asked)
        second = child_get(tmp_path, server.url)
        assert "waiting for another process" in second.stdout.readline()
        server.stall = False
        outputs = [process.communicate(timeout=20)[0] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0]
    assert server.asked == [None]
    assert "is complete in" in outputs[1]
    assert contents_of(tmp_path / "data" / "tiny" / "tinydata") == TREE


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_kill_in_the_middle_then_again(tmp_path, number):
    part = tmp_path / "data" / "tiny" / "tiny.tar.gz.part"
    with serving(stop_after=524_288) as server:
        server.stall = True
        process = child_get(tmp_path, server.url)
        wait_for(lambda: part.exists() and part.stat().st_size >= 262_144)
        process.send_signal(number)
        process.communicate(timeout=20)
        assert process.returncode
        server.stall, server.stop_after = False, None
        size = part.stat().st_size
        assert contents_of(get("tiny", tmp_path / "data", server.url)) == TREE
    assert server.asked == [None, f"bytes={size}-"]


# caches


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


@pytest.fixture(autouse=True)
def no_loads():
    Counting.loads.clear()


def same(a, b):
    flat = [flatten(splits) for splits in (a, b)]
    return flat[0].keys() == flat[1].keys() and all(
        np.array_equal(x, flat[1][name]) and x.dtype == flat[1][name].dtype for name, x in flat[0].items()
    )


def test_the_kind_is_the_first_that_can_be_had(tmp_path):
    task = Counting()
    assert cache.choose(task, "auto", tmp_path) == "generated"
    assert cache.choose(task, "stand-in", tmp_path) == "stand-in"
    with pytest.raises(
        MissingDataError, match=r"missing letters.txt; `rotbench data get tiny/letters`.*--data generated"
    ):
        cache.choose(task, "real", tmp_path)
    lay(tmp_path, {"tiny.tar.gz": ARCHIVE})
    assert cache.choose(task, "auto", tmp_path) == cache.choose(task, "real", tmp_path) == "real"
    assert cache.choose(task, "generated", tmp_path) == "generated"
    with pytest.raises(UserError, match="unknown data 'reel'; known: auto, real, generated, stand-in"):
        cache.choose(task, "reel", tmp_path)


class RealOnly(Counting):
    name = "real-only"
    kinds = ("real",)


class Everywhere(RealOnly):
    archive = None


def test_a_kind_that_a_task_has_not_is_refused(tmp_path):
    with pytest.raises(UserError, match="real-only has no data of the kind stand-in; it has: real"):
        cache.choose(RealOnly(), "stand-in", tmp_path)
    with pytest.raises(MissingDataError, match=r"missing letters.txt"):
        cache.choose(RealOnly(), "auto", tmp_path)
    assert cache.choose(Everywhere(), "auto", tmp_path) == "real"


@pytest.mark.parametrize("kind", ["real", "stand-in"])
def test_a_cache_is_built_once_and_read_as_memory_maps(tmp_path, kind):
    lay(tmp_path / "tiny")
    task = Counting()
    expected = task.load(kind, tmp_path / "tiny" if kind == "real" else None)
    first, again = (cache.load(task, kind, tmp_path) for _ in range(2))
    assert Counting.loads == [kind] * 2
    assert same(first, expected) and same(again, expected)
    assert isinstance(again.train.inputs, np.memmap) and not again.train.inputs.flags.writeable
    assert again.test.lengths is None and again.extra["other"].affine is None and again.extra["8khz"].step == 2.0
    kept = cache.cached_at(task, kind, tmp_path)
    meta = json.loads((kept / "meta.json").read_text())
    assert meta["kind"] == kind and meta["options"] == {"size": 4}
    assert meta["arrays"]["train.inputs"] == {"dtype": "|u1", "shape": [4, 3]}


def test_the_key_holds_options_version_kind_and_contents(tmp_path, monkeypatch):
    root = lay(tmp_path / "tiny")
    for task, kind in ((Counting(), "real"), (Counting(size=5), "real"), (Counting(), "generated")):
        cache.load(task, kind, tmp_path)
    assert len(Counting.loads) == 3
    (root / "letters.txt").write_bytes(b"abd")
    assert cache.load(Counting(), "real", tmp_path).train.inputs[0].tobytes() == b"abd"
    monkeypatch.setattr(Counting, "version", 2)
    cache.load(Counting(), "real", tmp_path)
    assert len(Counting.loads) == 5


def test_an_unchanged_file_is_hashed_once(tmp_path, monkeypatch):
    lay(tmp_path / "tiny")
    cache.load(Counting(), "real", tmp_path)
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("hashed again"))
    cache.load(Counting(), "real", tmp_path)
    assert Counting.loads == ["real"]
    (tmp_path / "cache" / "contents.json").write_text("{half")
    with pytest.raises(pytest.fail.Exception, match="hashed again"):
        cache.load(Counting(), "real", tmp_path)


def test_of_a_tree_the_stamps_count(tmp_path):
    from benchmark.data.fingerprint import fingerprint

    root, memory = lay(tmp_path / "tiny"), tmp_path / "memory.json"
    os.utime(root / "many/1.bin", ns=(1, 1))
    first = fingerprint("tiny/many", root, memory)
    assert first == fingerprint("tiny/many", root, memory) != fingerprint("tiny", root, memory)
    os.utime(root / "many/1.bin", ns=(1, 2))
    second = fingerprint("tiny/many", root, memory)
    (root / "many/3.bin").rename(root / "many/4.bin")
    assert len({first, second, fingerprint("tiny/many", root, memory)}) == 3


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


DAMAGE = {
    "an array is missing": lambda kept: (kept / "train.inputs.npy").unlink(),
    "no meta": lambda kept: (kept / "meta.json").unlink(),
    "half a meta": lambda kept: truncate(kept / "meta.json"),
    "half an array": lambda kept: truncate(kept / "train.labels.npy"),
    "no array": lambda kept: (kept / "train.labels.npy").write_bytes(b"text"),
    "empty": lambda kept: (kept / "train.labels.npy").write_bytes(b""),
    "another shape": lambda kept: np.save(kept / "train.labels.npy", np.arange(3)),
    "another type": lambda kept: np.save(kept / "train.labels.npy", np.arange(4, dtype=np.int32)),
    "a pickle": lambda kept: np.save(kept / "train.labels.npy", np.array([None] * 4), allow_pickle=True),
    "a list as meta": lambda kept: (kept / "meta.json").write_text("[]"),
    "no arrays in meta": lambda kept: (kept / "meta.json").write_text('{"arrays": {}}'),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_cache_is_built_anew(tmp_path, name):
    expected = Counting().load("generated")  # in memory: a map of a file that is cut off ends the process
    cache.load(Counting(), "generated", tmp_path)
    DAMAGE[name](cache.cached_at(Counting(), "generated", tmp_path))
    said = []
    assert same(cache.load(Counting(), "generated", tmp_path, say=said.append), expected)
    assert len(said) == 1 and re.search("the cache .* is damaged and is built anew: .", said[0])
    assert len(Counting.loads) == 3
    cache.load(Counting(), "generated", tmp_path)
    assert len(Counting.loads) == 3


def test_what_a_killed_process_left_does_no_harm(tmp_path):
    cache.load(Counting(), "generated", tmp_path)
    kept = cache.cached_at(Counting(), "generated", tmp_path)
    kept.rename(kept.with_name(f".{kept.name}.building"))
    (kept.with_name(f".{kept.name}.building") / "meta.json").unlink()
    cache.load(Counting(), "generated", tmp_path)
    assert len(Counting.loads) == 2
    assert "train.inputs" in read_arrays(kept)
    assert not kept.with_name(f".{kept.name}.building").exists()


def test_of_two_threads_one_builds(tmp_path, monkeypatch):
    started, go = threading.Event(), threading.Event()

    def slow(self, kind, folder=None, tell=quiet):
        Counting.loads.append(kind)
        started.set()
        assert go.wait(20)
        part = Split(np.zeros((2, 3), np.uint8), np.arange(2))
        return Splits(part, part, part)

    monkeypatch.setattr(Counting, "load", slow)
    said = []

    def say(line):
        said.append(line)
        go.set()

    first = threading.Thread(target=cache.load, args=(Counting(), "generated", tmp_path))
    first.start()
    assert started.wait(20)
    cache.load(Counting(), "generated", tmp_path, say=say)
    first.join(20)
    assert Counting.loads == ["generated"]
    assert len(said) == 1 and said[0].startswith("waiting for another process")


def test_without_room_or_rights_a_task_runs_without_a_cache(tmp_path, monkeypatch):
    said = []
    lay(tmp_path, {"cache": b"a file in the way"})
    assert cache.load(Counting(), "generated", tmp_path, say=said.append).train.inputs.shape == (4, 3)
    assert len(said) == 1 and re.search("cannot write .*counting is loaded without a cache", said[0])
    (tmp_path / "cache").unlink()
    monkeypatch.setattr("numpy.save", no_space)
    assert cache.load(Counting(), "generated", tmp_path, say=said.append).train.inputs.shape == (4, 3)
    assert "the disk is full" in said[1] and not cache.cached_at(Counting(), "generated", tmp_path)


def test_an_archive_is_unpacked_where_its_task_needs_it(tmp_path):
    lay(tmp_path, {"tiny.tar.gz": ARCHIVE})
    said = []
    found = cache.load(Counting(), "real", tmp_path, say=said.append)
    assert found.train.inputs[0].tobytes() == b"abc"
    assert said == [f"unpacking {tmp_path / 'tiny.tar.gz'}"]


def test_a_task_may_do_without_a_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(Counting, "cached", False)
    for _ in range(2):
        cache.load(Counting(), "generated", tmp_path)
    assert len(Counting.loads) == 2 and not list(tmp_path.iterdir())


def test_faults_of_the_data_are_passed_on_and_nothing_is_kept(tmp_path, monkeypatch):
    def faulty(self, kind, folder=None, tell=quiet):
        raise UserError("letters.txt line 3: no letter")

    monkeypatch.setattr(Counting, "load", faulty)
    with pytest.raises(UserError, match="line 3: no letter"):
        cache.load(Counting(), "generated", tmp_path)
    assert cache.cached_at(Counting(), "generated", tmp_path) is None


# checks and commands


def test_examine_finds_what_is_wrong(tmp_path):
    assert examine(["tiny/letters", "tiny/many", "pair"], tmp_path) == []
    lay(tmp_path / "tiny", TREE | {"tiny.tar.gz": ARCHIVE, "many/4.bin": b"4"})
    lay(tmp_path / "pair", {"one.gz": b"else"})
    findings = examine(["tiny/letters", "tiny/many", "pair"], tmp_path)
    assert [(f.address, f.good, f.detail) for f in findings if f.address != "pair"] == [
        ("tiny", True, "size and sums as published"),
        ("tiny/letters", True, "1 files, all that are needed"),
        ("tiny/many", False, "4 many/*.bin, not 3"),
    ]
    bad = [f.detail for f in findings if f.address == "pair"]
    assert bad == [f"it has 4 bytes, not {PAIR.files[0].size_bytes}", "missing: two.gz"]


def run(*words, code=0):
    """stdout and stderr of `rotbench data ...`, which must end with this code."""
    result = CliRunner().invoke(data_app, [str(word) for word in words], standalone_mode=False)
    found = result.exception.code if isinstance(result.exception, ExitError) else result.exit_code
    if isinstance(result.exception, UserError):
        raise result.exception
    assert found == code, (result.output, result.exception)
    return result.stdout, result.stderr


@pytest.fixture
def counting_task(monkeypatch):
    from benchmark.tasks import TASKS

    monkeypatch.setitem(TASKS, "counting", Counting)


def test_the_list_names_readers(counting_task):
    out, _ = run("list")
    assert re.search(r"tiny/letters .* counting ", out) and "speech-commands" in out


def test_status_as_table_and_as_json(tmp_path):
    lay(tmp_path / "tiny", {"many/1.bin": b"1"})
    out, _ = run("status", "tiny", "--data-dir", tmp_path)
    assert "2 of 3 many/*.bin" in out and "`rotbench data get tiny/many` gets it" in out and f"{tmp_path}" in out
    (letters, many) = json.loads(run("status", "tiny", "--json", "--data-dir", tmp_path)[0])
    assert letters["status"] == "absent" and letters["missing"] == ["letters.txt"]
    assert many["status"] == "partial" and many["root"] == str(tmp_path / "tiny")


def test_get_then_check_then_status(tmp_path):
    here = ("--data-dir", tmp_path / "data")
    lay(tmp_path, {"mirror/tiny.tar.gz": ARCHIVE})
    _, err = run("check", "tiny", *here, code=3)
    assert "nothing to check" in err and not (tmp_path / "data").exists()
    out, err = run("get", "tiny", "--url", tmp_path / "mirror", "--keep-archive", *here)
    assert out.strip() == str(tmp_path / "data" / "tiny" / "tinydata") and "downloading file://" in err
    out, _ = run("check", "tiny", *here)
    assert out.count(" good ") == 3
    (tmp_path / "data/tiny/tinydata/many/2.bin").unlink()
    out, _ = run("check", "tiny", *here, code=1)
    assert "missing: 1 of 3 many/*.bin" in out and "WRONG" in out
    with pytest.raises(UserError, match="unknown data set 'tny'"):
        run("get", "tny", *here)
    with pytest.raises(UserError, match="tiny, pair: 3 files, so --url must be"):
        run("get", "tiny", "pair", "--url", tmp_path / "mirror" / "tiny.tar.gz", *here)


def test_make_builds_the_cache_and_says_where(tmp_path, counting_task):
    out, err = run("make", "counting", "--set", "size=7", "--data", "stand-in", "--data-dir", tmp_path)
    kept = cache.cached_at(Counting(size=7), "stand-in", tmp_path)
    assert out.startswith("counting, stand-in data: 7 training, 7 validation, 0 test examples; ")
    assert out.strip().endswith(f"in {kept}")
    assert "this is a stand-in" in err
    with pytest.raises(MissingDataError, match=r"missing letters.txt"):
        run("make", "counting", "--data", "real", "--data-dir", tmp_path)
    with pytest.raises(UserError, match="no option 'sise'"):
        run("make", "counting", "--set", "sise=7", "--data-dir", tmp_path)
    with pytest.raises(UserError, match="unknown task 'countin'"):
        run("make", "countin", "--data-dir", tmp_path)


def test_nothing_here_imports_a_framework():
    code = "import sys, benchmark.data.cache, benchmark.reports.datasets; print({'torch', 'jax'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
