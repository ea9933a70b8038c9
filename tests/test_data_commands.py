"""`rotbench data` and what it is made of."""

import json
import re
import subprocess
import sys

import pytest
from tiny_data import ARCHIVE, PAIR, ROOT, TREE, Counting, lay
from typer.testing import CliRunner

from benchmark.commands.data import data_app
from benchmark.console import ExitError
from benchmark.data import cache
from benchmark.data.examine import examine
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
