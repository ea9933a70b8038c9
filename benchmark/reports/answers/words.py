"""Decisions in words: the verdict on a question, what is said of two sides, of how many values."""

from collections.abc import Sequence

from benchmark.metrics.inference import Side
from benchmark.reports import numbers as n
from benchmark.reports.answers.contrasts import Decision
from benchmark.reports.answers.record import Verdict
from benchmark.reports.answers.sayings import SAYINGS


def verdict_of(decisions: Sequence[Decision], *good: Side) -> Verdict:
    """yes: all decided in favour; no: all decided, none in favour; partly: some in favour; else undecided.

    Args:
        decisions: of the contrasts on which the question turns; "not measured" if there is none.
        good: the sides that are in favour.
    """
    sides = {decision.side for decision in decisions}
    if not sides:
        return "not measured"
    if sides & {*good}:
        return "yes" if sides <= {*good} else "partly"
    return "undecided" if None in sides else "no"


def strength(decision: Decision) -> str:
    """Of how many values, by which test, and how improbable."""
    contrast = decision.contrast
    if decision.p_adjusted is None:
        return f"{contrast.size}, too few ever to decide"
    return f"{contrast.size}, {contrast.estimate.test}, adjusted p {p_text(decision.p_adjusted)}"


def p_text(p: float | None) -> str:
    """A probability as it stands in a table.

    >>> p_text(0.00001), p_text(0.04), p_text(None)
    ('<0.0001', '0.04', '–')
    """
    if p is None:
        return n.MISSING
    return "<0.0001" if p < 1e-4 else f"{p:.2g}"


def word(decision: Decision) -> str:
    """The verdict in a word or two."""
    return SAYINGS[decision.contrast.unit][decision.side][0]


def statement(decision: Decision) -> str:
    """What is said of the two sides."""
    c = decision.contrast
    return SAYINGS[c.unit][decision.side][1].format(ours=c.ours, theirs=c.theirs)
