"""Training: the loop with a fake framework, and the twins step by step."""

import itertools

import numpy as np
import pytest
from frameworks import INSTALLED

from benchmark import backends
from benchmark.spec import LAYERS, UserError
from benchmark.spec.model import ModelSpec
from benchmark.spec.optimiser import Optimiser
from benchmark.tasks import TASKS, Split, Splits, task
from benchmark.training.loop import accuracy, batches, fit
from benchmark.training.recipes import recipe
from benchmark.training.schedule import factor


def test_digits_split_is_fixed_stratified_and_disjoint():
    splits = task("digits").load()
    assert [len(part.labels) for part in splits] == [1257, 180, 360]
    for part in splits:
        counts = np.bincount(part.labels, minlength=10) / len(part.labels)
        assert np.abs(counts - np.bincount(np.concatenate([p.labels for p in splits])) / 1797).max() < 0.012
        assert part.inputs.dtype == np.float32
        assert part.inputs.shape[1:] == (64, 1)
        assert part.inputs.min() >= -1 and part.inputs.max() <= 1
    again = task("digits").load()
    assert all(np.array_equal(a.inputs, b.inputs) for a, b in zip(splits, again, strict=True))
    rows = [row.tobytes() for part in splits for row in part.inputs]
    assert len(set(rows)) == len(rows)
    assert task("digits").chance == np.bincount(splits.test.labels).max() / 360


def test_the_digits_file_is_the_attributed_one():
    import hashlib
    from importlib.resources import files

    data = files("benchmark.tasks").joinpath("data/digits.csv.gz").read_bytes()
    assert hashlib.sha256(data).hexdigest() in files("benchmark.tasks").joinpath("data/README.md").read_text()


@pytest.mark.parametrize("name", TASKS)
def test_every_task_says_what_it_is(name):
    found = TASKS[name]
    assert found.__doc__ and "::" in found.__doc__
    assert found.load().train.inputs.shape[1] == found.seq_len


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
    """Learns nothing; answers as told, one accuracy an evaluation round."""

    def __init__(self, loss=1.0, answers=None):
        self.loss, self.answers, self.rates, self.seen = loss, answers, [], []

    def update(self, inputs, labels, lengths, rates):
        self.rates.append(rates)
        self.seen.append(labels.tolist())
        return self.loss

    def evaluate(self, inputs, lengths):
        return np.eye(3)[np.zeros(len(inputs), int)]


def test_the_order_of_batches_hangs_on_seed_and_epoch_alone():
    split = toy_splits().train
    first, again, other = ([b.inputs[0, 0, 0] for b in batches(split, 7, *key)] for key in ((1, 0), (1, 0), (1, 1)))
    assert first == again != other
    assert len(first) == 4  # 30 // 7: what is left over is dropped


def test_rates_follow_the_groups():
    fake = Fake()
    fit(fake, toy_splits(), recipe("digits", epochs=2, batch=10, lr=1.0, recurrence_lr=0.5, warmup=0.0), seed=0)
    assert len(fake.rates) == 6
    assert all(r["recurrence"] == r["regular"] / 2 for r in fake.rates)
    assert fake.rates[0]["regular"] == 1.0


def test_divergence_names_the_step():
    with pytest.raises(UserError, match="not finite at step 0"):
        fit(Fake(loss=float("nan")), toy_splits(), recipe("digits", epochs=1, batch=10), seed=0)


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(UserError, match="must not exceed the 30 training examples"):
        fit(Fake(), toy_splits(), recipe("digits", batch=31), seed=0)


def test_accuracy_counts_every_example_once():
    part = toy_splits().test
    assert accuracy(Fake(), part, 7) == pytest.approx(10 / 30)


def test_of_equal_epochs_the_last_counts():
    history = fit(Fake(), toy_splits(), recipe("digits", epochs=3, batch=10), seed=0)
    assert history.best_epoch == 3
    assert history.test_accuracy == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("name", "value"), [("epochs", 0), ("batch", -1), ("lr", 0.0), ("dropout", 1.0), ("weight_decay", -0.1)]
)
def test_recipes_are_checked(name, value):
    with pytest.raises(UserError, match=name):
        recipe("digits", **{name: value})


def losses(framework, layer, steps=20, **recipe_options):
    splits = task("digits").load()
    spec = LAYERS[layer](d_model=16, d_state=16, **({"heads": 4} if layer == "rotrnn" else {}))
    model = ModelSpec(layer=spec, depth=2, inputs=1, outputs=10)
    trainer = backends.train(framework).Trainer(model, *model.init(0), Optimiser(**recipe_options))
    found = []
    for batch in list(batches(splits.train, 50, 0, 0))[:steps]:
        found.append(float(trainer.update(batch.inputs, batch.labels, None, {"recurrence": 1e-3, "regular": 4e-3})))
    return np.array(found), trainer


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
