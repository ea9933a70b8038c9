"""What a task made is made once."""

import json
import os
import re
import threading
import zlib
from dataclasses import replace

import numpy as np
import pytest
from frameworks import INSTALLED
from tiny_data import ARCHIVE, TINY, Counting, lay, no_space, tar_of

from benchmark.data import cache
from benchmark.data.arrays import DamagedError, flatten, read_arrays, release
from benchmark.data.examine import examine_caches
from benchmark.data.sources import SOURCES, File
from benchmark.metrics.memory import reset_rss_peak, rss_bytes, rss_peak_bytes
from benchmark.spec.errors import UserError
from benchmark.sweeps.train_plan import train_cells
from benchmark.tasks.base import MissingDataError, Split, Splits, quiet
from benchmark.training.feed import feed, rows_by_step

pytestmark = pytest.mark.usefixtures("tiny_sources")


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
    file = (kept / "train.inputs.npy").read_bytes()
    described = {"dtype": "|u1", "shape": [4, 3], "size_bytes": len(file), "crc32": zlib.crc32(file)}
    assert meta["arrays"]["train.inputs"] == described


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


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def lengthen(path):
    path.write_bytes(path.read_bytes() + b"x")


def strip_sums(path):
    meta = json.loads(path.read_text())
    meta["arrays"] = {name: {"dtype": d["dtype"], "shape": d["shape"]} for name, d in meta["arrays"].items()}
    path.write_text(json.dumps(meta))


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
    "a bit": lambda kept: flip(kept / "train.labels.npy", -1),
    "a bit of a header": lambda kept: flip(kept / "train.labels.npy", 70),
    "more at the end": lambda kept: lengthen(kept / "train.labels.npy"),
    "of a version without sums": lambda kept: strip_sums(kept / "meta.json"),
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


def test_the_checksum_of_a_large_array_is_left_to_data_check(tmp_path):
    cache.load(Counting(), "generated", tmp_path)
    kept = cache.cached_at(Counting(), "generated", tmp_path)
    flip(kept / "train.labels.npy", -1)
    size_bytes = (kept / "train.labels.npy").stat().st_size
    assert "train.labels" in read_arrays(kept, verified_bytes=size_bytes - 1)
    with pytest.raises(DamagedError, match=r"train.labels.npy has changed since it was written, by its checksum"):
        read_arrays(kept, verified_bytes=size_bytes)
    other = cache.load(Counting(size=5), "generated", tmp_path)
    assert [(f.address, f.good) for f in examine_caches(tmp_path, ["other"])] == []
    found = {f.place: f for f in examine_caches(tmp_path)}
    assert {f.address for f in found.values()} == {"counting"} and not kept.exists()
    assert found.pop(kept).detail == (
        "train.labels.npy has changed since it was written, by its checksum; this cache is deleted, and made again "
        "when it is needed"
    )
    (good,) = found.values()
    assert good.good and good.detail == "all arrays are as they were written"
    assert same(cache.load(Counting(size=5), "generated", tmp_path), other)


def test_what_was_read_of_a_memory_map_is_given_back(tmp_path):
    array = np.arange(1 << 22)
    np.save(tmp_path / "a.npy", array)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    before = rss_bytes()
    assert mapped.sum() == array.sum()
    grown = rss_bytes()
    release(mapped[3:])
    if before is not None:
        assert grown - before > 16 << 20
        assert rss_bytes() - before < 2 << 20
    assert mapped.sum() == array.sum()
    release(array)
    written = np.load(tmp_path / "a.npy", mmap_mode="c")
    written[0] = 7
    release(written)
    assert written[0] == 7


