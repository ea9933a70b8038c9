"""Training: the loop with a fake framework, and the twins step by step."""

import itertools
from importlib import import_module

import numpy as np
import pytest
from frameworks import INSTALLED

from benchmark import backends
from benchmark.spec import LAYERS, UserError
from benchmark.spec.model import ModelSpec
from benchmark.spec.optimiser import Optimiser
from benchmark.tasks import TASKS, Split, Splits, task
from benchmark.tasks.base import IGNORED, Affine
from benchmark.training.checkpoint import load_checkpoint
from benchmark.training.feed import feed, feed_ahead, read, rows_by_step
from benchmark.training.loop import DivergedError, Fit, evaluated
from benchmark.training.recipes import course
from benchmark.training.schedule import factor
from benchmark.training.scoring import is_better, score


def recipe(**overrides):
    return course("digits", "lru", overrides=overrides).recipe


def test_digits_split_is_fixed_stratified_and_disjoint():
    splits = task("digits").load()
    parts = splits[:3]
    assert [len(part.labels) for part in parts] == [1257, 180, 360]
    for part in parts:
        counts = np.bincount(part.labels, minlength=10) / len(part.labels)
        assert np.abs(counts - np.bincount(np.concatenate([p.labels for p in parts])) / 1797).max() < 0.012
        assert part.inputs.dtype == np.float32
        assert part.inputs.shape[1:] == (64, 1)
        assert part.inputs.min() >= -1 and part.inputs.max() <= 1
    again = task("digits").load()
    assert all(np.array_equal(a.inputs, b.inputs) for a, b in zip(parts, again[:3], strict=True))
    rows = [row.tobytes() for part in parts for row in part.inputs]
    assert len(set(rows)) == len(rows)
    assert task("digits").chance == np.bincount(splits.test.labels).max() / 360


def test_the_digits_file_is_the_attributed_one():
    import hashlib
    from importlib.resources import files

    data = files("benchmark.tasks").joinpath("data/digits.csv.gz").read_bytes()
    assert hashlib.sha256(data).hexdigest() in files("benchmark.tasks").joinpath("data/README.md").read_text()


@pytest.mark.parametrize("name", TASKS)
def test_every_task_says_what_it_is(name):
    made = task(name)
    assert made.__doc__ and "::" in made.__doc__
    assert made.inputs >= 1 and made.outputs >= 1 and made.seq_len >= 1
    assert made.kinds and 0 <= made.chance <= 1


def test_options_of_a_task_are_checked_and_words_fitted():
    assert task("digits", {"permuted": True}).permuted
    with pytest.raises(UserError, match="unknown digits option 'shuffle'; known: permuted"):
        task("digits", {"shuffle": 1})
    with pytest.raises(UserError, match="permuted must be true or false"):
        task("digits", {"permuted": 3})


def test_schedule_rises_and_falls():
    rates = [factor(step, 100, 0.1) for step in range(100)]
    assert rates[0] == pytest.approx(0.1) and max(rates) == 1.0
    assert rates.index(1.0) == 9
    assert all(a >= b for a, b in itertools.pairwise(rates[9:]))
    assert 0 < rates[-1] < 0.01
    assert factor(0, 10, 0.0) == 1.0


def toy_splits(n=30):
    rng = np.random.default_rng(0)
    part = Split(rng.standard_normal((n, 4, 1)).astype(np.float32), np.arange(n) % 3)
    return Splits(part, part, part)


class Fake:
    """Learns nothing but how often it was updated; its loss is a function of that number."""

    def __init__(self, loss=lambda step: 1.0):
        self.loss, self.rates, self.seen, self.count = loss, [], [], 0

    def update(self, inputs, labels, lengths, rates):
        self.rates.append(rates)
        self.seen.append(labels.tolist())
        self.count += 1
        return self.loss(self.count - 1)

    def evaluate(self, inputs, lengths):
        return np.eye(3)[np.zeros(len(inputs), int)]

    def weights(self):
        return {"params/count": np.array(self.count)}

    def load(self, weights):
        self.loaded = int(weights["params/count"])

    def state(self):
        return {"params/count": np.array(self.count), "params/w": np.array([np.nan if self.count > 60 else 0.0])}

    def restore(self, state):
        self.count = int(state["params/count"])


