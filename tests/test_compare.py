"""Two sources of results compared: which way is worse, what may be compared, where results come from."""

import json
import math
import subprocess

import pytest
from regress_rows import COMMIT, VERSIONS, measured, run, stored, trained

from benchmark.metrics.inference import Exact
from benchmark.metrics.statistics import Interval
from benchmark.regress.conditions import check_allowed
from benchmark.regress.pairing import Pair, pair
from benchmark.regress.quantities import QUANTITIES, quantities, worsening
from benchmark.regress.sources import NothingToCompareError, read_source
from benchmark.regress.verdicts import Change, changes, judge, lacking, mean_change
from benchmark.reports.compare import comparison_tables, effect_text, interval_text, level_text
from benchmark.reports.pairing import pairing_lines
from benchmark.spec.errors import UserError
from benchmark.store import files

NOISE = (1.0, 1.01, 0.99)


def scaled(factor, ms=NOISE):
    return [factor * value for value in ms]


def change(name, before, after):
    return Change(QUANTITIES[name], Pair(before, after), worsening(QUANTITIES[name], before, after))


def with_values(side, **values):
    return [measured(None, side, metric="memory", values=values)]


# Which way is worse


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("ms", [measured(NOISE)], [measured(scaled(2))]),
        ("tokens/s", [measured(NOISE)], [measured(scaled(2))]),
        ("xla_temp_bytes", with_values("before", xla_temp_bytes=100), with_values("after", xla_temp_bytes=200)),
        ("rss_delta_bytes", with_values("before", rss_delta_bytes=100), with_values("after", rss_delta_bytes=200)),
        ("energy_j", with_values("before", energy_j=1.0), with_values("after", energy_j=2.0)),
        ("mse", trained([1.0, 2.0], measure="mse"), trained([2.0, 4.0], measure="mse")),
    ],
)
def test_twice_the_cost_is_worse_by_the_log_of_two(name, before, after):
    assert change(name, before, after).worsening.value == pytest.approx(math.log(2))
    assert change(name, after, before).worsening.value == pytest.approx(-math.log(2))


def test_a_lower_accuracy_is_worse_by_their_difference_over_equal_seeds():
    found = change("accuracy", trained([0.9, 0.8, 0.5]), trained([0.8, 0.7]))
    assert found.worsening.value == pytest.approx(0.1)
    assert found.effect.median == pytest.approx(-0.1)
    assert found.levels == pytest.approx((2.2 / 3, 0.75))


def test_the_effect_is_after_over_before_for_rates_too():
    found = change("tokens/s", [measured(NOISE)], [measured(scaled(2))])
    times = change("ms", [measured(NOISE)], [measured(scaled(2))])
    assert found.effect.median == pytest.approx(0.5)
    assert found.effect.low == pytest.approx(1 / times.effect.high)
    assert found.effect.low < found.effect.median < found.effect.high


def test_the_interval_is_welchs():
    found = change("ms", [measured([1.0, math.e])], [measured([math.e, math.e**2])]).effect
    half = 4.302652729911275 * math.sqrt(0.5)  # Student's quantile of 2 degrees, logs 0, 1 against 1, 2
    assert found == pytest.approx((math.e, math.exp(1 - half), math.exp(1 + half)))


def test_counts_have_no_chance_in_them():
    before, after = with_values("before", xla_temp_bytes=100), with_values("after", xla_temp_bytes=101)
    found = change("xla_temp_bytes", before, after)
    assert isinstance(found.worsening, Exact)
    assert judge([found], minimum_effect=0.005)[0].verdict == "larger"
    assert judge([found], minimum_effect=0.02)[0].verdict == "same"


def test_nothing_is_compared_of_which_a_side_knows_nothing():
    assert worsening(QUANTITIES["energy_j"], [measured()], [measured()]) is None
    assert worsening(QUANTITIES["rss_delta_bytes"], *(with_values("after", rss_delta_bytes=v) for v in (0, 5))) is None
    assert worsening(QUANTITIES["accuracy"], trained([0.5]), trained([0.5], measure="mse")) is None


