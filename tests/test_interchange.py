"""Results as other tools write and read them."""

import json
import math
import sys

import pytest
from test_store import row

import cli
from benchmark.spec import UserError
from benchmark.store import files, interchange
from benchmark.store.interchange import NothingImportedError, cell_from, exported, imported

ENVIRONMENT = {"cpu": "Test CPU", "cpus": 2, "system": "Linux x86_64", "python": "3.11.7", "commit": "a" * 40}


def measured(**changes):
    """A row whose id is its cell's own, as results have it."""
    made = row(**({"environment": ENVIRONMENT, "process_medians_ms": [1.9, 2.1]} | changes))
    return made.model_copy(update={"cell_id": made.cell.id})


def written(folder, value, name="file.json"):
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


FORM = "pytest-benchmark"
CELL = {"layer": "lru", "framework": "torch", "seq_len": 1024, "d_model": 8, "d_state": 4}


def entry(version, **changes):
    """A benchmark as that version of pytest-benchmark writes it."""
    stats = {"min": 0.0018, "max": 0.0024, "mean": 0.00205, "stddev": 0.0001, "median": 0.002, "rounds": 4}
    stats |= {"iqr": 0.0002, "q1": 0.0019, "q3": 0.0021, "outliers": "1;0", "iterations": 1}
    made = {"name": "test_lru[torch]", "fullname": "tests/test_it.py::test_lru[torch]", "group": None, "stats": stats}
    if version >= (3, 0):
        made |= {"params": CELL, "param": "torch", "extra_info": {}, "options": {"timer": "perf_counter"}}
    if version >= (3, 1):
        stats |= {"ops": 487.8, "total": 0.0082, "data": [0.0018, 0.002, 0.002, 0.0024]}
    return made | changes


def document(version, benchmarks):
    """A whole file, with what that version tells of machine and commit."""
    machine = {
        "node": "secret-host",
        "system": "Linux",
        "machine": "x86_64",
        "python_version": "3.11.7",
        "release": "6",
    }
    commit = {"id": "b" * 40, "dirty": False}
    date = "2015-08-15T00:01:46.250433"
    if version >= (3, 1):
        machine["cpu"] = {"brand": "Test CPU", "count": 2}
        commit |= {"time": "2024-01-01T00:00:00+00:00", "project": "p", "branch": "main"}
    if version >= (4, 0):
        machine["cpu"] = {"brand_raw": "Test CPU", "count": 2}
        date = "2024-01-02T03:04:05.000006+00:00"
    text = ".".join(map(str, version)) + ".0"
    return {"machine_info": machine, "commit_info": commit, "benchmarks": benchmarks, "datetime": date, "version": text}


# pytest-benchmark


@pytest.mark.parametrize("version", [(3, 0), (3, 1), (4, 0), (5, 3)])
def test_all_versions_become_the_same_row(version, tmp_path):
    path = written(tmp_path, document(version, [entry(version)]))
    (found,) = imported(path, "pytest-benchmark").rows
    assert (found.median_ms, found.process_medians_ms) == (2.0, [2.0])
    assert (found.layer, found.seq_len, found.d_state, found.batch, found.direction) == ("lru", 1024, 4, 1, "forward")
    assert found.cell_id == found.cell.id
    assert found.options["gamma"] == "learned"
    assert found.environment["commit"] == "b" * 40
    assert found.created_at.year == (2024 if version >= (4, 0) else 2015)
    assert found.samples_ms == (pytest.approx([1.8, 2.0, 2.0, 2.4]) if version >= (3, 1) else None)
    assert found.environment.get("cpu") == ("Test CPU" if version >= (3, 1) else None)
    assert "secret-host" not in found.model_dump_json()


def test_version_2_5_knows_no_parameters_so_nothing_is_a_row(tmp_path):
    path = written(tmp_path, document((2, 5), [entry((2, 5))]))
    with pytest.raises(NothingImportedError, match=r"test_lru\[torch\]: it names no layer of rotrnn, lru"):
        imported(path, "pytest-benchmark")


def test_version_2_5_of_a_row_that_names_itself(tmp_path):
    named = entry((2, 5), extra_info={"rotbench": CELL})
    (found,) = imported(written(tmp_path, document((2, 5), [named])), "pytest-benchmark").rows
    assert found.median_ms == 2.0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"params": None}, "it names no layer"),
        ({"params": CELL | {"layer": "gru"}}, "unknown layer 'gru'"),
        ({"params": {"layer": "lru", "framework": "torch"}}, "d_model: field required"),
        ({"params": CELL | {"seq_len": "long"}}, "seq_len: "),
        ({"params": CELL | {"options": [1]}}, "its options are no table"),
        ({"stats": {"median": 0}}, "it has no median"),
        ({"stats": None}, "it has no median"),
        ({"stats": {"median": math.inf}}, "it has no median"),
        ({"stats": {"median": 1e307}}, "median_ms must be finite and above 0"),
        ({"params": CELL | {"layer": ["lru"]}}, "unknown layer ['lru']"),
        ({"extra_info": {"rotbench": json.loads(measured(median_ms=-1.0).model_dump_json())}}, "median_ms must be"),
        ({"extra_info": {"rotbench": {"cell_id": "x"}}}, "metric: field required"),
    ],
)
def test_what_is_no_row_is_named_and_the_rest_is_read(changes, why, tmp_path):
    path = written(tmp_path, document((5, 3), [entry((5, 3), **changes), entry((5, 3)), 7]))
    found = imported(path, "pytest-benchmark")
    assert len(found.rows) == 1
    (name, reason), (other, _) = found.passed_over
    assert name == "tests/test_it.py::test_lru[torch]"
    assert reason.startswith(why)
    assert other == "an entry"


