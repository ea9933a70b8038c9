"""Studies: norms on one scale, ablations as cells, a known period, and what is said of them."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from frameworks import INSTALLED, precision, relative
from test_store import row
from typer.testing import CliRunner

from benchmark import backends
from benchmark.commands.study import study_app
from benchmark.reports.studies import ANSWERS, findings, result_line, tables
from benchmark.reports.tables import column, to_terminal
from benchmark.spec import LAYERS, Unsupported, UserError, reference
from benchmark.spec.model import ModelSpec
from benchmark.store import files
from benchmark.store.trained import snapshot_path
from benchmark.studies import norms as n
from benchmark.studies import period as p
from benchmark.studies import plan
from benchmark.studies.names import Study, study_of
from benchmark.studies.placing import coefficients
from benchmark.sweeps.cell import Cell
from benchmark.training.recipes import course

FIRST = [name if name == INSTALLED[0] else pytest.param(name, marks=pytest.mark.full) for name in INSTALLED]
"""All frameworks in the full run, where compiling takes long; else the first."""
needs_framework = pytest.mark.skipif(not INSTALLED, reason="computes")


def cell(layer="lru", task="norms/white", framework=None, **changes):
    options = changes.pop("options", {})
    sizes = {"d_model": 4, "d_state": 4} | {k: changes.pop(k) for k in ("d_model", "d_state") if k in changes}
    spec = LAYERS[layer](**sizes, **options)
    fields = {"metric": "study", "layer": layer, "framework": framework or (INSTALLED or ["torch"])[0], "task": task}
    return Cell(**fields | sizes | {"options": spec.options, "batch": 3, "seq_len": 40, "threads": 1} | changes)


def run(given, weights=None, folder="."):
    from benchmark.studies.job import study

    payload = {"cell": given.cell_values(), "training": {"folder": str(folder), "weights": weights or {}}}
    return study(payload, lambda **_: None)["detail"]


NAMED = [Study("equivalence"), Study("norms", "white"), Study("norms", "digits", "abc"), Study("norms", "x", "abc", 0)]


@pytest.mark.parametrize("study", NAMED)
def test_names_read_back(study):
    assert study_of(str(study)) == study


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("digits", "unknown study 'digits'; known: norms"),
        (None, "got none"),
        ("norms/white@abc:x", "must be a whole number, got 'x'"),
    ],
)
def test_a_word_that_names_no_study(word, message):
    with pytest.raises(UserError, match=message):
        study_of(word)


# norms


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 2.0])
def test_the_exponent_of_a_power_is_its_power(exponent):
    times = n.time_grid(1000)
    late = [100.0 if t < 100 else 3 * t**exponent for t in times]  # what came before the last decade has no say
    assert n.growth_exponent(times, late) == pytest.approx(exponent)


def test_no_exponent_where_there_are_too_few_times_or_no_numbers():
    assert n.growth_exponent([1, 2], [1.0, 1.0]) is None
    assert n.growth_exponent([1, 2, 3], [1.0, np.inf, 1.0]) is None


def test_times_rise_and_end_with_the_length():
    for length in (1, 2, 63, 64, 1000):
        times = n.time_grid(length)
        assert times == sorted(set(times)) and times[0] == 1 and times[-1] == length
    with pytest.raises(UserError, match="the length must lie between 1 and"):
        n.time_grid(0)


@pytest.mark.parametrize("seq_len", [n.LEAST, 4, 5, 9, 10, 11, 30, 100])
def test_from_the_least_length_on_there_is_an_exponent(seq_len):
    times = n.time_grid(seq_len)
    assert n.growth_exponent(times, times) == pytest.approx(1)
    assert n.growth_exponent(n.time_grid(n.LEAST - 1), [1, 2]) is None


def test_an_exponent_over_seeds_has_an_interval_from_two_on():
    assert n.over_seeds([0.9, 1.0, 1.1]).interval() == pytest.approx((1.0, 0.752, 1.248), abs=1e-3)
    assert n.over_seeds([0.5]).interval()[1] == -np.inf


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("heads", [2, 4])
def test_a_normalised_rotrnn_tends_to_one_over_its_head_size(heads, seed):
    spec = LAYERS["rotrnn"](d_model=4, d_state=16, heads=heads)
    c = oracle_coefficients(spec, spec.init(seed))
    assert n.stationary_mean_square(*c) == pytest.approx(heads / 16, rel=1e-6)


def oracle_coefficients(spec, params):
    """Lam and B of a RotRNN without P, or of an LRU, written out."""
    params = {k: v.astype(np.float64) for k, v in params.items()}
    if spec.name == "lru":
        lam = np.exp(-np.exp(params["nu_log"]) + 1j * np.exp(params["theta_log"]))
        gain = np.exp(params["gamma_log"]) if spec.gamma == "learned" else np.ones(len(lam))
        return lam, gain[:, None] * (params["B_re"] + 1j * params["B_im"])
    gamma = np.exp(-np.exp(params["gamma_log"]))
    lam = gamma[:, None] * np.exp(1j * params["theta"])
    xi = np.sqrt((1 - gamma**2) / (params["B"] ** 2).sum((1, 2)))
    B = xi[:, None, None] * params["B"]
    return lam.reshape(-1), (B[:, ::2] + 1j * B[:, 1::2]).reshape(-1, spec.d_model)


def test_an_lru_tends_to_a_half():
    spec = LAYERS["lru"](d_model=64, d_state=2000)
    assert n.stationary_mean_square(*oracle_coefficients(spec, spec.init(0))) == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize(("r_min", "r_max"), [(0.0, 0.9), (0.5, 0.99), (0.9, 0.999)])
def test_the_ring_formula_against_many_draws(r_min, r_max):
    spec = LAYERS["lru"](d_model=1, d_state=200_000, r_min=r_min, r_max=r_max)
    modulus = np.exp(-np.exp(spec.init(0)["nu_log"].astype(np.float64)))
    assert n.ring_amplification(r_min, r_max) == pytest.approx((1 / (1 - modulus**2)).mean(), rel=0.02)


def test_without_gamma_a_ring_that_reaches_1_has_no_bound():
    assert n.ring_amplification(0.0, 1.0) == np.inf
    assert n.ring_amplification(0.7, 0.7 + 1e-7) == pytest.approx(1 / (1 - 0.49), rel=1e-5)


def test_limits_of_constant_inputs_by_hand():
    lam, B = np.array([0.5, 0.5j]), np.array([[1.0, 1.0], [1.0, 0.0]])
    # states tend to 2 / 0.5 and to 1 / (1 - 0.5 i), whose squares are 16 and 0.8, over four real coordinates
    assert n.constant_limit(lam, B) == pytest.approx(16.8 / 4)
    assert n.constant_limit(np.array([1.0]), np.ones((1, 1))) is None
    assert n.stationary_mean_square(np.array([1.0]), np.ones((1, 1))) is None


def test_means_leave_out_what_has_ended():
    values, lengths = np.array([[1.0, 2, 3], [5, 6, 7]]), np.array([3, 1])
    assert n.mean_over_running(values, lengths, [1, 2, 4]) == [3.0, 2.0, None]
    assert n.mean_before_end(values, lengths, [0, 1, 3]) == [4.0, 2.0, None]


@pytest.mark.parametrize("framework", INSTALLED)
def test_norms_of_the_exact_normaliser_are_the_same_at_every_time(framework):
    detail = run(cell("rotrnn", framework=framework, d_state=8, options={"heads": 2, "normalizer": "exact"}, batch=200))
    (block,) = detail["blocks"]
    assert block["exact"] == pytest.approx([0.25] * len(detail["times"]), rel=1e-5)
    assert block["mean_square"] == pytest.approx(block["exact"], rel=0.3)
    assert block["limit"] == pytest.approx(0.25, rel=1e-5)


@pytest.mark.parametrize("framework", FIRST)
@pytest.mark.parametrize("layer", ["rotrnn", "lru", "s4d", "s5"])
def test_gradients_by_distance_against_the_oracle(framework, layer):
    options = {"heads": 2} if layer == "rotrnn" else {}
    given = cell(layer, framework=framework, options=options, batch=1)
    detail, spec = run(given), given.spec
    rng = np.random.default_rng([0, 40])
    rng.standard_normal((1, 40, 4), np.float32)
    w = rng.standard_normal((1, 4), np.float32)[0]
    answers = reference.apply(spec, spec.init(0), np.eye(4)[:, None] * (np.arange(40) == 0)[None, :, None])
    expected = [((answers[:, lag] @ w) ** 2).mean() for lag in detail["lags"]]
    assert detail["blocks"][0]["gradient"] == pytest.approx(expected, rel=1e-3, abs=1e-12)


@pytest.mark.parametrize("framework", INSTALLED)
def test_norms_within_a_model_and_after_training(framework, tmp_path):
    from benchmark.training import checkpoint

    found = course("digits", "lru", "small", {"d_model": 8, "d_state": 4, "depth": 2})
    words = {"framework": framework, "d_model": 8, "batch": 5, "options": found.options, "recipe": found.recipe}
    given = cell(task="norms/digits", seq_len=None, **words)
    drawn = run(given)
    assert len(drawn["blocks"]) == 2 and drawn["times"][-1] == 64 and drawn["sequences"] == 5
    training = given.model_copy(update={"metric": "train", "task": "digits"})
    params, stats = ModelSpec(layer=given.spec, depth=2, inputs=1, outputs=10).init(0)
    arrays = {f"params/{k}": v for k, v in params.items()} | {f"stats/{k}": v for k, v in stats.items()}
    path = tmp_path / f"{training.id}.safetensors"
    checkpoint.save(path, arrays, {"cell": training.cell_values(), "test_score": 0.5, "measure": "accuracy"})
    place = {"seq_len": 40, "batch": 5, "device": "cpu", "threads": 1}
    cells, weights = plan.trained_norm_cells([path], ["white"], [framework], place)
    assert [c.task for c in cells] == [f"norms/white@{training.id}", f"norms/digits@{training.id}"]
    white, own = (run(c, weights) for c in cells)
    assert own["blocks"] == drawn["blocks"]  # these weights are those that were drawn
    assert white["trained_on"] == own["trained_on"] == training.task and "trained_on" not in drawn
    assert len(white["blocks"]) == 2 and white["times"][-1] == 40
    with pytest.raises(UserError, match=f"weights of training {training.id}: name its file with --weights"):
        run(cells[0])


@needs_framework
def test_snapshots_of_a_training_are_cells_by_step(tmp_path):
    from benchmark.training import checkpoint

    training = cell(task="norms/digits", seq_len=None).model_copy(update={"metric": "train", "task": "digits"})
    for step in (120, 0, 60):
        described = {"cell": training.cell_values(), "test_score": None, "measure": "accuracy", "step": step}
        described["steps"] = 120
        arrays = {f"params/block0/layer/{k}": v * (1 + step) for k, v in training.spec.init(0).items()}
        checkpoint.save(snapshot_path(tmp_path, training.id, step), arrays, described)
    place = {"seq_len": 40, "batch": 2, "device": "cpu", "threads": 1}
    cells, weights = plan.trained_norm_cells([tmp_path], ["constant"], [INSTALLED[0]], place)
    looked = [c for c in cells if c.task.startswith("norms/constant")]
    assert [study_of(c.task).step for c in looked] == [0, 60, 120]
    at_start, later, _ = (run(c, weights)["blocks"] for c in looked)
    assert at_start == run(cell(task="norms/constant", batch=2))["blocks"], "the weights that were drawn"
    assert later != at_start
    assert run(looked[0], weights)["trained_steps"] == 120
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "x.safetensors").write_bytes(b"no weights")
    twice = plan.trained_norm_cells([tmp_path, tmp_path / "snapshots"], ["constant"], [INSTALLED[0]], place)
    assert twice == (cells, weights), "given twice, looked at once"
    other = tmp_path / "other.safetensors"
    checkpoint.save(other, {"params/block0/layer/D": np.zeros(4)}, described)
    with pytest.raises(UserError, match=r"hold other weights of one training: name one of them"):
        plan.trained_norm_cells([tmp_path], ["constant"], [INSTALLED[0]], place)
    other.unlink()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no files of weights"):
        plan.trained_norm_cells([tmp_path / "empty"], ["white"], [INSTALLED[0]], place)


@pytest.mark.skipif(len(INSTALLED) < 2, reason="compares twins")
@pytest.mark.parametrize(("target", "attention"), [("class", 1), ("steps", 0), ("number", 0)])
def test_probes_of_both_twins_agree(target, attention):
    spec = LAYERS["lru"](d_model=8, d_state=4)
    model = ModelSpec(layer=spec, depth=2, inputs=2, outputs=3, target=target, attention=attention)
    params, stats = ({k: v.astype(np.float64) for k, v in arrays.items()} for arrays in model.init(0))
    rng = np.random.default_rng(0)
    x, lengths = rng.standard_normal((3, 7, 2)), np.array([7, 2, 5])
    labels = {"class": np.array([0, 2, 1]), "number": rng.standard_normal(3), "steps": rng.integers(0, 3, (3, 7))}
    found = []
    for framework in INSTALLED:
        with precision(framework, "float64"):
            given = SimpleNamespace(framework=framework, device="cpu")
            from benchmark.studies.placing import module, placed_all, to_numpy

            placed = placed_all(given, params), placed_all(given, stats)
            result = module(given, "probe").probe(model, *placed, x, labels[target], lengths)
            found.append([to_numpy(given, value) for value in result])
    for ours, theirs in zip(*found, strict=True):
        assert ours.shape == (2, 3, 7, 8) and relative(ours, theirs) < 1e-10


# RotRNN without P


def test_without_p_all_else_is_drawn_alike():
    learned, plain = (LAYERS["rotrnn"](d_model=4, d_state=8, heads=2, mixing=m) for m in ("learned", "identity"))
    ours, theirs = plain.init(3), learned.init(3)
    assert "M" not in ours and all(np.array_equal(ours[name], theirs[name]) for name in ours)
    u = np.random.default_rng(0).standard_normal((1, 5, 4))
    assert np.array_equal(reference.apply(plain, ours, u), reference.apply(learned, theirs | {"M": 0 * theirs["M"]}, u))


def test_without_p_its_flops_are_saved_and_old_ids_stay():
    learned, plain = (LAYERS["rotrnn"](d_model=4, d_state=8, heads=2, mixing=m) for m in ("learned", "identity"))
    saved = {"M - M^T", "matrix exponential", "P^T B, C P"}
    assert set(learned.coefficient_flops) - set(plain.coefficient_flops) == saved
    assert learned.param_count - plain.param_count == 2 * 4 * 4
    options = {"heads": 2}
    assert "mixing" not in cell("rotrnn", d_state=8, options=options).canonical_json
    assert "mixing" in cell("rotrnn", d_state=8, options=options | {"mixing": "identity"}).canonical_json


# cells


def test_layers_alone_are_driven_at_one_state_size():
    axes = [{"framework": "torch", "seed": seed} for seed in (0, 1)]
    words = {"seq_len": 64, "batch": 2, "device": "cpu", "threads": 1}
    cells = plan.norm_cells(list(LAYERS), ["white"], d_model=16, state=256, settings=[], axes=axes, **words)
    assert {c.spec.real_state_size for c in cells} == {256} and len(cells) == 2 * (3 + 2 + 1 + 1)
    with pytest.raises(UserError, match="s4d with d_model=16 cannot have a state of 8 real numbers"):
        plan.norm_cells(["s4d"], ["white"], d_model=16, state=8, settings=[], axes=axes, **words)


# a known period


def test_the_next_value_of_a_sinusoid():
    data = p.Sinusoid(period=7.5, ahead=1, noise=0.0, examples=5, held_out=2)
    train = data.load().train
    last, before = train.inputs[:, -1, 0], train.inputs[:, -2, 0]
    assert np.allclose(train.labels, 2 * np.cos(data.angle) * last - before, atol=1e-5)
    assert np.std(p.Sinusoid(noise=0.5).load().train.inputs) == pytest.approx(np.sqrt(0.5 + 0.25), rel=0.02)
    for wrong, message in (({"period": 2.0}, "more than 2 steps"), ({"noise": -1.0}, "must not be negative")):
        with pytest.raises(UserError, match=message):
            p.Sinusoid(**wrong)


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("layer", LAYERS)
def test_a_held_angle_is_that_of_every_mode(layer, framework):
    spec = LAYERS[layer](d_model=4, d_state=8, **({"heads": 2} if layer == "rotrnn" else {}))
    params = spec.init(0)
    params |= p.held_at(spec, params, 0.7)
    c = coefficients(SimpleNamespace(framework=framework, device="cpu"), spec, params)
    assert p.folded(c.lam) == pytest.approx(0.7, abs=1e-5)


def test_an_angle_that_cannot_be_held():
    spec = LAYERS["s5"](d_model=4, d_state=8, discretization="bilinear")
    with pytest.raises(Unsupported, match="zoh only, got bilinear"):
        p.held_at(spec, spec.init(0), 0.7)


def test_angles_fold_onto_their_conjugates():
    lam = 0.9 * np.exp(1j * np.array([0.5, -0.5, 2 * np.pi - 0.5, np.pi]))
    assert p.folded(lam) == pytest.approx([0.5, 0.5, 0.5, np.pi])


def test_energies_of_modes_by_hand():
    states = np.array([[[1.0, 2j], [3.0, 0]]])  # means of squares: 5 and 2
    assert p.mode_energies(states, np.array([[1.0, 2], [1, 0]])).tolist() == [2 * 5, 4 * 2]
    assert p.mode_energies(states, np.array([[2.0], [1j]])).tolist() == [4 * 5, 1 * 2]


@pytest.mark.parametrize("framework", FIRST)
def test_a_period_is_trained_for_and_angles_stay_where_they_are_held(framework):
    axes = [{"framework": framework, "seed": 0}]
    words = ["task.examples=60", "task.held_out=40", "task.length=32", "task.noise=0.0"]
    learned, fixed = (
        run(c)
        for c in plan.period_cells(
            ["rotrnn"],
            d_model=4,
            state=8,
            overrides={"steps": 6, "eval_steps": 3, "batch": 20},
            settings=words,
            axes=axes,
            device="cpu",
            threads=1,
        )
    )
    assert fixed["angle"] == pytest.approx(2 * np.pi / 12)
    assert fixed["before"]["error"] < 1e-6 and fixed["after"]["nearest_error"] < 1e-6
    assert learned["before"] != learned["after"] and learned["modes"] == 4
    assert fixed["test_score"] > 0 and fixed["chance"] == 0.5


# what is said


def norm_row(layer, seed, values, **changes):
    times = n.time_grid(1000)
    block = {"mean_square": [values(t) for t in times], "gradient": [2.0 ** -(t - 1) for t in times], "limit": 1.0}
    detail = {"times": times, "lags": [t - 1 for t in times], "blocks": [block], "sequences": 4, "study": "norms"}
    fields = {"metric": "study", "layer": layer, "task": "norms/constant", "seed": seed, "detail": detail}
    return row(cell_id=f"{layer}{seed}{changes.get('task', '')}", **fields | changes)


def test_norms_have_their_exponents_and_no_verdict():
    rows = [norm_row("lru", seed, lambda t: 3.0 + 0 * t) for seed in range(3)]
    rows += [norm_row("s5", seed, lambda t, s=seed: (1 + 0.1 * s) * t) for seed in range(3)]
    (table,) = tables(rows, "norms")
    told = ("layer", "seeds", "at t = 1", "at end", "limit", "exponent")
    lines = list(zip(*(column(table, name) for name in told), strict=True))
    assert lines == [("lru", "3", "3.00", "3.00", "1.00", "0.00"), ("s5", "3", "1.10", "1,100", "1.00", "1.00")]
    text = to_terminal(table, 200)
    assert not re.search("bounded|growing|can't tell", text), "what may be said is decided among all comparisons"
    for width in (80, 200):
        assert max(map(len, to_terminal(table, width).splitlines())) <= width


def test_what_was_not_measured_is_said_with_its_command():
    found = findings([])
    assert {finding.study for finding in found} == set(ANSWERS)
    for finding in found:
        assert finding.text.startswith("Not measured: ") and not finding.cells
        assert re.search(rf"run `rotbench study {finding.study}", finding.text)


def test_findings_name_their_cells():
    tasks = ("norms/white", "norms/constant")
    rows = [norm_row("lru", seed, lambda t: 3.0 + 0 * t, task=task) for seed in range(3) for task in tasks]
    found = findings(rows, "norms")
    assert found[0].text.startswith("Does the norm of the LRU's state explode? no")
    assert set(found[0].cells) == {row.cell_id for row in rows} and len(rows) == 6


def training(seed, score, **changes):
    options = LAYERS["rotrnn"](d_model=8, d_state=8, heads=2, **changes.pop("options", {})).options
    recipe = course("digits", "rotrnn", "small", changes.pop("recipe", {})).recipe
    history = {"measure": "accuracy", "test_score": score, "chance": 0.1}
    fields = {"metric": "train", "layer": "rotrnn", "task": "digits", "seq_len": None, "direction": None}
    fields |= {"options": options, "recipe": recipe, "seed": seed, "detail": {"history": history}}
    return row(cell_id=f"{seed}{options}{recipe.attention}", **fields | {"test_accuracy": score} | changes)


def test_arms_are_told_over_seeds():
    rows = [training(seed, 0.9 + 0.01 * seed) for seed in range(3)]
    rows += [training(seed, 0.7, options={"normalizer": "none"}) for seed in range(2)]
    rows.append(training(2, None, options={"normalizer": "none"}, status="diverged", reason="loss", detail={}))
    (table,) = tables(rows, "normaliser")
    second, first = table.rows  # none, stationary
    at = table.columns.index("test score")
    assert first[at - 1 :] == ["3", "91.0 %", "1.00 points", "0 of 3"]
    assert second[at - 1 :] == ["2", "70.0 %", "0 points", "1 of 3"]
    assert "normalizer=stationary" in first[4] and "normalizer=none" in second[4]


def test_a_hybrid_is_an_arm_of_its_own():
    rows = [training(0, 0.9), training(0, 0.95, recipe={"attention": 1})]
    (table,) = tables(rows, "hybrid")
    assert [line[table.columns.index("attention")] for line in table.rows] == ["0", "1"]


def test_spread_over_seeds_and_ranges_by_hand():
    low, high = {"gamma_max": 0.99}, {"gamma_max": 0.999}
    rows = [training(s, v, options=low) for s, v in ((0, 0.80), (1, 0.82))]
    rows += [training(s, v, options=high) for s, v in ((0, 0.90), (1, 0.94))]
    _, table = tables(rows, "initialisation")
    (line,) = table.rows
    # variances over seeds 2e-4 and 8e-4, so a pooled sd of sqrt(5e-4); means 0.81 and 0.92
    assert line[7:] == ["2", "2.24 points", "7.78 points", "81.0 %", "0 of 4"]


def test_a_line_of_progress_says_what_came_out():
    assert result_line(norm_row("lru", 0, lambda t: 3.0 + 0 * t)) == "mean square 3.00 at t = 1,000"
    errors = {"errors": {"a": 1e-15, "b": 3e-16}, "conjugate_pairs": 0.0, "books": []}
    assert result_line(row(metric="study", task="equivalence", detail=errors)) == "largest relative error 1.0e-15"


# commands


def invoke(tmp_path, *words):
    given = [*words, "--out", str(tmp_path / "runs"), "--framework", INSTALLED[0], "--threads", "1", "--inline"]
    result = CliRunner().invoke(study_app, given, catch_exceptions=True)
    code = getattr(result.exception, "code", 0) if result.exception else 0
    if result.exception and not hasattr(result.exception, "code"):
        raise result.exception
    return code, result.output


@pytest.mark.skipif("torch" not in INSTALLED, reason="float64 in this very process")
def test_equivalence_from_the_command_line(tmp_path):
    code, out = invoke(tmp_path, "equivalence", "--seeds", "0", "--seq-len", "9", "--d-state", "4")
    assert code == 0 and "lru as rotrnn, normalised" in out and "Parameters and what they can do" in out
    (found,) = files.read([tmp_path / "runs"]).rows
    assert max(found.detail["errors"].values()) < 1e-12 and found.task == "equivalence"


@needs_framework
def test_norms_from_the_command_line_are_resumed(tmp_path):
    words = ["norms", "--layer", "lru", "--seeds", "0:2", "--seq-len", "64", "--inputs", "white"]
    words += ["--d-model", "4", "--state", "8", "--batch", "2"]
    code, out = invoke(tmp_path, *words)
    assert code == 0 and "Norms of states and gradients" in out and "gamma=none" in out
    first = {found.created_at for found in files.read([tmp_path / "runs"]).rows}
    code, out = invoke(tmp_path, *words)
    assert code == 0 and {found.created_at for found in files.read([tmp_path / "runs"]).rows} == first


@needs_framework
def test_a_hybrid_trains_from_the_command_line(tmp_path):
    words = ["hybrid", "--layer", "lru", "--seeds", "0", "--steps", "2", "--d-model", "8", "--d-state", "4"]
    code, out = invoke(tmp_path, *words)
    assert code == 0 and "Trainings by arm" in out
    rows = files.read([tmp_path / "runs"]).rows
    assert sorted(found.recipe.attention for found in rows) == [0, 1]


@needs_framework
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["normaliser", "--layer", "s5"], "only rotrnn and lru have a normaliser"),
        (["norms", "--seq-len", "0"], "the length must lie between 3 and"),
        (["norms", "--seq-len", "2"], "the length must lie between 3 and 4,194,304 steps, got 2"),
        (["norms", "--set", "task.length=9"], "no option 'task.length'"),
        (["norms", "--inputs", "none"], "inputs none leaves nothing to measure"),
        (["norms", "--inputs", "pink"], "unknown inputs 'pink'; known: white, constant"),
        (["norms", "--state", "7", "--layer", "lru"], "cannot have a state of 7 real numbers"),
        (["period", "--d-state", "4"], "give --state"),
        (["period", "--set", "task.period=1"], "more than 2 steps"),
        (["equivalence", "--set", "gamma=maybe"], "unknown lru gamma 'maybe'"),
        (["hybrid", "--attention", "9", "--steps", "1"], "less than or equal to 4"),
        (["norms", "--weights", "nowhere.safetensors"], "nowhere.safetensors"),
    ],
)
def test_bad_input_is_one_line(tmp_path, words, message):
    with pytest.raises(UserError, match=re.escape(message)) as error:
        invoke(tmp_path, *words)
    assert "\n" not in str(error.value)


def test_every_study_has_a_table_and_a_question():
    from benchmark.reports.studies import TABLES

    names = {command.name or command.callback.__name__ for command in study_app.registered_commands}
    assert names == set(TABLES) == set(ANSWERS) and backends.FRAMEWORKS
