"""How large differences are: the columns beside those that decide."""

import numpy as np
import pytest
from answer_rows import DOWN, UP, one, pair_of_times
from result_rows import trained

from benchmark.reports.answers import effects
from benchmark.reports.answers.layers import score_contrasts, time_contrasts
from benchmark.reports.numbers import MISSING
from benchmark.reports.tables import column


def of_scores(ours, theirs, **changes):
    (found,) = score_contrasts([*trained("rotrnn", ours, **changes), *trained("lru", theirs, **changes)])
    return effects.effect(found)


def test_a_standardised_difference_by_hand():
    """Differences of 1 to 5 points: mean 3, standard deviation sqrt(2.5), Hedges's correction 1 - 3 / 15."""
    found = of_scores([0.81, 0.82, 0.83, 0.84, 0.85], [0.8] * 5)
    assert found.size.startswith(f"{3 / 2.5**0.5 * 0.8:+.2f} [")
    assert found.order == MISSING, "five seeds give no order"


def test_of_errors_less_is_better():
    found = of_scores([0.1, 0.2, 0.1, 0.2], [0.5, 0.4, 0.6, 0.5], measure="mse", task="adding")
    assert found.size.startswith("+")


@pytest.mark.parametrize(
    ("ours", "size"), [([0.9], MISSING), ([0.9] * 4, MISSING), ([0.9, 0.9, 0.90001], "beyond +100")]
)
def test_no_spread_has_no_interval(ours, size):
    assert of_scores(ours, [0.8] * len(ours)).size == size


def test_the_order_of_ten_seeds():
    rng = np.random.default_rng(0)
    high, low = rng.normal(0.9, 0.01, 10), rng.normal(0.8, 0.01, 10)
    assert (of_scores(high, low).order, of_scores(low, high).order) == ("0.00", "1.00")
    assert of_scores(high, low) == of_scores(high, low), "drawn alike"


def test_of_times_cliffs_delta():
    (found,) = time_contrasts(pair_of_times(0.5, lengths=(1024,)))
    assert effects.effect(found) == ("-1.00", MISSING), "an interval from three processes would say nothing"
    (found,) = time_contrasts(pair_of_times(0.5, lengths=(1024,), processes=10))
    assert effects.effect(found).size.startswith("-1.00 [-1.00 to -0.")
    (found,) = time_contrasts(pair_of_times(0.5, lengths=(1024,), processes=1))
    assert effects.effect(found).size == MISSING


def test_the_table_shows_them_where_there_are_any():
    table = one("Q3", [*pair_of_times(0.5), *trained("rotrnn", UP), *trained("lru", DOWN)]).table
    assert column(table, "effect size")[0] == "-1.00" and column(table, "order")[-1] == "0.00"
    assert effects.NOTE in table.notes
    times = one("Q3", pair_of_times(0.5)).table
    assert "effect size" in times.columns and "order" not in times.columns
    alone = one("Q3", pair_of_times(0.5, processes=1)).table
    assert "effect size" not in alone.columns and effects.NOTE not in alone.notes