def test_a_count_may_rise_from_0_and_fall_to_it():
    none, some = (with_values("after", xla_temp_bytes=v) for v in (0, 5))
    rise, fall, still = (change("xla_temp_bytes", *sides) for sides in ((none, some), (some, none), (none, none)))
    assert [entry.worsening.value for entry in (rise, fall, still)] == [math.inf, -math.inf, 0]
    assert [judge([entry])[0].verdict for entry in (rise, fall, still)] == ["larger", "smaller", "same"]
    assert rise.levels == pytest.approx((0, 5))
    assert mean_change([rise, still]).value == 0
    (table,) = comparison_tables(judge([rise]))
    assert "from 0" in table.rows[0] and "exact" in table.rows[0]
    assert effect_text(fall.quantity, fall.effect.median) == "x0"


def test_a_metric_that_one_side_lacks_is_known():
    joules = measured(NOISE, values={"energy_j": 1.0})
    chosen = quantities(["ms", "energy_j", "accuracy"])
    for before, after, side in ((joules, measured(NOISE), "after"), (measured(NOISE), joules, "before")):
        (found,) = lacking([Pair([before], [after])], chosen)
        assert (found.quantity.name, found.side) == ("energy_j", side)
    other = [row.model_copy(update={"seed": 9}) for row in trained([0.5])]
    assert lacking([Pair(trained([0.5]), other)], chosen)[0].side == "common"
    assert lacking([Pair([joules], [joules])], chosen) == []


def test_metrics_by_name():
    assert [entry.name for entry in quantities(["tokens/s", "ms", "ms"])] == ["tokens/s", "ms"]
    with pytest.raises(UserError, match="unknown metric 'speed'; known: ms, tokens/s"):
        quantities(["speed"])


# Verdicts


def verdicts(*sides):
    """By length of the cell."""
    before = [measured(ms, "before", seq_len=i + 1) for i, (ms, _) in enumerate(sides)]
    after = [measured(ms, seq_len=i + 1) for i, (_, ms) in enumerate(sides)]
    found = judge(changes(pair(before, after).pairs, quantities()))
    return found, {entry.change.row.seq_len: entry.verdict for entry in found}


def test_faster_slower_the_same_and_cant_tell_sorted_by_effect():
    quiet, wild = (1.0, 1.0005, 0.9995), (0.5, 1.0, 3.0)
    found, by_length = verdicts((quiet, scaled(1.2, quiet)), (quiet, scaled(0.8, quiet)), (quiet, quiet), (quiet, wild))
    assert by_length == {1: "slower", 2: "faster", 3: "same", 4: "can't tell"}
    assert [entry.change.row.seq_len for entry in found] == [1, 4, 3, 2]


def test_a_wide_spread_never_hides_a_large_change():
    found, by_length = verdicts((NOISE, (0.8, 1.5, 4.0)))
    assert by_length == {1: "can't tell"}
    (table,) = comparison_tables(found)
    assert "x1.687" in table.rows[0]


def test_many_comparisons_raise_each_p():
    one, _ = verdicts((NOISE, scaled(1.1)))
    many, _ = verdicts((NOISE, scaled(1.1)), *[(NOISE, scaled(1.005))] * 9)
    assert many[0].p == pytest.approx(one[0].p)
    assert many[0].p_adjusted > one[0].p_adjusted == pytest.approx(one[0].p)


def test_one_process_can_tell_nothing():
    found, by_length = verdicts(([1.0], [2.0]))
    assert by_length == {1: "can't tell"}
    assert "too few values" in comparison_tables(found)[0].rows[0]


def test_the_mean_over_cells_is_geometric():
    pairs = [change("ms", [measured(NOISE)], [measured(scaled(f))]) for f in (2.0, 0.5)]
    mean = mean_change(pairs)
    assert mean.value == pytest.approx(0)
    assert mean.standard_error == pytest.approx(pairs[0].worsening.standard_error / math.sqrt(2))
    assert mean.freedom == pytest.approx(2 * pairs[0].worsening.freedom)
    unknown = change("ms", [measured([1.0])], [measured([2.0])])
    assert mean_change([*pairs, unknown]).interval().high == math.inf
    counts = [change("xla_temp_bytes", *(with_values("after", xla_temp_bytes=v) for v in (1, 4)))]
    assert mean_change(counts).interval() == pytest.approx((math.log(4),) * 3)


