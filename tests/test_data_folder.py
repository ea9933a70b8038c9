"""Where data sets lie, and the registry of their sources."""

import re

import pytest
from tiny_data import ARCHIVE, lay

from benchmark.data import folder
from benchmark.data.examine import addresses
from benchmark.data.sources import SOURCES, Need, wanted
from benchmark.spec.errors import UserError
from benchmark.tasks.base import MissingDataError

pytestmark = pytest.mark.usefixtures("tiny_sources")


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
