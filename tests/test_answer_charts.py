"""Charts of answers: what they cap, say once, and keep legible."""

from itertools import pairwise

import altair as alt
import pytest
from answer_rows import timed

from benchmark.reports.answers import answers
from benchmark.reports.answers.charts import LINE_CHARACTERS, MOST_DRAWN, MOST_PLACES, bar_chart, line_chart
from benchmark.reports.charts import COLOURS, INK, drawn, wrapped


def intervals(lengths):
    """The chart of Q3 of four layers at some lengths."""
    rows = [
        timed(layer, length, [length * (1 + i) * x for x in (0.99, 1.0, 1.01)])
        for i, layer in enumerate(("rotrnn", "lru", "s4d", "s5"))
        for length in lengths
    ]
    (found,) = (entry for entry in answers(rows) if entry.id == "Q3")
    alt.Chart.from_dict(found.chart, validate=True)
    return found.chart


def test_words_of_a_comparison_stand_right_above_its_interval():
    marks = intervals([1024])["data"]["values"]
    assert [mark["comparison"].split(":")[0] for mark in marks][:2] == ["rotrnn to lru", "rotrnn to s4d"]
    for above, below in pairwise(marks):
        assert above["words_px"] < above["bar_px"] < below["words_px"]
        assert above["bar_px"] - above["words_px"] < 2 * (below["words_px"] - above["bar_px"])


def test_long_words_are_broken_and_take_their_room():
    marks = intervals([1024, 2048])["data"]["values"]
    assert all(len(line) <= LINE_CHARACTERS for mark in marks for line in mark["comparison"].split("\n"))


def test_many_comparisons_are_capped_and_counted():
    chart = intervals([2**i for i in range(8, 13)])
    assert len(chart["data"]["values"]) == MOST_DRAWN
    title = " ".join(chart["layer"][0]["encoding"]["x"]["title"])
    assert f"{MOST_DRAWN} of 30 comparisons are drawn" in title


def points(places):
    return [
        {"layer": layer, "place": place, "length": length, "value": 1.0 + i}
        for i, place in enumerate(places)
        for layer in ("rotrnn", "lru")[: 1 + (i > 0)]
        for length in (256, 512)
    ]


def test_lines_of_few_places_keep_their_dashes_and_say_once_what_they_share():
    chart = line_chart("time of a call, ms", points(["torch, cpu, forward", "jax, cpu, forward"]))
    alt.Chart.from_dict(chart, validate=True)
    dash = chart["layer"][0]["encoding"]["strokeDash"]
    assert dash["scale"]["domain"] == ["jax", "torch"]  # the fullest first
    assert " ".join(dash["title"]) == "where; in all: cpu, forward"
    assert {mark["place"] for mark in chart["data"]["values"]} == {"torch", "jax"}


def test_of_many_places_the_fullest_are_drawn():
    chart = line_chart("time of a call, ms", points([f"place {i}" for i in range(9)]))
    assert {mark["place"] for mark in chart["data"]["values"]} == {f"place {i}" for i in range(1, MOST_PLACES + 1)}
    assert f"{MOST_PLACES} of 9 places are drawn" in " ".join(chart["layer"][0]["encoding"]["strokeDash"]["title"])


@pytest.mark.parametrize("form", ["svg", "pdf"])
def test_vector_figures_are_black_on_nothing(form):
    figure = drawn(line_chart("time, ms", points(["torch", "jax"])), form)
    assert figure.startswith({"svg": b"<svg", "pdf": b"%PDF"}[form])
    assert INK.encode() not in figure


def test_no_colour_is_lost_on_a_dark_page():
    assert "#000000" not in COLOURS


def test_titles_fit_a_telephone():
    title = "FLOPs a token, by formula, real state about 128"
    assert wrapped(title) == ["FLOPs a token, by formula, real", "state about 128"]
    assert bar_chart(title, [])["encoding"]["x"]["title"] == wrapped(title)