@pytest.mark.parametrize(
    ("name", "level", "effect", "interval"),
    [
        ("ms", "1.50 ms", "x1.500", "1.400 to 1.600"),
        ("xla_temp_bytes", "1.5 B", "x1.500", "1.400 to 1.600"),
        ("accuracy", "150.0 %", "+150.00 points", "+140.00 to +160.00"),
        ("mse", "1.50", "x1.500", "1.400 to 1.600"),
    ],
)
def test_numbers_have_units(name, level, effect, interval):
    quantity = QUANTITIES[name]
    assert level_text(quantity, 1.5) == level
    assert effect_text(quantity, 1.5) == effect
    assert interval_text(quantity, Interval(1.5, 1.4, 1.6)) == interval


# What may be compared


def refused(before, after, allowed=()):
    found = pair([before], [after], allowed)
    assert not found.pairs
    (entry,) = found.refused
    return entry


@pytest.mark.parametrize(
    ("before", "after", "why", "key"),
    [
        ({"threads": 2}, {"threads": 1}, "threads 2 against 1", "threads"),
        ({}, {"dtype": "float64"}, "dtype default against float64", "dtype"),
        ({"environment": {"cpu": "6502"}}, {}, "cpu 6502 against Z80", "cpu"),
        ({}, {"environment": {"plan": {"budget_s": 1}}}, 'plan default against {"budget_s": 1}', "plan"),
        ({}, {"environment": {"versions": VERSIONS | {"torch": "2.6"}}}, "versions.torch 2.5 against 2.6", "versions"),
        ({}, {"values": {"detail": {"device_name": "Z81"}}}, "device_name Z80 against Z81", "device_name"),
    ],
)
def test_other_flags_machines_and_versions_are_named_and_refused_unless_allowed(before, after, why, key):
    ours, theirs = measured(side="before", **before), measured(**after)
    assert refused(ours, theirs).why == [why]
    (found,) = pair([ours], [theirs], [key]).pairs
    assert found.allowed == (why,)
    assert f"--allow-different {refused(ours, theirs).keys[0]}" in pairing_lines(pair([ours], [theirs]))[0]


def test_allowing_one_difference_allows_no_other():
    ours, theirs = measured(side="before", threads=2, environment={"cpu": "6502"}), measured(threads=1)
    assert refused(ours, theirs, ["threads"]).why == ["cpu 6502 against Z80"]


@pytest.mark.parametrize("name", ["rotbench", "jax"])
def test_versions_that_do_not_matter_do_not_stand_in_the_way(name):
    theirs = measured(environment={"versions": VERSIONS | {name: "9"}})  # measured in torch
    assert pair([measured(side="before")], [theirs]).pairs


def test_other_sizes_are_other_cells():
    found = pair([measured(side="before", seq_len=8)], [measured(seq_len=16)])
    assert not found.pairs and not found.refused
    assert [row.seq_len for row in found.only_before] == [8]
    assert [row.seq_len for row in found.only_after] == [16]


def test_flags_go_to_the_nearest_cell_and_each_cell_is_used_once():
    before = [measured(side="before", threads=t, dtype=d) for t, d in ((2, "float32"), (2, "float64"))]
    after = [measured(threads=1, dtype=d) for d in ("float64", "float32")]
    found = pair(before, after, ["threads"]).pairs
    assert [(p.before[0].dtype, p.after[0].dtype) for p in found] == [("float64",) * 2, ("float32",) * 2]


def test_the_last_row_of_a_cell_counts_and_replicates_are_taken_together():
    before = [measured([9.0], "before"), measured([1.0], "before"), measured([2.0], "before", replicate=1)]
    (found,) = pair(before, [measured()]).pairs
    assert [row.median_ms for row in found.before] == [1.0, 2.0]