@pytest.mark.parametrize("data", [5, [0.1, math.nan], [0.1, "x"], None])
def test_rounds_that_are_no_times_are_left_out(data, tmp_path):
    odd = document((5, 3), [entry((5, 3), stats={"median": 0.1, "data": data})])
    odd["commit_info"]["id"] = ["x"]
    told = imported(written(tmp_path, document((5, 3), [entry((5, 3), stats={"median": 0.1, "data": data})])), FORM)
    assert (told.rows[0].median_ms, told.rows[0].samples_ms) == (100, None)
    with pytest.raises(NothingImportedError, match=r"environment.commit must be text, got \['x'\]"):
        imported(written(tmp_path, odd), FORM)


def test_there_and_back_by_pytest_benchmark(tmp_path):
    rows = [measured(), measured(framework="jax", direction="step", seq_len=None, gate_error=1e-6, detail={"a": [1]})]
    found = imported(written(tmp_path, exported(rows, "pytest-benchmark")), "pytest-benchmark")
    assert not found.passed_over
    for ours, theirs in zip(rows, found.rows, strict=True):
        assert theirs.samples_ms == pytest.approx(ours.samples_ms)
        assert theirs.model_copy(update={"samples_ms": ours.samples_ms}) == ours


def test_figures_as_pytest_benchmark_computes_them():
    from pytest_benchmark.stats import Stats

    told = json.loads(exported([measured(samples_ms=[1.0, 2.0, 3.0, 4.0, 9.0])], "pytest-benchmark"))
    theirs = Stats()
    for value in (0.001, 0.002, 0.003, 0.004, 0.009):
        theirs.update(value)
    ours = told["benchmarks"][0]["stats"]
    for name in ("min", "max", "mean", "stddev", "total", "ops", "rounds", "stddev_outliers"):
        assert ours[name] == pytest.approx(getattr(theirs, name)), name
    assert set(theirs.as_dict()) <= set(ours)
    assert ours["median"] == 0.002  # the row's own, over processes


def test_only_the_newest_row_of_a_cell_is_written_and_names_are_unique():
    from datetime import timedelta

    newer = measured(created_at=measured().created_at + timedelta(days=1), median_ms=3.0)
    told = json.loads(exported([newer, measured(), measured(layer="s5", options={})], "pytest-benchmark"))
    assert [made["stats"]["median"] for made in told["benchmarks"]] == [0.003, 0.002]
    assert len({made["fullname"] for made in told["benchmarks"]}) == 2


@pytest.mark.parametrize("name", ["commit", "cpu"])
def test_a_file_has_one_machine_and_one_commit(name):
    other = measured(layer="s5", options={}, environment=ENVIRONMENT | {name: "other"})
    with pytest.raises(UserError, match=f"has one {name}, these rows have 2"):
        exported([measured(), other], "pytest-benchmark")


def test_rows_without_a_time_are_refused():
    with pytest.raises(NothingImportedError, match="no row has a time"):
        exported([measured(status="oom", median_ms=None)], "pytest-benchmark")


# Figures for benchmark actions


def test_smaller_is_better_by_hand():
    one = measured(ci_low_ms=1.8, ci_high_ms=2.2, xla_temp_bytes=64, device="cpu")
    time, temp = json.loads(exported([one], "action-json"))
    assert time["name"] == f"lru-torch-chunked-forward-1024-b8-cpu-{one.cell_id[:8]} median_ms"
    assert (time["unit"], time["value"], time["range"]) == ("ms", 2.0, "± 0.2")
    assert time["extra"].startswith("2 processes, Test CPU, aaaa")
    assert (temp["unit"], temp["value"]) == ("bytes", 64)
    assert "range" not in temp


def test_bigger_is_better_by_hand():
    (rate,) = json.loads(exported([measured(ci_low_ms=1.8, ci_high_ms=2.2)], "action-json", "bigger"))
    assert (rate["unit"], rate["value"]) == ("tokens/s", 8 * 1024 / 0.002)
    assert rate["range"] == "± 4.1e+05"


