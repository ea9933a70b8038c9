"""Options of every task: wrong ones are one line with what would do, and equal ones are the same task."""

import itertools
import math
import re
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from benchmark.spec import UserError
from benchmark.spec.base import LARGEST
from benchmark.sweeps.train_plan import unusual
from benchmark.tasks import TASKS, task
from benchmark.tasks.speech import WORDS, SpeechCommands

WRONG = {
    int: [0, -1, 1.5, True, None, "many", "", [], LARGEST + 1, 10**5000],
    float: ["much", "", True, None, [], math.inf, math.nan],
    bool: [0, 1, "yes", None],
    str: [3, None, True, [], "", ",", "nonsense"],
    Literal: ["nonsense", "", None, True, []],
}
OPTIONS = [
    (name, option, get_type_hints(TASKS[name])[option]) for name in TASKS for option in TASKS[name].option_names()
]


def refused(name, options):
    """The one line with which a task refuses its options."""
    with pytest.raises(UserError) as caught:
        task(name, options)
    line = str(caught.value)
    assert "\n" not in line and len(line) < 500
    return line


@pytest.mark.parametrize(("name", "option", "hint"), OPTIONS)
def test_a_wrong_value_is_refused_by_task_and_option_with_the_choices(name, option, hint):
    for value in WRONG[get_origin(hint) or hint]:
        line = refused(name, {option: value})
        assert name in line and option.removesuffix("s") in line
        if get_origin(hint) is Literal:
            assert line.endswith(f"; known: {', '.join(get_args(hint))}")


@pytest.mark.parametrize("name", TASKS)
def test_an_unknown_option_is_refused_with_the_known_ones(name):
    line = refused(name, {"nonsense": 1})
    assert line == f"unknown {name} option 'nonsense'; known: {', '.join(TASKS[name].option_names())}"


@pytest.mark.parametrize(("name", "option"), [(name, option) for name, option, hint in OPTIONS if hint is int])
def test_the_largest_number_is_refused_or_harmless(name, option):
    """What passes takes no memory: the number of a draw, and bounds beyond which nothing is drawn."""
    if option in ("draw", "max_args", "max_depth"):
        made = task(name, {option: LARGEST})
        assert made.seq_len == task(name).seq_len and made.inputs == task(name).inputs
    else:
        assert re.search(r"must (be at most|hold|lie strictly).*, got .*\d", refused(name, {option: LARGEST}))


def test_an_unknown_task_is_refused_with_the_known_ones():
    assert refused("digit", {}) == f"unknown task 'digit'; known: {', '.join(TASKS)}"


def test_words_in_any_order_are_the_same_task():
    made = [
        task("speech-commands", {"words": ",".join(order)}) for order in itertools.permutations(["yes", "bed", "zero"])
    ]
    assert set(made) == {SpeechCommands(words=" zero,yes ,yes,bed")} and made[0].words == "bed,yes,zero"
    assert made[0].classes == ("bed", "yes", "zero") and unusual(made[0]) == {"words": "bed,yes,zero"}
    assert unusual(SpeechCommands(words=",".join(reversed(WORDS)))) == unusual(SpeechCommands(words="all,yes")) == {}


def test_numbers_and_words_that_mean_the_same_are_the_same_task():
    assert task("mnist", {"size": 14}) == task("mnist", {"size": "14"})
    assert task("mqar", {"power": 1}) == task("mqar", {"power": 1.0})
    assert unusual(task("lra-pathfinder", {"level": 14})) == {}