def run(trainer=None, splits=None, seed=0, options=None, **overrides):
    fit = Fit(trainer or Fake(), splits or toy_splits(), recipe(**({"batch": 10} | overrides)), seed, **(options or {}))
    return fit.run()


def test_the_order_of_batches_hangs_on_seed_and_epoch_alone():
    orders = [[rows.tolist() for rows in rows_by_step(30, 7, *key)] for key in ((1, 0, 8), (1, 0, 8), (2, 0, 8))]
    assert orders[0] == orders[1] != orders[2]
    assert len(orders[0]) == 8
    assert len(set(itertools.chain(*orders[0][:4]))) == 28  # 30 // 7 = 4 batches an epoch: what is left over is dropped
    assert orders[0][:4] != orders[0][4:]
    for first in range(8):
        assert [rows.tolist() for rows in rows_by_step(30, 7, 1, first, 8)] == orders[0][first:]


def test_rates_follow_the_groups():
    fake = Fake()
    run(fake, epochs=2, lr=1.0, recurrence_lr=0.5, warmup=0.0)
    assert len(fake.rates) == 6
    assert all(r["recurrence"] == r["regular"] / 2 for r in fake.rates)
    assert fake.rates[0]["regular"] == 1.0


@pytest.mark.parametrize(("bad", "step"), [(float("nan"), 0), (float("inf"), 61), (2e4, 61)])
def test_divergence_names_the_step_and_the_parameter(bad, step):
    parameter = "of the parameters, w is not finite" if step == 61 else "all parameters are finite"
    with pytest.raises(DivergedError, match=f"the loss is .* at step {step + 1}; {parameter}; try a smaller --lr"):
        run(Fake(lambda at: bad if at == step else 1.0), epochs=40)


def test_divergence_stops_training_early():
    fake = Fake(lambda at: float("nan"))
    with pytest.raises(DivergedError):
        run(fake, steps=1000, eval_steps=1000)
    assert fake.count <= 50


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(UserError, match="must not exceed the 30 training examples"):
        run(batch=31)


def test_scores_count_every_example_once():
    assert evaluated(Fake(), toy_splits().test, None, 7, "class") == pytest.approx(10 / 30)


def test_scores_by_target():
    logits = np.array([[[0, 1], [1, 0], [0, 1]]])
    assert score("steps", logits, np.array([[1, 1, IGNORED]])) == (1, 2)
    assert score("class", logits[0], np.array([1, 1, 1])).mean == pytest.approx(2 / 3)
    assert score("number", np.array([[0.5], [1.0]]), np.array([0.0, 1.0])).mean == 0.125
    assert is_better("number", 0.1, 0.2) and not is_better("number", 0.3, 0.2)
    assert is_better("class", 0.5, 0.5) and is_better("steps", 0.0, None)


def test_of_equal_epochs_the_last_counts():
    fake = Fake()
    history = run(fake, epochs=3)
    assert history.best_epoch == 3 and fake.loaded == 9
    assert history.test_score == pytest.approx(1 / 3)
    assert history.epoch_step == [3, 6, 9]


def test_steps_replace_epochs_and_validation_can_be_more_often():
    history = run(steps=7, eval_steps=2)
    assert history.epoch_step == [2, 4, 6, 7]
    assert len(history.step_loss) == 7


def test_the_clock_leaves_nothing_out():
    """Batches, validations and checkpoints are told apart from updates, and the sum is the whole."""
    ticks = itertools.count()
    history = run(options={"clock": lambda: float(next(ticks))}, epochs=2)
    assert history.end_s == history.update_s + sum(history.overhead_s.values()) > 0