@pytest.mark.skipif(not reset_rss_peak(), reason="the system does not tell how much memory was taken")
def test_an_epoch_over_a_memory_map_does_not_end_with_all_of_it_in_memory(tmp_path):
    """As Path-X is read, of which the images fill 3.3 GB. Systems map more pages at once than were asked for."""
    np.save(tmp_path / "images.npy", np.ones((2048, 1 << 16, 1), np.uint8))
    split = Split(np.load(tmp_path / "images.npy", mmap_mode="r"), np.arange(2048))
    order = rows_by_step(2048, 8, 0, 0, 256)
    list(feed(split, None, iter([next(order)])))
    reset_rss_peak()
    before = rss_bytes()
    assert sum(len(batch.labels) for batch in feed(split, None, order)) == 255 * 8
    assert rss_peak_bytes() - before < split.inputs.nbytes / 2
    assert rss_bytes() - before < 16 << 20


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


LACKING = tar_of({"many/1.bin": b"1"})


def test_where_an_archive_lacks_what_a_task_needs_another_kind_is_taken_and_said(tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "tiny", replace(TINY, files=(File("tiny.tar.gz", "https://host/tiny.tar.gz"),)))
    lay(tmp_path, {"tiny.tar.gz": LACKING})
    said = []
    assert [cache.choose(Counting(), "auto", tmp_path, say=said.append) for _ in range(2)] == ["generated"] * 2
    assert said[0] == f"unpacking {tmp_path}/tiny.tar.gz"
    assert said[1] == said[2]
    why = f"counting runs on generated data, as tiny/letters is not complete in {tmp_path}: missing letters.txt; "
    assert said[1].startswith(why)
    with pytest.raises(MissingDataError, match=r"missing letters.txt; .*tiny.tar.gz has been unpacked and lacks them"):
        cache.choose(Counting(), "real", tmp_path, say=said.append)
    with pytest.raises(MissingDataError, match="lacks them"):
        cache.load(Counting(), "real", tmp_path, say=said.append)
    assert len(said) == 3


@pytest.mark.skipif(not INSTALLED, reason="plans a training")
def test_a_training_says_once_for_all_layers_what_it_takes_instead(tmp_path):
    lay(tmp_path, {"lra_release.gz": tar_of({"tsv_data/new_aan_pairs.train.tsv": b""}, "lra_release/")})
    said = []
    cells = train_cells(
        "lra-retrieval",
        layers=["all"],
        frameworks=INSTALLED[:1],
        seeds=["0"],
        device="cpu",
        threads=1,
        algorithm="auto",
        precision=["fp32"],
        settings=["task.examples=10"],
        preset="small",
        data="auto",
        data_dir=tmp_path,
        overrides={},
        say=said.append,
    )
    assert {cell.recipe.data for cell in cells} == {"stand-in"} and len(cells) == 4
    assert said[0] == f"unpacking {tmp_path}/lra_release.gz" and len(said) == 2
    assert said[1].startswith("lra-retrieval runs on stand-in data, as lra/retrieval is not complete in ")
    assert "missing tsv_data/new_aan_pairs.eval.tsv, tsv_data/new_aan_pairs.test.tsv; " in said[1]


def test_what_only_some_options_need_counts_too(tmp_path, monkeypatch):
    lay(tmp_path / "tiny")
    monkeypatch.setattr(Counting, "lacks", lambda self, folder: ["level/9"] * (self.size == 9))
    assert cache.choose(Counting(), "auto", tmp_path, say=pytest.fail) == "real"
    said = []
    assert cache.choose(Counting(size=9), "auto", tmp_path, say=said.append) == "generated"
    assert said == [
        f"counting runs on generated data, as tiny/letters is not complete in {tmp_path}/tiny: missing level/9; remove "
        "that folder and run `rotbench data get tiny/letters`, or choose other options"
    ]
    with pytest.raises(MissingDataError, match="missing level/9"):
        cache.load(Counting(size=9), "real", tmp_path)


def test_where_nothing_is_here_nothing_is_said(tmp_path):
    assert cache.choose(Counting(), "auto", tmp_path, say=pytest.fail) == "generated"


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