@pytest.mark.parametrize("better", ["smaller", "bigger"])
def test_there_and_back_by_figures(better, tmp_path):
    one = measured(xla_temp_bytes=64)
    (found,) = imported(written(tmp_path, exported([one], "action-json", better)), "action-json").rows
    assert found.cell_id == one.cell_id
    assert found.median_ms == pytest.approx(2.0)
    assert found.xla_temp_bytes == (64 if better == "smaller" else None)


def test_names_stay_the_same_from_run_to_run():
    first, second = (json.loads(exported([measured(median_ms=ms)], "action-json")) for ms in (2.0, 3.0))
    assert [made["name"] for made in first] == [made["name"] for made in second]


@pytest.mark.parametrize(
    ("figure", "why"),
    [
        ({"name": "n", "unit": "ms", "value": 1}, "its extra does not say"),
        ({"name": "n", "value": 1, "extra": "rotbench {"}, "its record cannot be read"),
        ({"name": "n", "value": "x", "extra": 'rotbench {"column": "median_ms"}'}, "its record cannot be read"),
        (
            {"name": "n", "value": 1, "extra": f"rotbench {json.dumps(CELL | {'column': 'joy'})}"},
            "unknown figure 'joy'",
        ),
        (5, "it is no table"),
        *(
            (
                {"name": "n", "value": value, "extra": f"rotbench {json.dumps(CELL | {'column': column})}"},
                f"its value must be a finite number {words} 0",
            )
            for column, value, words in (
                ("tokens_per_s", 0, "above"),
                ("median_ms", "nan", "above"),
                ("xla_temp_bytes", math.inf, "not below"),
                ("xla_temp_bytes", -1, "not below"),
            )
        ),
    ],
)
def test_figures_that_are_no_rows(figure, why, tmp_path):
    with pytest.raises(NothingImportedError, match=why):
        imported(written(tmp_path, [figure]), "action-json")


# Files that are none


@pytest.mark.parametrize(
    ("text", "form", "code", "message"),
    [
        ("", "pytest-benchmark", 3, "is empty"),
        ("{", "pytest-benchmark", 2, "must be JSON; line 1"),
        ("[]", "pytest-benchmark", 2, "with a list named benchmarks"),
        ('{"benchmarks": []}', "pytest-benchmark", 3, "holds no benchmark"),
        ("[]", "action-json", 3, "holds no figure"),
        ("{}", "action-json", 2, "must be a list"),
        ("[" * 200_000, "action-json", 2, "nested too deeply"),
        ("{}", "junit", 2, "unknown format 'junit'; known: pytest-benchmark, action-json"),
    ],
)
def test_each_fault_has_its_words_and_its_code(text, form, code, message, tmp_path):
    with pytest.raises(UserError, match=message) as caught:
        imported(written(tmp_path, text), form)
    assert caught.value.exit_code == code


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        imported(tmp_path / "nothing.json", "action-json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="it is not text"):
        imported(tmp_path / "binary.json", "action-json")


def test_a_cell_is_filled_in_with_what_is_usual():
    cell = cell_from(CELL | {"unknown": 1, "options": {"gamma": "none"}})
    assert (cell.batch, cell.threads, cell.direction, cell.options["gamma"]) == (1, 0, "forward", "none")


def test_formats_that_the_command_knows():
    assert interchange.FORMS == ("pytest-benchmark", "action-json")
    with pytest.raises(UserError, match="unknown format"):
        exported([measured()], "xml")


# The commands


@pytest.fixture
def results(monkeypatch, capsys, tmp_path):
    """The command, in this process and a folder of its own: stdout and stderr as text, and its exit code held."""
    monkeypatch.chdir(tmp_path)

    def command(*words, check=0):
        monkeypatch.setattr(sys, "argv", ["rotbench", "results", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        told = capsys.readouterr()
        assert ended.value.code == check, told
        return told

    return command


def test_export_and_import_by_command(results, tmp_path):
    files.prepare_folder(tmp_path / "runs")
    files.write(tmp_path / "runs", measured())
    results("export", "runs", "--format", "pytest-benchmark", "--commit", "aaa", "--out", "p.json")
    out, _ = results("import", "p.json", "--out", "back")
    assert out == "1 row in back/cells\n"
    (found,) = files.read([tmp_path / "back"]).rows
    assert found == measured()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("export", "runs", "--format", "xml"), 2, "known: csv, json, md, parquet, pytest-benchmark, action-json"),
        (("export", "runs", "--commit", "ffff"), 3, "no row was measured at a commit"),
        (("export", "runs", "--format", "action-json", "--better", "x"), 2, "unknown --better 'x'"),
        (("import", "none.json"), 2, "cannot read none.json"),
    ],
)
def test_the_commands_say_what_is_wrong(results, words, code, message, tmp_path):
    files.prepare_folder(tmp_path / "runs")
    files.write(tmp_path / "runs", measured())
    _, err = results(*words, check=code)
    assert message in err
    assert len(err.splitlines()) == 1