@pytest.mark.parametrize("killed_at", [1, 4, 6, 7])
def test_a_killed_training_goes_on_as_if_nothing_had_been(tmp_path, killed_at):
    class KilledError(Exception):
        pass

    def loss(step):
        return 1 / (1 + step)

    def killing(step):
        if step == killed_at:
            raise KilledError
        return loss(step)

    whole = run(Fake(loss), epochs=3)
    path = tmp_path / "checkpoints" / "cell.safetensors"
    options = {"path": path, "save_s": 0.0}
    with pytest.raises(KilledError):
        run(Fake(killing), epochs=3, options=options)
    resumed = Fake(loss)
    history = run(resumed, epochs=3, options=options)
    assert history.step_loss == whole.step_loss
    assert history.epoch_step == whole.epoch_step and history.epoch_validation_score == whole.epoch_validation_score
    assert history.resumed_at == [killed_at]
    assert len(resumed.seen) == 9 - killed_at
    again = Fake(loss)
    assert run(again, epochs=3, options=options).step_loss == whole.step_loss and not again.seen


def test_time_and_energy_before_a_resume_count(tmp_path):
    path, ticks = tmp_path / "c.safetensors", itertools.count()
    options = {"path": path, "clock": lambda: float(next(ticks)), "energy_j": lambda: 5.0, "save_s": 0.0}
    first = run(epochs=2, options=options)
    saved = load_checkpoint(path)
    again = run(epochs=2, options=options)
    assert again.epoch_end_s == first.epoch_end_s and saved.elapsed_s >= first.end_s
    assert first.energy_j == 5.0 and again.energy_j == 10.0


def test_a_damaged_checkpoint_is_put_aside_and_said(tmp_path):
    path, notes = tmp_path / "c.safetensors", []
    options = {"path": path, "save_s": 0.0, "on_note": notes.append}
    run(epochs=1, options=options)
    path.write_bytes(path.read_bytes()[:100])
    fake = Fake()
    run(fake, epochs=1, options=options)
    assert fake.count == 3
    assert notes[0].startswith("started anew") and (tmp_path / "c.aside").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("batch", -1),
        ("lr", 0.0),
        ("dropout", 1.0),
        ("weight_decay", -0.1),
        ("norm", "group"),
        ("ema", 1.0),
    ],
)
def test_recipes_are_checked(name, value):
    with pytest.raises(UserError, match=name):
        recipe(**{name: value})


def test_epochs_given_win_over_the_steps_of_a_preset():
    assert course("lra-listops", "s5").recipe.steps == 2900
    assert course("lra-listops", "s5", overrides={"epochs": 2}).recipe.steps is None
    assert course("lra-listops", "s5", overrides={"epochs": 2, "steps": 7}).recipe.steps == 7


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_a_small_preset_that_fits_every_layer(name, layer):
    found = course(name, layer)
    spec = LAYERS[layer](**found.sizes, **found.options)
    made = task(name, found.task_options)
    ModelSpec(layer=spec, depth=found.recipe.depth, inputs=made.inputs, outputs=made.outputs)


def test_batches_are_as_a_model_reads_them():
    numbers = Split(np.array([[[0], [255]], [[51], [0]]], np.uint8), np.array([1, 0]))
    affine = Affine(np.full((2, 1), 127.5, np.float32), np.full((2, 1), 127.5, np.float32))
    batch = read(numbers, affine, np.array([1, 0]))
    assert batch.inputs.dtype == np.float32 and batch.labels.tolist() == [0, 1]
    assert np.allclose(batch.inputs[..., 0], [[-0.6, -1], [-1, 1]])
    pairs = Split(np.arange(12, dtype=np.uint8).reshape(2, 2, 3), np.array([1, 0]), np.array([[3, 2], [1, 3]]))
    batch = read(pairs, None, np.array([0, 1]))
    assert batch.inputs.tolist() == [[0, 1, 2], [6, 7, 8], [3, 4, 5], [9, 10, 11]]
    assert batch.lengths.tolist() == [3, 1, 2, 3] and batch.inputs.dtype == np.int32


