"""Results: whole files or none, read one by one, old and damaged ones too."""

import json
import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.spec import UserError
from benchmark.store import files, index, maintenance
from benchmark.store.row import Row, arrow_schema, json_columns

DATA = Path(__file__).parent / "data"


def row(**changes):
    fields = {
        "cell_id": "0123456789abcdef",
        "created_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "status": "ok",
        "metric": "speed",
        "layer": "lru",
        "framework": "torch",
        "algorithm": "chunked",
        "d_model": 8,
        "d_state": 4,
        "options": {"gamma": "learned", "r_min": 0.0},
        "dtype": "float32",
        "device": "cpu",
        "threads": 2,
        "seed": 0,
        "batch": 8,
        "seq_len": 1024,
        "direction": "forward",
        "algorithm_run": "chunked",
        "median_ms": 2.0,
        "samples_ms": [1.9, 2.0, 2.1],
    }
    return Row(**(fields | changes))


def test_there_and_back(tmp_path):
    files.prepare_folder(tmp_path)
    path = files.write(tmp_path, row())
    assert path.parent == tmp_path / "cells"
    loaded = files.read([tmp_path])
    assert loaded.rows == [row()]
    assert not loaded.bad
    assert not list((tmp_path / ".staging").iterdir())


def test_schema_is_explicit_and_small():
    schema = arrow_schema()
    assert schema.metadata[b"schema_version"] == b"2"
    assert len(schema) <= 50
    assert schema.field("samples_ms").type == pa.list_(pa.float64())
    assert schema.field("created_at").type == pa.timestamp("us", tz="UTC")
    assert schema.field("seq_len").type == pa.int64()
    assert schema.field("median_ms").type == pa.float64()
    assert set(json_columns()) == {"options", "recipe", "detail", "environment"}


def test_units_are_in_the_names():
    suffixes = ("_ms", "_s", "_bytes", "_hours", "_accuracy", "_error", "_j")
    floats = [
        name
        for name, field in Row.model_fields.items()
        if re.search(r"\bfloat\b", str(field.annotation)) and name != "options"
    ]
    assert floats
    assert all(name.endswith(suffixes) for name in floats)


def test_a_null_stays_a_null(tmp_path):
    files.prepare_folder(tmp_path)
    files.write(tmp_path, row(median_ms=None, samples_ms=None))
    (found,) = files.read([tmp_path]).rows
    assert found.median_ms is None
    assert found.tokens_per_s is None


def test_rates_are_derived():
    assert row().tokens_per_s == 8 * 1024 / 0.002
    assert row(direction="step", seq_len=None).tokens_per_s == 8 / 0.002


def test_no_nan_gets_in():
    with pytest.raises(ValueError, match="JSON"):
        row(detail={"x": float("nan")}).arrow_values()


def damaged(folder, name, data):
    (folder / "cells" / f"{name}.parquet").write_bytes(data)


