"""Diagnostic tasks: every label worked out again, the laws of what is drawn, and refusals."""

import numpy as np
import pytest

from benchmark.spec import UserError
from benchmark.tasks.arithmetic import Adding, Parity
from benchmark.tasks.base import IGNORED
from benchmark.tasks.copying import Copying, SelectiveCopying
from benchmark.tasks.drawn import distinct
from benchmark.tasks.recall import InductionHeads, Mqar

SMALL = {"examples": 400, "held_out": 100}
TASKS = (
    Copying(memory=4, gap=7, alphabet=10, **SMALL),
    SelectiveCopying(memory=4, gap=7, alphabet=10, **SMALL),
    Adding(length=21, **SMALL),
    Parity(bits=40, **SMALL),
    InductionHeads(length=24, **SMALL),
    Mqar(length=40, vocabulary=32, pairs=5, **SMALL),
    Mqar(length=40, vocabulary=32, pairs=5, fill="blank", **SMALL),
)
every_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def parts(task):
    """Train, validation and test."""
    return task.load("generated")[:3]


def answer(task, row):
    """The labels of one row of inputs, by the words of the task's docstring and a plain loop."""
    match task:
        case Adding():
            return sum(value for value, mark in row if mark == 1)
        case Parity():
            return [int(token) for token in row[:-1]].count(2) % 2
        case InductionHeads():
            return row[list(row).index(15) + 1] - 1
        case Mqar():
            return asked_again(row.tolist(), task.pairs, task.vocabulary)
    said = [token - 1 for token in row.tolist() if token not in (0, 9)]
    return [said.pop(0) if token == 9 else IGNORED for token in row]


def asked_again(row, pairs, vocabulary):
    """With random filling a key may stand there unasked too; ``test_each_key_is_asked_once`` tells these apart."""
    value = {row[2 * i]: row[2 * i + 1] - vocabulary // 2 for i in range(pairs)}
    return [IGNORED if step < 2 * pairs else value.get(token, IGNORED) for step, token in enumerate(row)]


@every_task
def test_labels_follow_from_the_inputs(task):
    for part in parts(task):
        for row, label in zip(part.inputs, part.labels, strict=True):
            expected = answer(task, row)
            if isinstance(task, Mqar) and task.fill == "random":
                expected = np.where(label == IGNORED, IGNORED, expected)
            assert np.all(label == np.float32(expected) if isinstance(task, Adding) else label == expected)


@every_task
def test_splits_have_the_promised_form(task):
    for part, n in zip(parts(task), (400, 100, 100), strict=True):
        assert part.inputs.shape[:2] == (n, task.seq_len)
        assert part.lengths is None
        match task.target:
            case "number":
                assert part.labels.shape == (n,) and part.labels.dtype == np.float32
            case "class":
                assert part.labels.shape == (n,) and part.labels.dtype == np.int64
            case "steps":
                assert part.labels.shape == (n, task.seq_len) and part.labels.dtype == np.int64
        if task.encoder == "tokens":
            assert part.inputs.dtype == np.uint8
            assert part.inputs.max() < task.inputs
            asked = part.labels[part.labels != IGNORED]
            assert set(np.unique(asked)) == set(range(task.outputs))
        else:
            assert part.inputs.shape[2] == task.inputs and part.inputs.dtype == np.float32


@every_task
def test_drawing_is_deterministic_and_splits_share_no_row(task):
    first, again = parts(task), parts(task)
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a.inputs, b.inputs) and np.array_equal(a.labels, b.labels)
    rows = [row.tobytes() for part in first for row in part.inputs]
    repeated = len(rows) - len(set(rows))
    # Plain copying of 4 tokens has 8^4 rows, so some of 600 come twice; elsewhere that is as good as impossible.
    assert repeated < 80 if task.name == "copying" else repeated == 0


@every_task
def test_the_best_constant_answer_scores_chance(task):
    labels = type(task)(**task.options | {"examples": 8000, "held_out": 1}).load().train.labels
    if task.target == "number":
        assert np.mean((labels - 1) ** 2) == pytest.approx(task.chance, rel=0.05)
        assert abs(labels.mean() - 1) < 0.02
        return
    shares = np.bincount(labels[labels != IGNORED], minlength=task.outputs) / (labels != IGNORED).sum()
    assert np.abs(shares - task.chance).max() < 5 * np.sqrt(task.chance / (labels != IGNORED).sum())


def test_defaults_are_those_of_the_documentation():
    assert Copying().seq_len == SelectiveCopying().seq_len == 2 * 10 + 100
    assert (Adding().seq_len, Parity().seq_len, InductionHeads().seq_len, Mqar().seq_len) == (400, 33, 64, 64)
    assert (Mqar().pairs, Mqar().inputs, InductionHeads().inputs) == (4, 64, 16)
    assert [len(part.labels) for part in parts(Parity())] == [10_000, 1_000, 1_000]


def test_progress_reaches_its_end():
    told = []
    Parity(**SMALL).load(tell=lambda done, total: told.append((done, total)))
    assert told[-1] == (3, 3)


def test_copying_by_hand():
    row = Copying(memory=2, gap=3, alphabet=5).draw(np.random.default_rng(1), 1)
    a, b = row.inputs[0, :2].tolist()
    assert {a, b} <= {1, 2, 3}
    assert row.inputs[0].tolist() == [a, b, 0, 0, 0, 4, 4]
    assert row.labels[0].tolist() == [IGNORED] * 5 + [a - 1, b - 1]