def opened():
    split = toy_splits().train
    return split, None


def test_workers_read_the_same_batches():
    order = [list(rows_by_step(30, 7, 0, 0, 9)) for _ in range(2)]
    here = list(feed(*opened(), iter(order[0])))
    ahead = list(feed_ahead(opened, iter(order[1]), 2))
    assert len(here) == len(ahead) == 9
    assert all(np.array_equal(a.inputs, b.inputs) for a, b in zip(here, ahead, strict=True))
    first = feed_ahead(opened, rows_by_step(30, 7, 0, 0, 1000), 2)
    next(first)
    first.close()  # who stops early leaves no process behind


def losses(framework, layer, steps=20, model_options=None, seed=0, **recipe_options):
    splits = task("digits").load()
    spec = LAYERS[layer](d_model=16, d_state=16, **({"heads": 4} if layer == "rotrnn" else {}))
    model = ModelSpec(layer=spec, depth=2, inputs=1, outputs=10, **(model_options or {}))
    trainer = backends.train(framework).Trainer(model, *model.init(seed), Optimiser(**recipe_options), seed=seed)
    return train(trainer, splits, range(steps)), trainer


def train(trainer, splits, steps):
    order = rows_by_step(1257, 50, 0, steps.start, steps.stop)
    rates = {"recurrence": 1e-3, "regular": 4e-3}
    batches = feed(splits.train, None, order)
    return np.array([float(trainer.update(b.inputs, b.labels, None, rates)) for b in batches])


@pytest.mark.skipif(len(INSTALLED) < 2, reason="compares the two frameworks")
@pytest.mark.parametrize("layer", LAYERS)
def test_twins_train_alike(layer):
    """From one seed the losses of the first 20 steps agree to 1e-3, and so do the trained models' answers."""
    (torch_losses, torch_trainer), (jax_losses, jax_trainer) = (losses(f, layer) for f in ("torch", "jax"))
    assert np.abs(torch_losses - jax_losses).max() < 1e-3
    assert torch_losses[-1] < torch_losses[0] - 0.1
    test = task("digits").load().test
    answers = [t.evaluate(test.inputs[:50], None) for t in (torch_trainer, jax_trainer)]
    assert np.abs(answers[0] - answers[1]).max() < 1e-2


@pytest.mark.skipif(len(INSTALLED) < 2, reason="compares the two frameworks")
def test_twins_clip_and_decay_alike():
    options = {"clip_norm": 0.1, "weight_decay": 0.5}
    found = [losses(f, "lru", 5, **options)[0] for f in ("torch", "jax")]
    assert np.abs(found[0] - found[1]).max() < 1e-3
    assert np.abs(found[0] - losses("torch", "lru", 5)[0]).max() > 1e-3


@pytest.mark.skipif(len(INSTALLED) < 2, reason="compares the two frameworks")
def test_twins_average_and_group_alike():
    options = {"ema": 0.9, "groups": "noBCdecay", "weight_decay": 0.5}
    (torch_losses, torch_trainer), (jax_losses, jax_trainer) = (losses(f, "s5", 8, **options) for f in ("torch", "jax"))
    assert np.abs(torch_losses - jax_losses).max() < 1e-3
    ours, theirs = torch_trainer.weights(), jax_trainer.weights()
    assert ours.keys() == theirs.keys()
    assert max(np.abs(ours[name] - theirs[name]).max() for name in ours) < 1e-3


@pytest.mark.skipif(len(INSTALLED) < 2, reason="compares the two frameworks")
@pytest.mark.parametrize("there", ["torch", "jax"])
def test_weights_cross_over(there):
    """What one framework trained the other evaluates."""
    here = {"torch": "jax", "jax": "torch"}[there]
    _, trained = losses(there, "rotrnn", 10)
    _, other = losses(here, "rotrnn", 0, seed=1)
    x = task("digits").load().test.inputs[:50]
    assert np.abs(trained.evaluate(x, None) - other.evaluate(x, None)).max() > 0.1
    other.load(trained.weights())
    assert np.abs(trained.evaluate(x, None) - other.evaluate(x, None)).max() < 1e-4