def test_damaged_files_are_named_and_the_rest_is_read(tmp_path):
    files.prepare_folder(tmp_path)
    whole = files.write(tmp_path, row()).read_bytes()
    damaged(tmp_path, "empty", b"")
    damaged(tmp_path, "half", whole[: len(whole) // 2])
    damaged(tmp_path, "text", b"not parquet")
    flipped = bytearray(whole)
    flipped[whole.index(b"learned")] ^= 1
    damaged(tmp_path, "flipped", bytes(flipped))
    (tmp_path / ".staging" / "left-over.parquet").write_bytes(b"half")
    loaded = files.read([tmp_path])
    assert loaded.rows == [row()]
    assert sorted(path.stem for path, _ in loaded.bad) == ["empty", "flipped", "half", "text"]


def test_no_wrong_bit_anywhere_passes_unseen(tmp_path):
    files.prepare_folder(tmp_path)
    path = files.write(tmp_path, row(cell_id="0123456789abcdef"))
    whole = path.read_bytes()
    for at in np.random.default_rng(0).integers(0, 8 * len(whole), 300).tolist():
        turned = bytearray(whole)
        turned[at // 8] ^= 1 << at % 8
        path.write_bytes(bytes(turned))
        assert not files.read_file(path).rows, at
    path.write_bytes(whole)
    assert files.read_file(path).rows and not files.read_file(path).bad
    other = path.rename(path.with_name("of-another-name.parquet"))
    assert files.read_file(other).rows, "a file that was renamed has no sum to be held to"


def test_a_wrong_bit_in_the_name_of_a_column_never_makes_a_null(tmp_path):
    """Checksums do not guard the footer: each column's name, everywhere it stands, with its last bit turned."""
    files.prepare_folder(tmp_path)
    known = row(rss_delta_bytes=7, gate_error=1e-7, ci_high_ms=3.0, real_state_size=8)
    whole, place = files.write(tmp_path, known).read_bytes(), tmp_path / "cells" / "turned.parquet"
    reasons = []
    for name in ("median_ms", "ci_high_ms", "gate_error", "real_state_size", "rss_delta_bytes"):
        for found in re.finditer(rb"(?<![a-z_])" + name.encode() + rb"(?![a-z_])", whole):
            turned = bytearray(whole)
            turned[found.end() - 1] ^= 1
            place.write_bytes(bytes(turned))
            loaded = files.read_file(place)
            assert loaded.rows == ([] if loaded.bad else [known]), (name, found.start())
            reasons += [why for _, why in loaded.bad]
    assert len(reasons) >= 5 and all("was written under another name" in why for why in reasons)


def test_a_file_without_a_row_is_named(tmp_path):
    pq.write_table(pa.Table.from_pylist([], schema=arrow_schema()), tmp_path / "none.parquet")
    assert files.read([tmp_path]).bad == [(tmp_path / "none.parquet", "damaged: it has no row")]


def test_columns_of_later_versions_and_missing_ones_do_no_harm(tmp_path):
    files.prepare_folder(tmp_path)
    values = row().arrow_values()
    del values["nvml_process_bytes"]
    later = {**values, "invented_later": 1, "batch": 8.0}
    pq.write_table(pa.Table.from_pylist([later]), tmp_path / "cells" / "later.parquet")
    (found,) = files.read([tmp_path]).rows
    assert found == row()


def test_version_1_stays_readable():
    """The file was written by the first release and must be read by every later one."""
    (found,) = files.read([DATA / "row_v1.parquet"]).rows
    assert found == row()
    assert found.schema_version == 2


def test_version_2_stays_readable():
    """Likewise."""
    (found,) = files.read([DATA / "row_v2.parquet"]).rows
    assert found == row(detail={"notes": ["x"]}, compile_s=0.5)


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_file_in_the_way_is_named(tmp_path, below):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(UserError, match=r"taken is a file\); choose another place with --out"):
        files.prepare_folder(tmp_path / "taken" / below)
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(UserError, match="no results at"):
        files.read([tmp_path / "nowhere"])


def test_environment_names_no_host_and_no_user():
    import getpass
    import socket

    from benchmark.metrics.environment import environment

    text = json.dumps(environment(), allow_nan=False)
    assert socket.gethostname() not in text
    assert f'"{getpass.getuser()}"' not in text


def test_an_index_spares_reading_and_can_be_rebuilt(tmp_path, monkeypatch):
    monkeypatch.setattr(index, "LEAST_NEW", 3)
    files.prepare_folder(tmp_path)
    for number in range(4):
        files.write(tmp_path, row(cell_id=f"{number:016}"))
    first = files.read([tmp_path])
    assert (tmp_path / index.NAME).exists()
    opened = []
    monkeypatch.setattr(files, "read_file", lambda path: opened.append(path))
    assert files.read([tmp_path]) == first
    assert not opened
    monkeypatch.undo()
    (tmp_path / index.NAME).write_bytes(b"broken")
    assert files.read([tmp_path]) == first


def test_an_index_hides_neither_new_nor_gone_nor_changed_files(tmp_path, monkeypatch):
    monkeypatch.setattr(index, "LEAST_NEW", 1)
    files.prepare_folder(tmp_path)
    old, gone = (files.write(tmp_path, row(cell_id=f"{number:016}")) for number in range(2))
    files.read([tmp_path])
    gone.unlink()
    old.write_bytes(b"changed")
    files.write(tmp_path, row(cell_id="new"))
    loaded = files.read([tmp_path])
    assert [r.cell_id for r in loaded.rows] == ["new"]
    assert [path for path, _ in loaded.bad] == [old]


def test_eight_processes_write_into_one_folder(tmp_path):
    files.prepare_folder(tmp_path)
    code = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[2]]\n"
        "from pathlib import Path; from test_store import row; from benchmark.store import files\n"
        "for n in range(10): files.write(Path(sys.argv[3]), row(cell_id=f'{sys.argv[4]}-{n}'))"
    )
    words = [sys.executable, "-c", code, str(DATA.parent.parent), str(DATA.parent), str(tmp_path)]
    writers = [subprocess.Popen([*words, str(number)]) for number in range(8)]
    assert [writer.wait(120) for writer in writers] == [0] * 8
    loaded = files.read([tmp_path])
    assert len({r.cell_id for r in loaded.rows}) == 80
    assert not loaded.bad


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/proc/self/ns/mnt").exists(), reason="mounts a small tmpfs")
@pytest.mark.parametrize(
    ("options", "message"), [("size=64k", "No space left"), ("ro,size=1m", "Read-only file system")]
)
def test_a_full_disk_and_a_read_only_one(tmp_path, options, message):
    """In a mount namespace of its own; what was written before stays, and nothing half-written is left."""
    code = f"""
import sys; sys.path[:0] = [{str(DATA.parent.parent)!r}, {str(DATA.parent)!r}]
from pathlib import Path
from test_store import row
from benchmark.spec import UserError
from benchmark.store import files
folder = Path({str(tmp_path)!r})
try:
    files.prepare_folder(folder)
    for n in range(100):
        files.write(folder, row(cell_id=str(n), detail={{"x": "y" * 5000}}))
except UserError as error:
    print(error)
kept = files.read([folder]) if (folder / "cells").exists() else ([], [])
print(len(kept[0]), len(kept[1]), len(list((folder / ".staging").glob("*"))))
"""
    shell = f"mount -t tmpfs -o {options} tmpfs {tmp_path} && exec {sys.executable} -c {shlex.quote(code)}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", shell], capture_output=True, text=True)
    if "Operation not permitted" in done.stderr:
        pytest.skip("this container may not mount")
    said, counts = done.stdout.splitlines()
    rows, bad, staged = map(int, counts.split())
    assert message in said
    assert (bad, staged) == (0, 0)
    assert (rows > 0) == (message == "No space left")


