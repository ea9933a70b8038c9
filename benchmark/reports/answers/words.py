"""Decisions in plain sentences: what differs, by how much, within which interval, of how many values."""

import math
from collections.abc import Sequence

from benchmark.metrics.inference import ALPHA, MINIMUM_EFFECT, Side
from benchmark.reports import numbers as n
from benchmark.reports.answers.contrasts import Contrast, Decision, Unit
from benchmark.reports.answers.places import shared
from benchmark.reports.answers.record import Verdict

Says = tuple[str, str]
"""A word for a table, and a sentence about ours and theirs."""

SAYINGS: dict[Unit, dict[Side | None, Says]] = {
    "ratio": {
        "less": ("faster", "{ours} is faster than {theirs}"),
        "same": ("as fast", f"{{ours}} is as fast as {{theirs}}, within {100 * MINIMUM_EFFECT:g} %"),
        "more": ("slower", "{ours} is slower than {theirs}"),
        None: ("can't tell", "{ours} and {theirs} cannot be told apart"),
    },
    "points": {
        "less": ("worse", "{ours} is worse than {theirs}"),
        "same": ("as good", "{ours} is as good as {theirs}"),
        "more": ("better", "{ours} is better than {theirs}"),
        None: ("can't tell", "{ours} and {theirs} cannot be told apart"),
    },
    "exponent": {
        "less": ("slower than linear", "the time of {ours} grows more slowly than the length"),
        "same": ("linear", "the time of {ours} grows in proportion to the length"),
        "more": ("faster than linear", "the time of {ours} grows faster than the length"),
        None: ("can't tell", "how the time of {ours} grows is open"),
    },
    "slope": {
        "less": ("shrinking", "the state of {ours} shrinks over time"),
        "same": ("bounded", "the state of {ours} stays put over time"),
        "more": ("growing", "the state of {ours} still grows"),
        None: ("can't tell", "whether the state of {ours} grows is open"),
    },
    "radians": {
        "less": ("farther", "{ours} ends farther from {theirs} than it began"),
        "same": ("as near", "{ours} ends as near to {theirs} as it began"),
        "more": ("nearer", "{ours} ends nearer to {theirs} than it began"),
        None: ("can't tell", "whether {ours} comes nearer to {theirs} is open"),
    },
    "spread": {
        "less": ("less steady", "{ours} is less steady than {theirs}"),
        "same": ("as steady", "{ours} is as steady as {theirs}"),
        "more": ("steadier", "{ours} is steadier than {theirs}"),
        None: ("can't tell", "which of {ours} and {theirs} is steadier is open"),
    },
}
SAYINGS["mse"] = SAYINGS["points"]

SCALES: dict[Unit, str] = {
    "ratio": "ratio of times [95 % interval]",
    "points": "difference of accuracy [95 % interval]",
    "mse": "difference of the squared error, negative is better [95 % interval]",
    "exponent": "growth of time with length [95 % interval]",
    "slope": "growth of the mean square over time [95 % interval]",
    "radians": "change of the error of the angle, negative is nearer [95 % interval]",
    "spread": "difference of standard deviations, negative is steadier [95 % interval]",
}
"""What the numbers of a sentence are."""


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


def effect(decision: Decision) -> str:
    """The difference with its 95 % interval and its unit."""
    contrast, found = decision.contrast, decision.comparison.difference
    value = amount(found.median, contrast.unit)
    if not math.isfinite(found.low) or not math.isfinite(found.high):
        return f"{value}, without an interval from so few"
    if found.low == found.high:
        return value
    return f"{value} [{amount(found.low, contrast.unit, bare=True)} to {amount(found.high, contrast.unit, bare=True)}]"


