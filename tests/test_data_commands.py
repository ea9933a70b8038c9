"""`rotbench data` and what it is made of."""

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from tiny_data import ARCHIVE, PAIR, ROOT, TINY, TREE, Counting, lay
from typer.testing import CliRunner

from benchmark.commands.data import data_app
from benchmark.console import ExitError
from benchmark.data import cache
from benchmark.data.examine import examine
from benchmark.data.sources import SOURCES, Need, Part
from benchmark.spec.errors import UserError
from benchmark.tasks.base import MissingDataError

pytestmark = pytest.mark.usefixtures("tiny_sources")


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


def test_examine_compares_sums_of_single_files(tmp_path, monkeypatch):
    needs = tuple(Need(f"{name}.txt", md5=hashlib.md5(name.encode()).hexdigest()) for name in ("one", "two"))
    monkeypatch.setitem(SOURCES, "tiny", replace(TINY, files=(), parts={"": Part("Two", needs)}))
    lay(tmp_path / "tiny", {"one.txt": b"one", "two.txt": b"twp"})
    (found,) = examine(["tiny"], tmp_path)
    assert not found.good and re.fullmatch(
        r"two.txt is not the published file: its md5 is [0-9a-f]{32}, not b8a9f715dbb64fd5c56e7783c6820a61",
        found.detail,
    )
    lay(tmp_path / "tiny", {"two.txt": b"two"})
    assert examine(["tiny"], tmp_path)[0].detail == "2 files, all that are needed"


@pytest.mark.parametrize(("text", "lines"), [(b"a\nb\n", 2), (b"a\nb", 2), (b"a\n", 1), (b"", 0)])
def test_examine_counts_lines(text, lines, tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "tiny", replace(TINY, files=(), parts={"": Part("One", (Need("one.tsv", lines=2),))}))
    lay(tmp_path / "tiny", {"one.tsv": text})
    (found,) = examine(["tiny"], tmp_path)
    assert found.good == (lines == 2)
    assert found.good or found.detail == f"one.tsv has {lines} lines, not 2"


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


def test_check_names_a_damaged_cache_and_exits_with_1(tmp_path, counting_task):
    run("make", "counting", "--data-dir", tmp_path)
    out, _ = run("check", "--data-dir", tmp_path)
    assert re.search(r"counting .* good .* all arrays are as they were written", out)
    _, err = run("check", "pair", "--data-dir", tmp_path, code=3)
    assert "nothing to check" in err
    kept = cache.cached_at(Counting(), "generated", tmp_path)
    (kept / "train.inputs.npy").unlink()
    out, _ = run("check", "tiny/letters", "--data-dir", tmp_path, code=1)
    assert "WRONG" in out and "this cache is deleted, and made again when it is needed" in out
    assert not kept.exists()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("words=", "unknown speech-commands word ''; known: all, bed, cat, "),
        ("words=yes,ja", "unknown speech-commands word 'ja'; known: all, bed, cat, "),
        ("stride=none", "speech-commands: stride must be a positive integer up to 2,147,483,647, got 'none'"),
        ("strides=2", "--set: no option 'strides' in what is asked for; known: speech-commands.examples, "),
        ("standardise", "--set reads name=value or layer.name=value, got 'standardise'"),
    ],
)
def test_wrong_options_of_a_task_are_one_line(tmp_path, setting, message):
    with pytest.raises(UserError) as caught:
        run("make", "speech-commands", "--set", setting, "--data-dir", tmp_path)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_nothing_here_imports_a_framework():
    code = "import sys, benchmark.data.cache, benchmark.reports.datasets; print({'torch', 'jax'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