@pytest.mark.parametrize("framework", INSTALLED)
@pytest.mark.parametrize("options", [{}, {"ema": 0.99, "clip_norm": 1.0}])
def test_a_restored_trainer_goes_on_bit_by_bit(framework, options):
    splits, model_options = task("digits").load(), {"dropout": 0.2}
    _, whole = losses(framework, "lru", 4, model_options, **options)
    saved = {name: np.array(value) for name, value in whole.state().items()}
    expected = train(whole, splits, range(4, 10))
    _, fresh = losses(framework, "lru", 0, model_options, seed=3, **options)
    fresh.restore(saved)
    assert np.array_equal(train(fresh, splits, range(4, 10)), expected)
    assert all(np.array_equal(a, b) for a, b in zip(fresh.state().values(), whole.state().values(), strict=True))


@pytest.mark.parametrize("framework", INSTALLED)
def test_the_average_is_what_is_evaluated(framework):
    _, trainer = losses(framework, "lru", 1, ema=0.75)
    model = trainer.model
    first, state = model.init(0)[0]["decoder/W"], trainer.state()
    assert np.allclose(
        trainer.weights()["params/decoder/W"], 0.75 * first + 0.25 * state["params/decoder/W"], atol=1e-7
    )


@pytest.mark.parametrize("framework", INSTALLED)
def test_targets_of_steps_and_numbers(framework):
    rng = np.random.default_rng(0)
    spec = LAYERS["lru"](d_model=8, d_state=8)
    module = backends.train(framework)
    asarray = import_module(f"layers_{framework}.array").asarray
    steps = ModelSpec(layer=spec, depth=1, inputs=5, outputs=3, encoder="tokens", target="steps")
    trainer = module.Trainer(steps, *steps.init(0), Optimiser())
    x, labels = rng.integers(0, 5, (4, 7)), rng.integers(0, 3, (4, 7))
    labels[:, :5] = IGNORED
    logits = trainer.evaluate(x, None)
    assert logits.shape == (4, 7, 3)
    logp = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = -np.mean([logp[i, t, labels[i, t]] for i in range(4) for t in (5, 6)])
    assert float(module.loss_of(steps, asarray(logits), asarray(labels))) == pytest.approx(expected, rel=1e-5)
    number = ModelSpec(layer=spec, depth=1, inputs=2, outputs=1, target="number")
    assert float(module.loss_of(number, asarray(np.float32([[1], [3]])), asarray(np.float32([0, 1])))) == 2.5
    trainer = module.Trainer(number, *number.init(0), Optimiser())
    y, values = rng.random((8, 6, 2), np.float32), rng.random(8, np.float32)
    rates = {"recurrence": 1e-2, "regular": 1e-2}
    found = [float(trainer.update(y, values, None, rates)) for _ in range(60)]
    assert found[-1] < found[0] / 4


@pytest.mark.parametrize("framework", INSTALLED)
def test_bfloat16_keeps_near_float32(framework):
    full, _ = losses(framework, "lru")
    narrow, trainer = losses(framework, "lru", model_options={"compute": "bfloat16"})
    assert 1e-6 < np.abs(full - narrow).max() < 0.1
    assert all(value.dtype == np.float32 for value in trainer.weights().values())


@pytest.mark.parametrize("framework", INSTALLED)
def test_memory_does_not_grow_over_epochs(framework):
    from benchmark.metrics.memory import rss_bytes

    splits = task("digits").load()
    _, trainer = losses(framework, "lru", 50)
    before = rss_bytes()
    train(trainer, splits, range(50, 200))
    for _ in range(5):
        evaluated(trainer, splits.validation, None, 50, "class")
    if before is not None:
        assert rss_bytes() - before < 24 << 20