def test_merge_copies_what_is_new_and_readable(tmp_path):
    one, two, both = (tmp_path / name for name in ("one", "two", "both"))
    for folder, name in ((one, "a"), (two, "b")):
        files.prepare_folder(folder)
        files.write(folder, row(cell_id=name))
    (two / "cells" / "bad.parquet").write_bytes(b"bad")
    copied, bad = maintenance.merge([one, two], both)
    assert copied == 2 and [path.name for path, _ in bad] == ["bad.parquet"]
    assert maintenance.merge([one, two], both)[0] == 0
    assert {r.cell_id for r in files.read([both]).rows} == {"a", "b"}


def test_merge_takes_copies_for_one_and_mends_what_is_damaged(tmp_path):
    one, two, both = (tmp_path / name for name in ("one", "two", "both"))
    files.prepare_folder(one)
    path = files.write(one, row(cell_id="0123456789abcdef"))
    (one / "cells" / "copy.parquet").write_bytes(path.read_bytes())
    assert maintenance.merge([one], both)[0] == 1
    (copied,) = (both / "cells").iterdir()
    assert copied.name == path.name
    copied.write_bytes(b"bad")
    assert maintenance.merge([one], both)[0] == 1 and files.read_file(copied).rows
    for folder, value in ((one, 1), (two, 2)):
        files.write_rows(folder / "all.parquet", [row(seed=value), row(seed=value + 2)])
    assert maintenance.merge([one / "all.parquet", two / "all.parquet"], both)[0] == 2
    assert maintenance.merge([both], both)[0] == 0


def test_prune_says_first_and_does_then(tmp_path):
    files.prepare_folder(tmp_path)
    old = files.write(tmp_path, row(created_at=datetime(2025, 1, 1, tzinfo=UTC)))
    new = files.write(tmp_path, row())
    failed = files.write(tmp_path, row(cell_id="other", status="failed", reason="no"))
    bad = tmp_path / "cells" / "bad.parquet"
    bad.write_bytes(b"bad")
    left = tmp_path / ".staging" / "left"
    left.write_bytes(b"")
    told = dict(maintenance.prune([tmp_path], ["failed"], really=False))
    assert set(told) == {old, failed, bad, left}
    assert all(path.exists() for path in told)
    assert dict(maintenance.prune([tmp_path], ["failed"], really=True)) == told
    assert [p for p in (old, new, failed, bad, left) if p.exists()] == [new]
    with pytest.raises(UserError, match="--status takes ok, oom"):
        list(maintenance.prune([tmp_path], ["broken"], really=False))


def test_many_rows_in_one_file_read_as_they_did(tmp_path):
    rows = [row(cell_id=f"{n:08x}", seq_len=2**n, detail={"n": n}) for n in range(1, 9)]
    path = files.write_rows(tmp_path / "all.parquet", rows)
    files.prepare_folder(tmp_path / "apart")
    for one in rows:
        files.write(tmp_path / "apart", one)
    loaded = files.read([path])
    assert loaded.bad == []
    assert sorted(loaded.rows, key=str) == sorted(files.read([tmp_path / "apart"]).rows, key=str)
    assert [r.seq_len for r in loaded.rows] == [2**n for n in range(1, 9)]