def test_selective_copying_uses_every_place_alike():
    task = SelectiveCopying(memory=3, gap=6)
    inputs = task.draw(np.random.default_rng(0), 9000).inputs
    used = (inputs[:, :9] != 0).mean(0)
    assert np.abs(used - 3 / 9).max() < 0.03
    assert (inputs[:, 9:] == 9).all()


def test_marks_stand_one_in_each_half():
    marks = Adding(length=7).draw(np.random.default_rng(0), 5000).inputs[:, :, 1]
    assert (marks[:, :3].sum(1) == 1).all() and (marks[:, 3:].sum(1) == 1).all()
    assert np.allclose(marks[:, :3].mean(0), 1 / 3, atol=0.03) and np.allclose(marks[:, 3:].mean(0), 1 / 4, atol=0.03)


def test_the_special_token_stands_twice():
    inputs = InductionHeads(length=9, vocabulary=6).draw(np.random.default_rng(0), 5000).inputs
    assert ((inputs == 5).sum(1) == 2).all() and (inputs[:, -1] == 5).all()
    first = (inputs == 5).argmax(1)
    assert np.allclose(np.bincount(first, minlength=7) / 5000, 1 / 7, atol=0.02)
    assert inputs.min() == 1


@pytest.mark.parametrize("fill", ["random", "blank"])
def test_each_key_is_asked_once(fill):
    task = Mqar(length=32, vocabulary=20, pairs=4, fill=fill)
    part = task.draw(np.random.default_rng(0), 500)
    for row, label in zip(part.inputs, part.labels, strict=True):
        keys, values, steps = row[:8:2], row[1:8:2], np.flatnonzero(label != IGNORED)
        assert len(set(keys)) == 4 and set(keys) <= set(range(1, 10)) and set(values) <= set(range(10, 20))
        assert sorted(row[steps]) == sorted(keys)
        assert (steps >= 8).all() and (steps % 2 == 0).all()
    assert (part.inputs[:, 8:] == 0).any() == (fill == "blank")


def test_gaps_follow_their_law():
    """The first gap of a row has p(g) ~ g^(a - 1); the second, given the first, the same law without it."""
    task, n = Mqar(length=32, pairs=4, power=0.5), 40_000
    gaps = task.gaps(np.random.default_rng(0), n)
    law = np.arange(1, 13) ** (0.5 - 1)
    law /= law.sum()
    shares = np.bincount(gaps[:, 0], minlength=13)[1:] / n
    assert np.abs(shares - law).max() < 5 * np.sqrt(0.25 / n)
    after_one = gaps[gaps[:, 0] == 1, 1]
    rest = law[1:] / law[1:].sum()
    assert np.abs(np.bincount(after_one, minlength=13)[2:] / len(after_one) - rest).max() < 0.02
    assert all(len(set(row)) == 4 for row in gaps[:500])


def test_the_whole_space_of_gaps_can_be_full():
    task = Mqar(length=16, pairs=4, vocabulary=64)
    assert (np.sort(task.gaps(np.random.default_rng(0), 50), 1) == [1, 2, 3, 4]).all()


def test_distinct_integers_are_uniform_over_blocks(monkeypatch):
    monkeypatch.setattr("benchmark.tasks.drawn.SCRATCH", 700)
    rows = distinct(np.random.default_rng(0), 6000, 2, 5)
    assert rows.shape == (6000, 2)
    assert (rows[:, 0] != rows[:, 1]).all()
    pairs = np.bincount(rows[:, 0] * 5 + rows[:, 1], minlength=25).reshape(5, 5)
    assert (np.diag(pairs) == 0).all()
    assert np.abs(pairs[~np.eye(5, dtype=bool)] / 6000 - 1 / 20).max() < 0.015


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Mqar(pairs=17), "4 x pairs <= length must hold, got pairs=17, length=64"),
        (lambda: Mqar(pairs=5, vocabulary=10), "pairs <= vocabulary/2 - 1 must hold.*got pairs=5, vocabulary=10"),
        (lambda: Mqar(vocabulary=1 << 17), "vocabulary must be at most 65,536, got 131,072"),
        (lambda: Mqar(power=0.0), r"power must lie in \(0, 1\], got 0.0"),
        (lambda: Mqar(fill="zeros"), "unknown mqar fill 'zeros'; known: random, blank"),
        (lambda: Copying(alphabet=3), "copying: alphabet must be at least 4 .* got 3"),
        (lambda: SelectiveCopying(memory=0), "selective-copying: memory must be a positive integer"),
        (lambda: Adding(length=1), "length must be at least 2, one step for each mark, got 1"),
        (lambda: Parity(bits=True), "parity: bits must be a positive integer"),
        (
            lambda: Parity(bits=2_000_000),
            r"examples x steps must be at most 1,073,741,824 to be drawn, got 20,000,010,000",
        ),
        (lambda: InductionHeads(length=2), "length must be at least 3"),
        (lambda: InductionHeads(vocabulary=3), "vocabulary must be at least 4"),
    ],
)
def test_options_are_checked(make, message):
    with pytest.raises(UserError, match=message):
        make()


def test_a_large_vocabulary_is_stored_in_16_bits():
    assert Mqar(vocabulary=8192, **SMALL).load().train.inputs.dtype == np.uint16


@every_task
def test_the_docstring_draws_input_and_target(task):
    text = type(task).__doc__
    assert "::" in text and "input  " in text and "target  " in text and "Source: " in text
