"""What a task made is made once."""

import json
import os
import re
import threading

import numpy as np
import pytest
from tiny_data import ARCHIVE, Counting, lay, no_space

from benchmark.data import cache
from benchmark.data.arrays import flatten, read_arrays
from benchmark.spec.errors import UserError
from benchmark.tasks.base import MissingDataError, Split, Splits, quiet

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