def amount(value: float, unit: Unit, bare: bool = False) -> str:
    """A difference on the scale on which it is read.

    >>> amount(0.0, "ratio"), amount(0.012, "points")
    ('x1.00', '+1.20 points')
    """
    match unit:
        case "ratio":
            return f"{'' if bare else 'x'}{n.significant(math.exp(value))}"
        case "points":
            return f"{100 * value:+.2f}{'' if bare else ' points'}"
        case "mse":
            return f"{'-' if value > 0 else '+'}{n.significant(abs(value))}{'' if bare else ' MSE'}"
        case "spread":
            return f"{-100 * value:+.2f}{'' if bare else ' points'}"
        case "radians":
            return f"{'-' if value > 0 else '+'}{n.significant(abs(value))}{'' if bare else ' radians'}"
        case "exponent":
            return f"{'' if bare else 'exponent '}{1 + value:.2f}"
        case "slope":
            return f"{'' if bare else 'exponent '}{value:.2f}"


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


def sentence(decision: Decision) -> str:
    """One decision in full."""
    c = decision.contrast
    figures = f"{c.figures}: " if c.figures else ""
    where = f"{', '.join(c.place)}: " if c.place else ""
    return f"{where}{statement(decision)} ({figures}{SCALES[c.unit]} {effect(decision)}; {strength(decision)})."


def summary(decisions: Sequence[Decision]) -> str:
    """Several decisions on the same two sides in one sentence: each verdict with its places, what is open as a span."""
    if len(decisions) == 1:
        return sentence(decisions[0])
    first = decisions[0].contrast
    common, own = shared([decision.contrast.place for decision in decisions])
    listed = _by_word(list(zip(decisions, map(" ".join, own), strict=True)))
    sizes = " or ".join(dict.fromkeys(strength_of_size(decision) for decision in decisions))
    where = f"{', '.join(common)}: " if common else ""
    sides = f"{first.ours} against {first.theirs}" if first.theirs else first.ours
    return f"{where}{sides} in {len(decisions)} settings, {SCALES[first.unit]}: {listed} ({sizes})."


def strength_of_size(decision: Decision) -> str:
    """Of how many values, and whether these can decide at all."""
    size = decision.contrast.size
    return (
        f"{size}, too few ever to decide"
        if decision.p_adjusted is None
        else f"{size}, {decision.contrast.estimate.test}"
    )


def _by_word(placed: Sequence[tuple[Decision, str]]) -> str:
    groups: dict[str, list[tuple[Decision, str]]] = {}
    for decision, where in placed:
        groups.setdefault(word(decision), []).append((decision, where))
    return "; ".join(
        f"{name} in {len(members)}: {_span(members) if members[0][0].side is None else _places(members)}"
        for name, members in groups.items()
    )


MOST_NAMED = 4


def _places(members: Sequence[tuple[Decision, str]]) -> str:
    texts = [f"{where} {effect(decision)}".strip() for decision, where in members]
    more = f", and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else ""
    return ", ".join(texts[:MOST_NAMED]) + more


def _span(members: Sequence[tuple[Decision, str]]) -> str:
    """From the least to the greatest, with the interval where there is one alone."""
    if len(members) == 1:
        return _places(members)
    ordered = sorted((decision for decision, _ in members), key=lambda decision: decision.comparison.difference.median)
    ends = [amount(d.comparison.difference.median, d.contrast.unit) for d in (ordered[0], ordered[-1])]
    return f"{ends[0]} to {ends[1]}"


def by_sides(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """Decisions on the same two sides together, of one unit each."""
    found: dict[tuple[str, str, str], list[Decision]] = {}
    for decision in decisions:
        c: Contrast = decision.contrast
        found.setdefault((c.unit, c.ours, c.theirs), []).append(decision)
    return list(found.values())


def too_few(decisions: Sequence[Decision]) -> str | None:
    """What keeps the data from ever deciding; None where nothing does."""
    short = [decision for decision in decisions if decision.p_adjusted is None]
    if not short:
        return None
    sizes = " or ".join(dict.fromkeys(decision.contrast.size for decision in short))
    match short[0].contrast.family:
        case "time":
            need = "at least 2 processes on either side are needed (--processes 3)"
        case "norm":
            need = "at least 2 seeds are needed"
        case "score":
            need = f"at least {max(decision.seeds_needed for decision in short)} seeds are needed"
    return f"{sizes} can never reach {100 * ALPHA:g} %: {need}"
