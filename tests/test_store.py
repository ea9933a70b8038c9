"""Results: whole files or none, read one by one, old and damaged ones too."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.spec import UserError
from benchmark.store import files
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
    assert schema.metadata[b"schema_version"] == b"1"
    assert len(schema) <= 45
    assert schema.field("samples_ms").type == pa.list_(pa.float64())
    assert schema.field("created_at").type == pa.timestamp("us", tz="UTC")
    assert schema.field("seq_len").type == pa.int64()
    assert schema.field("median_ms").type == pa.float64()
    assert set(json_columns()) == {"options", "recipe", "notes", "history", "environment"}


def test_units_are_in_the_names():
    suffixes = ("_ms", "_s", "_bytes", "_hours", "_accuracy", "_error")
    floats = [name for name, field in Row.model_fields.items() if "float" in str(field.annotation)]
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
        row(notes={"x": float("nan")}).arrow_values()


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


def test_columns_of_later_versions_and_missing_ones_do_no_harm(tmp_path):
    files.prepare_folder(tmp_path)
    values = row().arrow_values()
    del values["traffic_bytes"]
    later = {**values, "invented_later": 1, "batch": 8.0}
    pq.write_table(pa.Table.from_pylist([later]), tmp_path / "cells" / "later.parquet")
    (found,) = files.read([tmp_path]).rows
    assert found == row()


def test_version_1_stays_readable():
    """The file was written by the first release and must be read by every later one."""
    (found,) = files.read([DATA / "row_v1.parquet"]).rows
    assert found == row()


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_file_in_the_way_is_named(tmp_path, below):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(UserError, match=r"taken is a file\); choose another folder with --out"):
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
