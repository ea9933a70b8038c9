"""Machines, series, steps, bisection: on synthetic rows and temporary git repositories."""

import itertools
import json
import math
import re
import secrets
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from test_store import row

import cli
from benchmark.history import commits, segmentation
from benchmark.history.bisection import NoStepError, NothingMeasuredError, bisect
from benchmark.history.machine import Machine, cpu_name, machine_of, memory_class, software, this_machine
from benchmark.history.measuring import Measurer
from benchmark.history.series import history_of
from benchmark.history.steps import all_steps, levels_of, steps_of
from benchmark.regress.quantities import QUANTITIES
from benchmark.reports.bisection import bisection_table, verdict
from benchmark.reports.history import history_json, history_tables, sparkline
from benchmark.reports.history_charts import history_charts
from benchmark.reports.tables import to_terminal
from benchmark.spec import UserError
from benchmark.store import files
from benchmark.sweeps.lock import DeviceBusyError, device_lock

BORN = datetime(2026, 1, 1, tzinfo=UTC)
MACHINE = {
    "cpu": "Test(R) CPU @ 2.00GHz",
    "cores": 4,
    "cpus": 8,
    "memory_bytes": int(15.5 * 2**30),
    "system": "Linux x86_64",
    "python": "3.11.7",
    "versions": {"torch": "2.5.0", "jax": "0.5.0", "numpy": "2.0.0"},
    "load_1min": 0.5,
}


def sha(index):
    return f"{index:010x}{0:030}"


def measured(index, ms, environment=None, **changes):
    """A row of the commit with that index."""
    told = MACHINE | {"commit": sha(index), "dirty": False} | (environment or {})
    fields = {"median_ms": ms, "process_medians_ms": [ms] if ms else None, "created_at": BORN + timedelta(days=index)}
    return row(**(fields | changes), environment=told)


def series_of(values, **changes):
    (found,) = history_of([measured(i, ms, **changes) for i, ms in enumerate(values)], metrics=["ms"]).series
    return found


def stepped(*levels, noise=0.02, seed=0):
    """Levels of so many points each, with log-normal noise."""
    heights = np.concatenate([np.full(count, level) for level, count in levels])
    return heights * np.exp(noise * np.random.default_rng(seed).standard_normal(len(heights)))


# Machines


@pytest.mark.parametrize(
    "changes",
    [{"load_1min": 7.0}, {"memory_bytes": int(15.7 * 2**30)}, {"cpu": "Test CPU @ 2.50GHz"}, {"cpu_governor": "x"}],
)
def test_what_changes_from_run_to_run_is_not_in_the_fingerprint(changes):
    assert machine_of(measured(0, 1.0, changes)) == machine_of(measured(0, 1.0))


@pytest.mark.parametrize(
    "changes",
    [{"cpus": 4}, {"cpu": "Other"}, {"memory_bytes": 32 * 2**30}, {"system": "Linux arm"}, {"os": "Debian 13"}],
)
def test_other_hardware_is_another_machine(changes):
    assert machine_of(measured(0, 1.0, changes)).id != machine_of(measured(0, 1.0)).id


def test_a_machine_by_hand():
    made = machine_of(measured(0, 1.0))
    assert made == Machine("Test", 4, 8, 16, "Linux x86_64")
    assert re.fullmatch("[0-9a-f]{8}", made.id)
    assert machine_of(measured(0, 1.0, device="cuda", detail={"device_name": "NVIDIA H200"})).gpu == "NVIDIA H200"
    assert machine_of(row(environment={})).words == "unknown, unknown CPUs, memory unknown, unknown"


def test_versions_stand_apart():
    new = measured(0, 1.0, {"versions": MACHINE["versions"] | {"torch": "2.6.0"}})
    assert machine_of(new) == machine_of(measured(0, 1.0))
    assert software(new) == {"python": "3.11.7", "torch": "2.6.0", "numpy": "2.0.0"}


def test_this_machine_is_the_same_twice_and_names_no_host():
    import platform

    assert this_machine() == this_machine()
    assert platform.node() not in this_machine().words.split()


