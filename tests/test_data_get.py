"""Downloading and unpacking in one, also by two processes at once and after a kill."""

import gzip
import pickle
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from tiny_data import ARCHIVE, ROOT, TINY, TREE, contents_of, file_of, lay, serving, tar_of

from benchmark.data import folder
from benchmark.data.get import get
from benchmark.data.sources import SOURCES, Need, Part
from benchmark.spec.errors import UserError
from benchmark.tasks.base import MissingDataError

pytestmark = pytest.mark.usefixtures("tiny_sources")

LACKING = tar_of({"letters.txt": b"abc", "many/1.bin": b"1"})
ANY = replace(TINY, files=(replace(TINY.files[0], size_bytes=None, md5=None, sha256=None),))
"""Of which nothing has been published, as of the Long Range Arena."""


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


def test_a_download_that_cannot_be_unpacked_is_deleted_so_that_another_can_be_got(tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "tiny", ANY)
    with serving(ARCHIVE[:-10]) as server, pytest.raises(UserError, match=r"tiny.tar.gz is damaged or cut off: .*"):
        get("tiny", tmp_path, server.url)
    assert list((tmp_path / "tiny").glob("[!.]*")) == []
    with serving() as server:
        assert contents_of(get("tiny", tmp_path, server.url)) == TREE


def test_get_says_what_an_archive_lacks(tmp_path, monkeypatch):
    short = tar_of({"letters.txt": b"a"})
    monkeypatch.setitem(SOURCES, "tiny", replace(TINY, files=(file_of(short),)))
    with serving(short) as server, pytest.raises(MissingDataError, match="missing 3 of 3 many"):
        get("tiny", tmp_path, server.url)


def test_an_archive_that_lacks_a_part_is_unpacked_once(tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "tiny", ANY)
    lay(tmp_path, {"tiny/tiny.tar.gz": LACKING})
    said = []
    for _ in range(2):
        with pytest.raises(MissingDataError) as caught:
            get("tiny/many", tmp_path, say=said.append)
    assert str(caught.value) == (
        f"tiny/many is not complete in {tmp_path}/tiny/tinydata: missing 2 of 3 many/*.bin; "
        f"{tmp_path}/tiny/tiny.tar.gz has been unpacked and lacks them: remove it and run `rotbench data get "
        "tiny/many`, or add --url ADDRESS to that"
    )
    assert said == [f"unpacking {tmp_path}/tiny/tiny.tar.gz"]
    assert get("tiny/letters", tmp_path) == tmp_path / "tiny" / "tinydata"
    assert sorted(path.name for path in (tmp_path / "tiny").glob("[!.]*")) == ["tiny.tar.gz", "tinydata"]


def test_what_an_archive_lacks_is_known_when_its_folder_is_gone_and_forgotten_with_the_archive(tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "tiny", ANY)
    lay(tmp_path, {"tiny/tiny.tar.gz": LACKING})
    get("tiny/letters", tmp_path)
    shutil.rmtree(tmp_path / "tiny" / "tinydata")
    statuses = {name: folder.state(f"tiny/{name}", tmp_path).status for name in ("letters", "many")}
    assert statuses == {"letters": "packed", "many": "absent"}
    lay(tmp_path, {"tiny/tiny.tar.gz": ARCHIVE})
    assert folder.state("tiny/many", tmp_path).status == "packed"
    assert contents_of(get("tiny/many", tmp_path)) == TREE


def test_a_part_that_an_archive_lacks_is_got_alone(tmp_path, monkeypatch):
    alone = Part("Letters", (Need("letters.txt"),), files=(file_of(b"abc", "letters.txt"),))
    monkeypatch.setitem(SOURCES, "tiny", replace(ANY, parts=TINY.parts | {"letters": alone}))
    lay(tmp_path, {"tiny.tar.gz": tar_of({"many/1.bin": b"1"}), "mirror/letters.txt": b"abc"})
    with pytest.raises(MissingDataError, match=r"tiny.tar.gz has been unpacked and lacks them"):
        get("tiny/many", tmp_path)
    assert folder.state("tiny/letters", tmp_path).cure == "`rotbench data get tiny/letters` gets it"
    assert get("tiny/letters", tmp_path, str(tmp_path / "mirror")) == tmp_path / "tiny"


def test_a_damaged_memory_of_what_was_unpacked_counts_for_nothing(tmp_path):
    for text in ("{half", "[]", '{"tiny.tar.gz": 3}'):
        lay(tmp_path, {"tiny/tiny.tar.gz": ARCHIVE, "tiny/.unpacked.json": text.encode()})
        assert folder.state("tiny", tmp_path).status == "packed"


@pytest.mark.parametrize("place", ["tiny.tar.gz", "tiny/tiny.tar.gz"])
def test_another_address_replaces_an_archive_that_cannot_be_told_from_another(tmp_path, monkeypatch, place):
    monkeypatch.setitem(SOURCES, "tiny", ANY)
    lay(tmp_path, {f"data/{place}": LACKING, "mirror/tiny.tar.gz": ARCHIVE})
    said = []
    root = get("tiny", tmp_path / "data", (tmp_path / "mirror").as_uri() + "/", say=said.append)
    assert contents_of(root) == TREE
    assert [line.split()[0] for line in said] == ["downloading", *["what"] * (place != "tiny.tar.gz"), "unpacking"]
    kept = tmp_path / "data" / (place if place == "tiny.tar.gz" else f"{place}.old-1")
    assert kept.read_bytes() == LACKING


def test_another_address_replaces_an_archive_with_a_wrong_sum(tmp_path):
    lay(tmp_path, {"data/tiny/tiny.tar.gz": LACKING, "mirror/tiny.tar.gz": ARCHIVE})
    assert contents_of(get("tiny", tmp_path / "data", str(tmp_path / "mirror"))) == TREE


def test_another_address_that_cannot_be_had_harms_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "tiny", ANY)
    lay(tmp_path, {"tiny/tiny.tar.gz": ARCHIVE})
    with pytest.raises(UserError, match="cannot be reached"):
        get("tiny", tmp_path, str(tmp_path / "nowhere.gz"))
    assert contents_of(get("tiny", tmp_path)) == TREE


def test_what_is_as_published_is_kept_whatever_address_is_named_and_that_is_said(tmp_path):
    lay(tmp_path, {"tiny.tar.gz": ARCHIVE})
    said = []
    for _ in range(2):
        root = get("tiny", tmp_path, str(tmp_path / "nowhere.gz"), say=said.append)
    assert said[0] == f"{tmp_path}/tiny.tar.gz is the published file, so it is kept and --url is not asked"
    assert said[2] == f"tiny is complete in {root}, so --url is not asked; remove that folder to get tiny anew"


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
