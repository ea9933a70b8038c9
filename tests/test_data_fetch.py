"""Downloads that break off."""

import hashlib
import re
from types import SimpleNamespace

import pytest
from tiny_data import ARCHIVE, TINY, lay, no_space, serving

from benchmark.data import files
from benchmark.data.fetch import address_of, fetch
from benchmark.data.get import get
from benchmark.data.sources import File
from benchmark.spec.errors import UserError

pytestmark = pytest.mark.usefixtures("tiny_sources")


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
    assert address_of(file, f"{tmp_path}/nowhere/") == f"file://{tmp_path}/nowhere/train.tsv"
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