@pytest.mark.parametrize("gib", [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512])
def test_what_a_kernel_keeps_back_does_not_change_the_class(gib):
    assert {memory_class(int(gib * share * 2**30)) for share in (0.93, 0.97, 1.0)} == {gib}


def test_marks_and_clocks_are_taken_from_a_name():
    assert cpu_name("Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz") == "Intel Core i7-8550U"
    assert cpu_name("  ") == "unknown"


# Segmentation


def cost(values):
    return float(np.abs(values - np.median(values)).sum())


def total(values, found, penalty):
    return sum(cost(values[a:b]) + penalty for a, b in itertools.pairwise([0, *found, len(values)]))


def best_of_all(values, penalty, least):
    """By trying every segmentation."""
    n = len(values)
    ways = (ends for k in range(n) for ends in itertools.combinations(range(1, n), k))
    legal = (ends for ends in ways if min(np.diff([0, *ends, n])) >= least)
    return min(total(values, ends, penalty) for ends in legal)


@pytest.mark.parametrize("least", [1, 2, 3])
def test_no_segmentation_costs_less(least):
    rng = np.random.default_rng(least)
    for _ in range(40):
        values = rng.standard_normal(int(rng.integers(4, 10))) + 2 * rng.integers(0, 2)
        values[len(values) // 2 :] += 2
        penalty = float(rng.uniform(0.1, 3))
        found = segmentation.cuts(values.tolist(), penalty, least)
        assert min(np.diff([0, *found, len(values)])) >= least
        assert total(values, found, penalty) == pytest.approx(best_of_all(values, penalty, least))


def test_a_step_by_hand():
    assert segmentation.cuts([0, 0, 0, 5, 5, 5], 1.0) == [3]
    assert segmentation.cuts([0, 0, 0, 5, 5, 5], 100.0) == []
    assert segmentation.cuts([0, 0, 0, 50, 0, 0], 1.0, 2) == []  # one wild value is no level
    assert segmentation.cuts([], 1.0) == []


def test_noise_is_found_whatever_the_steps():
    rng = np.random.default_rng(0)
    values = 0.08 * rng.standard_normal(400)
    values[200:] += 3.0
    assert segmentation.noise(values.tolist()) == pytest.approx(0.08, rel=0.15)
    assert segmentation.noise([1.0] * 10) == segmentation.LEAST_NOISE


@pytest.mark.parametrize("points", [8, 12, 20, 40])
def test_noise_of_8_percent_alone_shows_a_step_in_at_most_one_series_of_twenty(points):
    runs, rng = 400, np.random.default_rng(points)
    false = sum(bool(segmentation.steps(values.tolist())) for values in 0.08 * rng.standard_normal((runs, points)))
    assert false / runs <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize(("change", "noise"), [(1.05, 0.02), (1.30, 0.08), (0.90, 0.02)])
def test_steps_are_found_where_they_are(change, noise):
    runs, right = 60, 0
    for seed in range(runs):
        found = segmentation.steps(np.log(stepped((10, 25), (10 * change, 25), noise=noise, seed=seed)).tolist())
        right += len(found) == 1 and abs(found[0] - 25) <= 2
    assert right / runs >= 0.9


# Series and steps


def test_points_are_geometric_means_of_a_commit_in_the_order_of_the_trunk():
    rows = [measured(2, 3.0), measured(1, 2.0), measured(1, 8.0, replicate=0), measured(9, 1.0)]
    found = history_of(rows, [sha(2), sha(1)], ["ms"])
    (series,) = found.series
    assert [point.commit for point in series.points] == [sha(2), sha(1)]
    assert series.values == pytest.approx([3.0, 4.0])
    assert series.points[1].rows == 2
    assert found.left_out == {"of commits that are not on the trunk": 1}


def test_without_a_trunk_points_are_by_date_and_rows_without_commit_are_points():
    told = {"commit": None}
    rows = [measured(3, 3.0, told), measured(1, 1.0, told), measured(2, 2.0)]
    (series,) = history_of(rows, [sha(77)], ["ms"]).series
    assert series.values == pytest.approx([1.0, 2.0, 3.0])
    assert [point.name for point in series.points] == ["2026-01-02 00:00", sha(2)[:10], "2026-01-04 00:00"]


def test_of_a_count_of_0_there_is_no_point():
    rows = [measured(i, None, metric="memory", xla_temp_bytes=size) for i, size in enumerate((5, 0, 5))]
    (series,) = history_of(rows, metrics=["xla_temp_bytes"]).series
    assert series.values == pytest.approx([5, 5])


def test_what_is_no_point_is_counted():
    rows = [measured(0, 1.0), measured(1, 1.0, {"dirty": True}), measured(2, None, status="oom")]
    found = history_of(rows)
    assert len(found.series[0].points) == 1
    assert found.left_out == {"of a tree with changes that are in no commit": 1, "without a result": 1}


def test_machines_cells_and_metrics_are_never_mixed():
    rows = [
        measured(0, 1.0, energy_j=2.0),
        measured(0, 1.0, {"cpus": 2}),
        measured(0, 1.0, cell_id="other"),
        measured(0, None, cell_id="mem", metric="memory", xla_temp_bytes=5),
    ]
    found = history_of(rows).series
    assert len(found) == 5
    assert {entry.quantity.name for entry in found} == {"ms", "energy_j", "xla_temp_bytes"}


def test_a_recovered_regression_is_still_listed():
    series = series_of(stepped((10, 15), (12, 10), (10, 15)))
    lost, won = steps_of(series)
    assert (lost.state, won.state) == ("recovered", "gain")
    assert (lost.before.commit, lost.after.commit) == (sha(14), sha(15))
    assert lost.recovered.commit == won.after.commit == sha(25)
    assert math.exp(lost.change) == pytest.approx(1.2, rel=0.02)


def test_half_of_a_loss_undone_is_not_recovered():
    first, _ = steps_of(series_of(stepped((10, 15), (14, 15), (12, 15), noise=0.01)))
    assert first.state == "open"


def test_direction_belongs_to_the_metric():
    changes = {"metric": "train", "task": "digits", "median_ms": None}
    rows = [measured(i, None, **changes, test_accuracy=0.9 if i < 10 else 0.8) for i in range(20)]
    (series,) = history_of(rows, metrics=["accuracy"]).series
    (step,) = steps_of(series)
    assert (step.state, round(step.change, 3)) == ("open", -0.1)
    faster = series_of(stepped((10, 15), (8, 15)))
    assert [step.state for step in steps_of(faster)] == ["gain"]


def test_small_steps_and_short_series_are_left_alone():
    exact = series_of([10.0] * 15 + [10.1] * 15)
    assert len(levels_of(exact)) == 2
    assert steps_of(exact) == []
    assert len(steps_of(exact, least_effect=0.005)) == 1
    assert steps_of(series_of([1.0] * 3 + [2.0] * 4)) == []


def test_an_update_at_a_step_is_named():
    new = {"versions": MACHINE["versions"] | {"torch": "2.6.0"}}
    values = stepped((10, 15), (12, 15))
    rows = [measured(i, ms, new if i >= 15 else {}) for i, ms in enumerate(values)]
    (step,) = all_steps(history_of(rows, metrics=["ms"]).series)
    assert step.updates == ["torch 2.5.0 to 2.6.0"]


# What is shown


def test_sparklines():
    assert sparkline([1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇█"
    assert sparkline([1, 1, 1, 2, 2], plain=True) == "___##"
    assert len(set(sparkline([100, 100.1, 100.2, 99.9]))) == 1  # noise is no mountain
    assert sparkline(list(range(240)), width=24)[0] == "▁"
    assert len(sparkline(list(range(240)), width=24)) == 24
    assert sparkline([]) == ""
    assert len(sparkline([0.0, 0.0])) == 2


def test_tables_tell_steps_and_what_was_left_out():
    rows = [measured(i, ms) for i, ms in enumerate(stepped((10, 15), (12, 15)))]
    history = history_of([*rows, measured(0, None, status="oom")], metrics=["ms"])
    shown = [to_terminal(table) for table in history_tables(history, 0.02)]
    assert "Test, 8 CPUs, 16 GiB, Linux x86_64" in shown[0]
    assert "▁" in shown[0]
    assert "open" in shown[1] and sha(15)[:10] in shown[1] and "bisect" in shown[1]
    assert "1 rows without a result are left out." in shown[1]
    plain = to_terminal(history_tables(history, 0.02, plain=True)[0], encoding="ascii")
    assert plain.isascii()


def test_one_commit_has_no_change_and_says_that_steps_were_not_sought():
    history = history_of([measured(0, 1.0)], metrics=["ms"])
    table, steps = history_tables(history, 0.02)
    assert "+0.0 %" not in to_terminal(table)
    assert not steps.rows
    assert any("under 8 commits" in note for note in steps.notes)


def test_json_is_strict_and_whole():
    history = history_of([measured(i, ms) for i, ms in enumerate(stepped((10, 15), (12, 15)))], metrics=["ms"])
    told = json.loads(json.dumps(history_json(history, 0.02), allow_nan=False))
    (series,) = told["series"]
    assert len(series["points"]) == 30
    assert series["steps"][0]["ratio"] == pytest.approx(1.2, rel=0.03)


def test_charts_have_all_commits_in_their_order():
    rows = [measured(i, 1.0 + i) for i in range(10)] + [
        measured(i, 2.0, cell_id="other", layer="s5") for i in (1, 5, 12)
    ]
    ((title, spec),) = history_charts(history_of(rows, metrics=["ms"]).series)
    assert title.startswith("ms over commits on Test")
    (data,) = spec["datasets"].values()
    places = {entry["commit"]: entry["place"] for entry in data}
    assert [places[sha(i)[:10]] for i in (0, 1, 5, 9, 12)] == [0, 1, 5, 9, 10]
    assert history_charts(history_of(rows[:2]).series) == []


# Bisection


PATH = [sha(i) for i in range(16)]


def figures(first_bad, ratio=1.2, noise=0.0, broken=()):
    """A measure whose level steps at a commit; it counts what it was asked."""
    asked = []

    def measure(commit, rounds):
        index = PATH.index(commit)
        asked.append(commit)
        if index in broken:
            return "does not build"
        rng = np.random.default_rng([index, 7])
        level = 10.0 * (ratio if index >= first_bad else 1.0)
        return [float(v) for v in level * np.exp(noise * rng.standard_normal(3 * rounds))]

    return measure, asked


@pytest.mark.parametrize("first_bad", range(1, 16))
@pytest.mark.parametrize("ratio", [1.2, 0.8])
def test_every_step_is_found_in_few_measurements(first_bad, ratio):
    measure, asked = figures(first_bad, ratio, noise=0.01)
    found = bisect(PATH, measure)
    assert found.suspects == [sha(first_bad)]
    assert found.ratio == pytest.approx(ratio, rel=0.03)
    assert len(set(asked)) <= 2 + 4


def test_commits_that_cannot_be_measured_are_skipped_and_named():
    found = bisect(PATH, figures(9, broken=(7, 10))[0])
    assert found.suspects == [sha(9)]
    assert set(found.skipped.values()) == {"does not build"}
    around = bisect(PATH, figures(9, broken=(8, 9, 10))[0])
    assert around.suspects == [sha(i) for i in (8, 9, 10, 11)]
    assert "one of 4 commits" in verdict(around, lambda commit: "subject")


def test_a_doubtful_commit_is_measured_more_than_once():
    measure, asked = figures(8, ratio=1.1, noise=0.03)
    bisect(PATH, measure)
    assert len(asked) > len(set(asked))


def test_ends_that_do_not_differ_are_refused():
    with pytest.raises(NoStepError, match="must differ") as caught:
        bisect(PATH, figures(99, noise=0.02)[0])
    assert caught.value.exit_code == 1
    with pytest.raises(NoStepError, match="under the 2 % of --least"):
        bisect(PATH, figures(5, ratio=1.001)[0])


def test_an_end_that_cannot_be_measured_ends_it():
    with pytest.raises(NothingMeasuredError, match="does not build") as caught:
        bisect(PATH, figures(5, broken=(0,))[0])
    assert caught.value.exit_code == 3


def test_the_table_names_what_was_found():
    found = bisect(PATH, figures(9, broken=(12,))[0])
    text = to_terminal(bisection_table(found, QUANTITIES["ms"], lambda commit: f"subject {PATH.index(commit)}"))
    assert "not measured: does not build" in text
    assert "12.0 ms" in text
    assert verdict(found, lambda commit: "Make it slow") == f"{sha(9)} made the step of +20.0 %: Make it slow"


# Git


def git(folder, *words):
    own = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *own, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FAKE_CLI = """
import shutil, subprocess, sys
from pathlib import Path
words = dict(zip(sys.argv[2::2], sys.argv[3::2]))
{body}
where = Path(__file__).parent
commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=where, capture_output=True, text=True).stdout.strip()
cells = Path(words["--out"]) / "cells"
cells.mkdir(parents=True, exist_ok=True)
for replicate in range(int(words["--replicates"])):
    name = f"{{commit}}-{{replicate}}.parquet"
    shutil.copy(Path({prepared!r}) / name, cells / name)
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Eight commits of a command line that pretends to measure: the fifth is slow, the sixth broken."""
    folder, prepared = tmp_path_factory.mktemp("repository"), tmp_path_factory.mktemp("prepared")
    git(folder, "init", "-q")
    for index in range(8):
        body = "sys.exit('rotbench: it does not compile')" if index == 5 else ""
        (folder / "cli.py").write_text(f"# {index}\n{FAKE_CLI.format(prepared=str(prepared), body=body)}")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", f"Commit {index}")
        prepare(prepared, git(folder, "rev-parse", "HEAD"), 10.0 if index < 4 else 13.0)
    return folder


def prepare(folder, commit, ms):
    """Three rounds of rows of a commit."""
    files.prepare_folder(folder)
    for replicate in range(3):
        medians = [ms, ms * 1.01, ms * 0.99]
        made = row(replicate=replicate, median_ms=ms, process_medians_ms=medians, environment={"commit": commit})
        path = files.write(folder, made.model_copy(update={"cell_id": made.cell.id}))
        path.replace(folder / f"{commit}-{replicate}.parquet")


@pytest.fixture
def device():
    """A name whose lock no sweep of this machine holds."""
    return f"test-{secrets.token_hex(4)}"


def measurer(repository, tmp_path, device, **changes):
    words = ("speed", "--layer", "lru")
    return Measurer(repository, tmp_path, words, QUANTITIES["ms"], device, **changes)


def test_the_trunk_is_the_first_parents_oldest_first(repository, tmp_path):
    assert len(commits.trunk(repository)) == 8
    assert commits.trunk(repository)[-1] == git(repository, "rev-parse", "HEAD")
    assert commits.trunk(tmp_path) == []
    assert commits.subject(repository, "HEAD") == "Commit 7"
    with pytest.raises(UserError, match="must name a commit"):
        commits.trunk(repository, "nowhere")


def test_commits_between(repository):
    assert len(commits.between(repository, "HEAD~3", "HEAD")) == 4
    for good, bad in (("HEAD", "HEAD~3"), ("HEAD", "HEAD")):
        with pytest.raises(UserError, match="must be an ancestor"):
            commits.between(repository, good, bad)
    with pytest.raises(UserError, match="'--help' must name a commit"):
        commits.between(repository, "--help", "HEAD")


def test_a_worktree_goes_away(repository):
    with commits.worktree(repository, "HEAD~7") as tree:
        assert (tree / "cli.py").read_text().startswith("# 0")
    assert not tree.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_the_commit_of_a_step_is_found_by_measuring(repository, tmp_path, device):
    path = commits.between(repository, "HEAD~7", "HEAD")
    said = []
    found = bisect(path, measurer(repository, tmp_path, device, say=said.append))
    assert found.suspects == [git(repository, "rev-parse", "HEAD~3")]
    assert found.ratio == pytest.approx(1.3)
    assert len(said) == len(found.readings) + len(found.skipped)
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    said.clear()  # what was measured is only read
    assert bisect(path, measurer(repository, tmp_path, device, say=said.append)).suspects == found.suspects
    assert len(said) == len(found.skipped)


def test_a_commit_that_fails_says_why(repository, tmp_path, device):
    broken = git(repository, "rev-parse", "HEAD~2")
    assert measurer(repository, tmp_path, device)(broken, 1) == "it does not compile"


def test_another_sweep_is_respected(repository, tmp_path, device):
    with device_lock(device), pytest.raises(DeviceBusyError, match="--wait"):
        measurer(repository, tmp_path, device)("0" * 40, 1)


def test_rows_of_two_cells_are_refused(repository, tmp_path, device):
    commit = git(repository, "rev-parse", "HEAD")
    place = tmp_path / commit[:12]
    files.prepare_folder(place)
    for layer in ("lru", "s4d"):
        made = row(layer=layer, options={}, environment={"commit": commit})
        files.write(place, made.model_copy(update={"cell_id": made.cell.id}))
    with pytest.raises(UserError, match="one cell"):
        measurer(repository, tmp_path, device)(commit, 1)


# The commands


@pytest.fixture
def history(monkeypatch, capsys):
    """The command, in this process: stdout and stderr as text, and its exit code held."""

    def command(*words, cwd, check=0):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["rotbench", "history", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        told = capsys.readouterr()
        assert ended.value.code == check, told
        return told

    return command


def written(folder, rows):
    files.prepare_folder(folder)
    for entry in rows:
        files.write(folder, entry)
    return folder


def test_show_and_fail(history, tmp_path):
    written(tmp_path / "runs", [measured(i, ms) for i, ms in enumerate(stepped((10, 8), (13, 8)))])
    out, _ = history("show", "runs", cwd=tmp_path)
    assert re.search(r"open +│ \+(2\d|3\d)\.\d %", out)
    history("show", "runs", "--fail", cwd=tmp_path, check=1)
    out, _ = history("show", "runs", "--json", cwd=tmp_path)
    assert json.loads(out)["series"][0]["steps"][0]["state"] == "open"
    _, err = history("show", "runs", "--cell", "ffff", cwd=tmp_path, check=3)
    assert "no series of a cell that begins with 'ffff'" in err
    for least in ("-2", "nan", "1"):
        _, err = history("show", "runs", "--least", least, cwd=tmp_path, check=2)
        assert f"--least must lie in [0, 1), got {least}" in err
    _, err = history("show", "nowhere", cwd=tmp_path, check=3)
    assert "no results at 'nowhere'" in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("bisect", "HEAD~7", "HEAD"), 2, "bisect takes one cell"),
        (("bisect", "HEAD~7", "HEAD", "--", "train"), 2, "speed or memory"),
        (("bisect", "HEAD~99", "HEAD", "--", "speed"), 2, "must name a commit"),
        (("bisect", "HEAD~1", "HEAD", "--least", "-2", "--", "speed"), 2, "--least must lie in [0, 1), got -2"),
        (("bisect", "HEAD~2", "HEAD", "--", "speed", "--device", "test-none"), 3, "it does not compile"),
        (("bisect", "HEAD~1", "HEAD", "--metric", "x", "--", "speed"), 2, "unknown metric 'x'"),
    ],
)
def test_bisect_says_what_is_wrong(history, repository, tmp_path, words, code, message):
    _, err = history(words[0], *words[1:3], "--out", str(tmp_path), *words[3:], cwd=repository, check=code)
    assert message in err
