"""How often chance alone makes a report say something false, over every kind of difference that it decides."""

import math
from typing import get_args

import numpy as np
import pytest
from answer_rows import noisy, norms, period
from result_rows import recipe, trained

from benchmark.metrics.inference import MINIMUM_EFFECT
from benchmark.reports.answers import QUESTIONS, Results
from benchmark.reports.answers.contrasts import Unit, decided
from benchmark.studies.norms import MARGIN

LENGTHS = (256, 1024, 4096)
TIMES = {"rotrnn": 1 + MINIMUM_EFFECT, "lru": 1.0, "s4d": 1 + MINIMUM_EFFECT, "s5": 1.0}
"""Two layers are equally fast, and two slower by just so much as counts; all grow with exponent 1.1, just too fast."""

SEEDS = 8
ARMS = (
    *((layer, {}) for layer in TIMES),
    ("rotrnn", {"options": {"normalizer": "none"}}),
    ("lru", {"options": {"gamma": "none"}}),
    ("rotrnn", {"made": recipe(attention=1)}),
    *((layer, {"options": {name: 0.5}, "threads": 1}) for layer, name in (("rotrnn", "gamma_min"), ("lru", "r_min"))),
    *((layer, {"options": {name: 0.7}, "threads": 1}) for layer, name in (("rotrnn", "gamma_min"), ("lru", "r_min"))),
)
"""Trainings whose scores are all drawn alike: layers, ablations, attention, and in a place of their own two ranges."""

TRAININGS = [trained(layer, [0.5] * SEEDS, **changes) for layer, changes in ARMS]


def null_rows(rng):
    """A report's rows in which nothing differs, or by no more than the margin, under 8 % noise of times."""
    rows = [
        noisy(layer, length, factor * length**1.1 / 100, 0.08, rng)
        for layer, factor in TIMES.items()
        for length in LENGTHS
    ]
    rows += [
        row.model_copy(update={"test_accuracy": score, "detail": {"history": {"test_score": score}}})
        for arm in TRAININGS
        for row, score in zip(arm, rng.normal(0.9, 0.01, SEEDS).tolist(), strict=True)
    ]
    rows += [
        norms(layer, MARGIN + rng.normal(0, 0.02), seed, inputs)
        for layer in ("lru", "rotrnn")
        for inputs in ("white", "constant")
        for seed in range(5)
    ]
    gains = rng.normal(0, 0.1, (2, SEEDS)).tolist()
    rows += [period("rotrnn", "learned", 0.3, 0.3 + gain, 0.1, seed) for seed, gain in enumerate(gains[0])]
    return rows + [period("rotrnn", "fixed", 0.0, 0.0, 0.5 + gain, seed) for seed, gain in enumerate(gains[1])]


def contrasts(rows):
    return list({c.key: c for q in QUESTIONS.values() for c in q.contrasts(Results(rows))}.values())


def is_false(decision):
    """At the edge of a margin nothing may be said; of two layers equally fast only that."""
    c = decision.contrast
    equal = c.unit == "ratio" and TIMES[c.ours] == TIMES[c.theirs]
    return decision.side is not None and not (equal and decision.side == "same")


def false_reports(count, seed):
    """In how many null reports anything false is said."""
    rng = np.random.default_rng(seed)
    return sum(any(map(is_false, decided(contrasts(null_rows(rng))).values())) for _ in range(count))


def test_the_null_has_every_kind_of_difference():
    found = contrasts(null_rows(np.random.default_rng(0)))
    assert {c.unit for c in found} == set(get_args(Unit))
    sides = {(c.ours, c.theirs) for c in found if c.unit == "points"}
    assert ("s4d", "s5") in sides and len(sides) >= 9, sides


def test_false_statements_are_rare():
    count = 40
    assert false_reports(count, 1) <= count * (0.05 + 2 * math.sqrt(0.05 * 0.95 / count))


@pytest.mark.full
def test_false_statements_are_rare_in_a_thousand_reports():
    assert false_reports(1000, 2) <= 1000 * 0.05 + 2 * math.sqrt(1000 * 0.05 * 0.95)
