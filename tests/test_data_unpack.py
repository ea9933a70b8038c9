"""Archives that lie."""

import gzip
import io
import re
import stat
import tarfile
import zipfile

import pytest
from tiny_data import ARCHIVE, BLOB, TREE, contents_of, lay, no_space, tar_of

from benchmark.data.unpack import ArchiveError, unpack
from benchmark.spec.errors import UserError

pytestmark = pytest.mark.usefixtures("tiny_sources")


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
