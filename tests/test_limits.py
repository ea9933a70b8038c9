"""Marks, the choice of auto, subjects beside a layer, the accuracy of scans."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from frameworks import INSTALLED, relative
from test_store import row

from benchmark import backends
from benchmark.reports.accuracy import accuracy_table
from benchmark.reports.growth import check_lengths, growth_table, growths
from benchmark.reports.limits import choices, choices_table, limits_table, peers_table, reached
from benchmark.spec import LAYERS, Unsupported, UserError
from benchmark.spec.algorithms import SCANS, VANDERMONDE
from benchmark.store import files
from benchmark.sweeps import limits
from benchmark.sweeps.choice import choice_cells, task_cells
from benchmark.sweeps.config import Sweep
from benchmark.sweeps.gate import inputs
from benchmark.sweeps.jobs import precision_of
from benchmark.verification import accuracy, accuracy_file


def measured(cell, times, **more):
    return row(**(cell.cell_values() | {"cell_id": cell.id, "process_medians_ms": times, "median_ms": times[0]} | more))


@pytest.mark.skipif("torch" not in INSTALLED, reason="marks of torch")
def test_marks_are_ratios_with_a_bound():
    marks = limits.marks(["torch"], 1)
    cells = {cell.id: cell for mark in marks for cell in (mark.top, mark.bottom)}
    rows = [measured(cell, [2.0, 2.0], rss_delta_bytes=100) for cell in cells.values()]
    found = reached(marks, rows)
    assert {r.ratio.median for r in found} == {1.0}
    assert all((r.verdict == "reached") == r.mark.at_most for r in found if r.mark.bound >= 1)
    assert reached(marks, rows[:1])[0].verdict == "not measured"
    table = limits_table(found)
    assert len(table.rows) == len(marks)
    assert any("s5-pytorch" in line[0] for line in table.rows)
    assert all(name in table.notes[-1] for name in ("choice", "growth", "accuracy"))


def choice_of(auto_ms, best_ms, ran="fused"):
    (cell,) = [c for c in choice_cells(Sweep(**SMALL)) if c.algorithm == "auto"]
    other = cell.model_copy(update={"algorithm": "chunked"})
    return choices([measured(cell, auto_ms, algorithm_run=ran), measured(other, best_ms, algorithm_run="chunked")])


SMALL = {"layer": "lru", "framework": INSTALLED[0] if INSTALLED else "torch", "seq_len": "16"}
needs_framework = pytest.mark.skipif(not INSTALLED, reason="cells of an installed framework")


@needs_framework
def test_what_auto_chose_is_judged():
    (good,), (bad,), (unclear,) = (choice_of(ms, [2.0, 2.01]) for ms in ([2.0, 2.01], [3.0, 3.01], [2.0, 4.0]))
    assert [good.verdict, bad.verdict, unclear.verdict] == ["reached", "missed", "can't tell"]
    (same,) = choice_of([3.0, 3.01], [2.0, 2.01], ran="chunked")
    assert same.verdict == "reached"  # it is the same algorithm, twice
    assert choices_table([good, bad]).rows[0][-1] == "missed"


@needs_framework
def test_choice_cells_hold_every_algorithm():
    sweep = Sweep(**(SMALL | {"layer": "lru,s4d", "direction": ["forward", "step"]}))
    cells = choice_cells(sweep)
    assert {c.algorithm for c in cells if c.layer == "lru"} == {*SCANS, "auto"}
    assert {c.algorithm for c in cells if c.layer == "s4d"} == {*SCANS, VANDERMONDE, "auto"}
    assert {c.direction for c in cells} == {"forward"}


def test_choice_at_the_sizes_of_tasks():
    sweep = Sweep(layer=["lru", "s4d"], framework=INSTALLED[:1], direction=["forward+backward"])
    cells = task_cells(sweep, ["digits,lra-listops", "lra-retrieval"])
    found = {(c.layer, c.seq_len, c.batch, c.d_model, c.d_state, c.options["bidirectional"]) for c in cells}
    assert found == {
        ("lru", 64, 50, 64, 64, False),
        ("s4d", 64, 50, 64, 64, False),
        ("lru", 128, 50, 96, 96, True),
        ("s4d", 128, 50, 96, 32, True),
        ("lru", 256, 64, 64, 64, False),  # pairs of documents
        ("s4d", 256, 64, 64, 32, False),
    }
    assert {c.options["r_max"] for c in cells if c.layer == "lru" and c.seq_len == 128} == {1.0}
    assert len({c.algorithm for c in cells}) == 7
    with pytest.raises(UserError, match="unknown task of preset small 'digit'; known: digits"):
        task_cells(sweep, ["digit"])


@pytest.mark.skipif("torch" not in INSTALLED, reason="public implementations are in torch")
def test_public_implementations_stand_against_ours():
    cells = limits.peer_cells(64, 2, 1)
    assert {cell.subject for cell in cells} == {"layer", "s5-pytorch", "lru-pytorch", "accelerated-scan"}
    table = peers_table([measured(cell, [2.0, 2.0] if cell.subject == "layer" else [8.0, 8.0]) for cell in cells])
    assert len(table.rows) == 6
    assert {line[7] for line in table.rows} == {"4.00"}


def peer(name, *sizes):
    """A call of a public implementation; skipped where it is not installed."""
    if "torch" not in INSTALLED:
        pytest.skip("public implementations are in torch")
    from layers_torch import peers

    try:
        return peers.function_of(name, *sizes)
    except Unsupported as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ["s5-pytorch", "lru-pytorch", "accelerated-scan"])
def test_public_implementations_are_causal(name):
    """What comes later changes nothing, what comes earlier does: a recurrence is computed."""
    import torch

    call, rng = peer(name, 3, 4, "forward"), np.random.default_rng(0)
    u = rng.standard_normal((2, 9, 3), dtype=np.float32)
    changed = u.copy()
    changed[:, 4] += 1
    with torch.no_grad():
        before, after = (call({}, {"u": torch.tensor(x)}).numpy() for x in (u, changed))
    moved = np.abs(after - before).max((0, 2))
    assert (moved[:4] < 1e-6).all()
    assert (moved[4:] > 1e-7).all()


def test_a_public_scan_of_one_step_is_refused():
    import torch

    with pytest.raises(Unsupported, match="two steps at least, got one"):
        peer("accelerated-scan", 3, 4, "forward")({}, {"u": torch.ones(2, 1, 3)})


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("direction", ["forward", "forward+backward"])
@pytest.mark.parametrize("subject", ["projections", "scan"])
def test_subjects_beside_a_layer(framework, subject, direction):
    spec = LAYERS["lru"](d_model=3, d_state=2)
    arrays = inputs(spec, direction, 1, 9, 0, subject=subject)
    device, layers = backends.device(framework), backends.layers(framework)
    options = {"direction": direction, "algorithm": "sequential", "device": "cpu", "dtype": "float32"}
    found = device.prepare(spec, {}, arrays, subject=subject, **options).run()
    y = layers.to_numpy(found if direction == "forward" else found[0])
    if subject == "projections":
        assert relative(y, arrays["u"] @ arrays["W_in"] @ arrays["W_out"]) < 1e-5
    else:
        lam = accuracy.as_complex(arrays["lam"].astype(float))
        assert relative(accuracy.as_complex(y), accuracy.reference(lam, {"w": arrays["z"], **arrays})[0]) < 1e-5
    if direction != "forward":
        assert len(found[1]) == {"projections": 3, "scan": 2}[subject]


def test_what_runs_in_which_precision_is_said():
    assert "recurrence in float32" in precision_of(row(dtype="bfloat16").cell)
    assert precision_of(row().cell) == "matrix products of float32 at least in fp32, all else in float32"


@pytest.mark.parametrize("framework", INSTALLED)
def test_the_accuracy_of_scans(framework):
    found = accuracy.accuracies([framework], "cpu", [300])
    assert {a.algorithm for a in found} >= {"auto", "sequential", "associative", "chunked", "fft"}
    assert all(a.passed for a in found)
    assert all(a.worst < 1e-4 for a in found)
    table = accuracy_table(found)
    (ran,) = {a.ran for a in found if a.algorithm == "auto"}
    assert table.notes[-1] == f"auto = {ran} keeps 2e-05: yes."
    assert table.rows[0][1] == f"auto = {ran}"
    assert [a.algorithm for a in found if a.algorithm != a.ran] == ["auto"] * 3


ERRORS = accuracy.Accuracy("jax", "auto", 300, 0.99, 1e-6, 1e-6, 1e-6, 1e-5, "sequential")


def test_auto_is_held_to_what_it_stands_for():
    pairs = ERRORS._replace(ran="associative", lam_gradient=1e-5)
    assert [a.passed for a in (ERRORS, ERRORS._replace(values=1e-4), pairs)] == [True, False, True]
    assert not any(ERRORS._replace(values=value).passed for value in (float("nan"), float("inf")))
    assert not pairs._replace(values=2e-3).passed
    assert pairs._replace(algorithm="associative", values=1.0).bound is None
    assert accuracy_table([ERRORS, ERRORS._replace(values=1e-4), pairs]).notes[1:] == [
        "auto = sequential keeps 2e-05: no.",
        "auto = associative keeps 2e-05: yes.",
    ]


def test_errors_are_kept_and_read_again(tmp_path):
    import pandas as pd

    found = [ERRORS, ERRORS._replace(seq_len=400, values=float("nan"))]
    path = accuracy_file.write(tmp_path, found, "cpu")
    frame = pd.read_parquet(path)
    assert list(frame["seq_len"]) == [300, 400]
    assert frame["lam_gradient"][0] == 1e-6
    assert set(frame["device"]) == {"cpu"}
    kept = json.loads(pq.read_schema(path).metadata[b"rotbench_scan_accuracy"])
    assert kept["environment"]["versions"]["numpy"]
    assert accuracy_file.write(tmp_path, found, "cpu") == path
    assert accuracy_file.write(tmp_path, found, "cuda") != path
    assert files.read([tmp_path]) == ([], [])  # they are no rows
    first, second = accuracy_file.as_json(found)
    assert (first["values"], first["bound"], first["passed"]) == (1e-6, 2e-5, True)
    assert (second["values"], second["passed"]) == (None, False)


def test_the_reference_of_scans_is_a_plain_loop():
    lam = np.array([0.5 + 0.5j])
    z = np.array([[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])
    x, d_lam, G = accuracy.reference(lam, {"z": z, "w": z})
    assert np.allclose(x[0, :, 0], [1, 0.5 + 1.5j, (0.5 + 0.5j) * (0.5 + 1.5j)])
    assert np.allclose(G[0, :, 0], [1 + (0.5 - 0.5j) * 1j, 1j, 0])
    assert np.allclose(d_lam, 1j * 1 + 0)


def grown(layer, exponent, values=(1.0, 1.0, 1.0)):
    """Rows of a layer whose time is a power of its length, with noise."""
    return [
        row(layer=layer, seq_len=L, process_medians_ms=[v * (L / 100) ** exponent for v in values], median_ms=1.0)
        for L in (100, 200, 800, 1600)
    ]


@needs_framework
@pytest.mark.parametrize(("error", "code"), [(1e-6, 0), (1e-3, 1)])
def test_the_command_of_errors_prints_json_and_keeps_a_file(tmp_path, monkeypatch, error, code):
    from typer.testing import CliRunner

    from benchmark.sweeps import plan
    from cli import app

    monkeypatch.setattr(plan, "check_device", lambda *_: None)
    monkeypatch.setattr(accuracy, "accuracies", lambda *_: [ERRORS._replace(values=error)])
    words = ["accuracy", "--framework", INSTALLED[0], "--json", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, words)
    assert result.exception.code == code
    assert json.loads(result.stdout)[0]["values"] == error
    assert len(list(tmp_path.glob("scan-accuracy/*.parquet"))) == 1


def test_growth_needs_three_lengths():
    with pytest.raises(UserError, match="growth needs 3 lengths at least, got 16, 64; name more with --seq-len"):
        check_lengths([16, 64])
    with pytest.raises(UserError, match="3 lengths"):
        check_lengths([16, 16, 64])
    check_lengths([16, 32, 64])


def test_verdicts_decide_the_exit_code(capsys):
    from benchmark.commands.limits import judged

    assert [judged(words) for words in (["reached", "can't tell"], ["missed", "reached"], [])] == [0, 1, 3]
    assert "nothing could be judged" in capsys.readouterr().err


def test_growth_is_fitted_and_judged():
    rows = [*grown("lru", 1.04), *grown("s5", 1.2, (0.99, 1.0, 1.01)), *grown("rotrnn", 1.08, (0.5, 1.0, 2.0))]
    rows += grown("s4d", 1.0)[:2]
    rows += [
        row(layer="lru", metric="memory", seq_len=L, rss_delta_bytes=10**6 * L, median_ms=None, process_medians_ms=None)
        for L in (100, 200, 800)
    ]
    found = {(g.longest.layer, g.quantity): g for g in growths(rows)}
    assert {key: g.verdict for key, g in found.items()} == {
        ("lru", "time"): "reached",
        ("lru", "memory"): "reached",
        ("s5", "time"): "missed",
        ("rotrnn", "time"): "can't tell",
    }
    assert found["lru", "time"].exponent.value == pytest.approx(1.04)
    table = growth_table(growths(rows))
    assert [line[8] for line in table.rows] == ["1.200", "1.080", "1.040", "1.000"]
    assert table.rows[3][6:8] == ["100 MB", "800 MB"]


@pytest.mark.skipif("jax" not in INSTALLED, reason="the published forms are in jax")
@pytest.mark.parametrize("layer", ["lru", "rotrnn"])
def test_the_published_form_computes_what_ours_does(layer):
    spec = LAYERS[layer](d_model=4, d_state=8, **({"heads": 2} if layer == "rotrnn" else {}))
    arrays = inputs(spec, "forward+backward", 2, 37, 0)
    calls = {"direction": "forward+backward", "algorithm": "sequential", "device": "cpu", "dtype": "float32"}
    device, params = backends.device("jax"), spec.init(0)
    (y, g, du), (y2, g2, du2) = (
        device.prepare(spec, params, arrays, subject=name, **calls).run() for name in ("published", "layer")
    )
    pairs = [(y, y2), (du, du2), *((g[name], g2[name]) for name in g)]
    assert all(relative(np.asarray(a), np.asarray(b)) < 1e-5 or np.abs(b).max() < 1e-6 for a, b in pairs)


@pytest.mark.skipif("jax" not in INSTALLED, reason="the published forms are in jax")
def test_a_form_that_was_not_published_is_refused():
    from layers_jax import peers

    with pytest.raises(Unsupported, match="a shared recurrence of one direction, not of s4d"):
        peers.function_of(LAYERS["s4d"](d_model=2, d_state=2), "forward")