def test_a_cell_that_lost_its_result_is_broken_and_one_that_gained_it_is_new():
    gone = measured(None, values={"status": "oom", "reason": "device: no", "detail": {}})
    found = pair([measured(side="before")], [gone])
    assert [entry.after for entry in found.broken] == [gone]
    assert pairing_lines(found) == ["no result any more: speed torch lru forward length 8 oom: device: no"]
    assert pair([gone], [measured()]).only_after == [measured()]


def test_an_unknown_key_names_the_known_ones():
    assert check_allowed(["versions.torch", "threads", "options.gamma"])
    with pytest.raises(UserError, match="unknown key of --allow-different 'machine'; known: layer, framework"):
        check_allowed(["machine"])


# Where results come from


def git(folder, *words):
    names = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    done = subprocess.run(["git", *names, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Results stored under results/runs in two commits, the second slower; the folder has a third state."""
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "-b", "main")
    for factor in (1, 2):
        stored(tmp_path / "results/runs", measured(scaled(factor), "after" if factor == 2 else "before"))
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-qm", f"x{factor}")
    return tmp_path


def medians(word, folder):
    return [row.median_ms for row in read_source(word, folder).rows]


def test_folders_files_and_json_give_the_same_rows(tmp_path):
    folder = stored(tmp_path / "runs", measured())
    (path,) = files.paths([folder])
    exported = tmp_path / "rows.json"
    exported.write_text(json.dumps([measured().model_dump(mode="json", exclude_none=True)]))
    for word in (folder, path, exported):
        assert read_source(str(word), folder).rows == [measured()]


def test_a_ref_is_the_results_stored_there(repository):
    folder = repository.relative_to(repository) / "results/runs"
    assert medians("main~1", folder) == [1.0]
    assert medians("main", folder) == [1.0, 2.0]
    assert medians(git(repository, "rev-parse", "HEAD~1")[:8], folder) == [1.0]
    assert medians("main~1:results", folder) == [1.0]
    found = read_source("main:results/runs", folder)
    assert found.name == "main:results/runs"


def test_runs_are_the_rows_measured_at_a_commit(repository):
    folder = repository / "results/runs"
    assert medians(f"{folder}@{COMMIT['after'][:7]}", folder) == [2.0]
    with pytest.raises(NothingToCompareError, match="no row is there"):
        read_source(f"{folder}@cccc", folder)


def test_a_ref_without_stored_results_stands_for_its_runs(repository):
    git(repository, "rm", "-qr", "--cached", "results")
    git(repository, "commit", "-qm", "none")
    head = git(repository, "rev-parse", "HEAD")
    stored(repository / "results/runs", measured(scaled(3), environment={"commit": head}))
    assert medians("main", repository.relative_to(repository) / "results/runs") == [3.0]


def test_a_damaged_file_of_a_ref_is_named(repository):
    (repository / "results/runs/cells/bad.parquet").write_text("version https://git-lfs.github.com/spec/v1")
    git(repository, "add", "-f", ".")
    git(repository, "commit", "-qm", "bad")
    found = read_source("main:results/runs", repository)
    assert len(found.rows) == 2
    assert [name for name, _ in found.bad] == ["main:results/runs/bad.parquet"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("{", "not JSON"),
        ("[]", "no row is there"),
        ("{}", "it must be a list of rows"),
        ('[{"layer": "lru"}]', "row 1 cannot be read: metric field required"),
        ("[" * 200_000, "it is nested too deeply"),
    ],
)
def test_json_without_rows_has_its_own_words(text, why, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(NothingToCompareError, match=why) as caught:
        read_source(str(tmp_path / "x.json"), tmp_path)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("columns", "environment", "fault"),
    [
        ({"process_medians_ms": [1.0, math.nan]}, {}, "process_medians_ms must be finite and above 0, got nan"),
        ({"median_ms": 0.0}, {}, "median_ms must be finite and above 0, got 0"),
        ({"energy_j": math.inf}, {}, "energy_j must be finite and not below 0, got inf"),
        ({"xla_temp_bytes": -1}, {}, "xla_temp_bytes must be finite and not below 0, got -1"),
        ({"detail": {"history": {"test_score": "x"}}}, {}, "detail.history.test_score must be a finite number"),
        ({}, {"versions": ["x"]}, r"environment.versions must be a table, got \['x'\]"),
        ({}, {"plan": 5}, "environment.plan must be a table, got 5"),
        ({}, {"commit": 7}, "environment.commit must be text, got 7"),
        ({}, {"cpus": 10**400}, "environment.cpus must be a number above 0"),
    ],
)
def test_a_row_that_nobody_can_have_measured_is_no_row(columns, environment, fault, tmp_path):
    row = json.loads(measured(environment=environment).model_dump_json(exclude_none=True)) | columns
    (tmp_path / "x.json").write_text(json.dumps([row]))
    with pytest.raises(NothingToCompareError, match=fault):
        read_source(str(tmp_path / "x.json"), tmp_path)


def test_an_unsound_row_of_a_folder_is_named_and_the_others_are_read(tmp_path):
    wrong = measured([math.inf, 1.0], seq_len=16)
    found = read_source(str(stored(tmp_path / "runs", measured(), wrong)), tmp_path)
    assert found.rows == [measured()]
    ((place, why),) = found.bad
    assert place.endswith(f"cell {wrong.cell_id[:8]}") and why == "median_ms must be finite and above 0, got inf"


def test_what_git_refuses_is_one_line(repository):
    with pytest.raises(UserError, match=r"^git ls-tree: fatal: .*outside repository") as caught:
        read_source("HEAD:/abs", repository)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("word", ["nowhere", "", "-q", "nowhere@abc", ":x", "no:thing"])
def test_what_is_nowhere_is_told_with_the_known_forms(word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NothingToCompareError, match=r"it must be a folder, a \.parquet or \.json file, REF"):
        read_source(word, tmp_path)


# The command


def sides(tmp_path, before=None, after=None):
    return stored(tmp_path / "a", before or measured(side="before")), stored(tmp_path / "b", after or measured())


def test_the_command_prints_tables_and_what_is_not_compared(tmp_path, capsys):
    folders = sides(tmp_path, after=measured(scaled(2)))
    stored(tmp_path / "b", measured(seq_len=99))
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    assert run("compare", *folders, "--markdown", summary) == 0
    out, err = capsys.readouterr()
    assert "before: " in out and "slower" in out and "geometric mean of ratios x2.000" in out
    assert "without a baseline: speed torch lru forward length 99" in err
    assert summary.read_text().startswith("before\n")
    assert "### ms, before and after" in summary.read_text()


def test_json_is_strict_where_intervals_are_infinite(tmp_path, capsys):
    assert run("compare", *sides(tmp_path, measured([1.0], "before"), measured([2.0])), "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (found["ratio"], found["ci_high"], found["verdict"]) == (2.0, None, "can't tell")
    assert found["cell_id"] == measured().cell_id


def test_nothing_comparable_is_exit_3(tmp_path, capsys):
    folders = sides(tmp_path, after=measured(environment={"cpu": "6502"}))
    assert run("compare", *folders) == 3
    err = capsys.readouterr().err
    assert "not comparable: cpu Z80 against 6502" in err and "--allow-different cpu" in err
    assert run("compare", *folders, "--allow-different", "cpu") == 0
    assert "Allowed: cpu Z80 against 6502." in capsys.readouterr().out
    assert run("compare", *folders, "--allow-different", "cpu", "--metric", "energy_j") == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nowhere"], 3, "no results at 'nowhere'"),
        (["--metric", "beauty"], 2, "unknown metric 'beauty'"),
        (["--allow-different", "x"], 2, "unknown key of --allow-different 'x'"),
        (["--alpha", "0"], 2, "--alpha must lie between 0 and 1, got 0"),
        (["--minimum-effect", "-1"], 2, "--minimum-effect must lie in [0, 1), got -1"),
        (["--markdown", "no/where.md"], 2, "cannot write no/where.md"),
    ],
)
def test_bad_input_is_one_line(words, code, message, tmp_path, capsys, monkeypatch):
    folders = sides(tmp_path)
    monkeypatch.chdir(tmp_path)
    given = [folders[0], *words] if words == ["nowhere"] else [*folders, *words]
    assert run("compare", *given) == code
    err = capsys.readouterr().err
    assert message in err
    assert len(err.strip().splitlines()) == 1
