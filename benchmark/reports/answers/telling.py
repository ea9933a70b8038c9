"""Several decisions in as few plain sentences as are true."""

import re
from collections.abc import Sequence

from benchmark.reports.answers.amounts import effect, span
from benchmark.reports.answers.contrasts import Contrast, Decision
from benchmark.reports.answers.places import shared
from benchmark.reports.answers.sayings import SCALES
from benchmark.reports.answers.words import statement, strength, word


def told(decisions: Sequence[Decision]) -> list[str]:
    """Decisions in as few sentences as are plain.

    One for each two sides on each task and kind of data; what has too few values ever to decide is one
    sentence for each task, whatever the sides.
    """
    able = [decision for decision in decisions if decision.p_adjusted is not None]
    hopeless = [decision for decision in decisions if decision.p_adjusted is None]
    by_task: dict[tuple[str, ...], list[Decision]] = {}
    for decision in hopeless:
        by_task.setdefault((decision.contrast.unit, *task_of(decision.contrast)), []).append(decision)
    return [*map(summary, by_sides(able)), *map(open_ones, by_task.values())]


def task_of(contrast: Contrast) -> tuple[str, ...]:
    """Task, kind of data and recipe of a contrast of trainings; of others nothing."""
    if not contrast.setting.get("data"):
        return ()
    return tuple(str(contrast.setting.get(name)) for name in ("task", "data", "recipe", "d_model"))


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
    where = f"{', '.join(common)}: " if common else ""
    sides = f"{first.ours} against {first.theirs}" if first.theirs else first.ours
    tests = sizes(decisions, [d.contrast.estimate.test for d in decisions])
    return f"{where}{sides} in {len(decisions)} settings, {SCALES[first.unit]}: {listed} ({tests})."


def open_ones(decisions: Sequence[Decision]) -> str:
    """Comparisons that so few values can never decide, in one sentence."""
    first = decisions[0].contrast
    if len(decisions) == 1:
        figures = f" ({first.figures})" if first.figures else ""
        where = f"{', '.join(first.place)}: " if first.place else ""
        return f"{where}{statement(decisions[0])}{figures}: {first.size}, too few ever to decide."
    common, _ = shared([decision.contrast.place for decision in decisions])
    where = f"{', '.join(common)}: " if common else ""
    found = sorted(decision.comparison.difference.median for decision in decisions)
    what = SCALES[first.unit].removesuffix(INTERVAL)
    differences = f"{what} {span(found[0], found[-1], first.unit)}"
    listed = f"{len(decisions)} comparisons of {_compared(decisions)} are open"
    return f"{where}{listed}, {differences} ({sizes(decisions)}, too few ever to decide)."


def _compared(decisions: Sequence[Decision]) -> str:
    """The sides of some comparisons, or the pairs where these are fewer."""
    names = dict.fromkeys(name for d in decisions for name in (d.contrast.ours, d.contrast.theirs) if name)
    pairs = dict.fromkeys(f"{d.contrast.ours} against {d.contrast.theirs}" for d in decisions if d.contrast.theirs)
    return ", ".join(pairs if 0 < len(pairs) < len(names) else names)


INTERVAL = " [95 % interval]"


def sizes(decisions: Sequence[Decision], tests: Sequence[str] = ()) -> str:
    """Of how many values decisions were made, and by which tests."""
    found = list(dict.fromkeys(decision.contrast.size for decision in decisions))
    return ", ".join([_either(found), *dict.fromkeys(tests)])


def _either(texts: Sequence[str]) -> str:
    """Numbers of one thing with the thing once.

    >>> _either(["3 pairs of seeds", "1 pair of seeds"]), _either(["3 + 3 processes", "5 + 3 processes"])
    ('1 or 3 pairs of seeds', '3 + 3 processes or 5 + 3 processes')
    """
    found = [re.fullmatch(r"(\d+) (pair|seed)s?(.*)", text) for text in texts]
    if len(texts) < 2 or not all(found):
        return " or ".join(texts)
    numbers = sorted(int(match[1]) for match in found if match)
    noun = next(f"{match[2]}s{match[3]}" for match in found if match)
    return f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]} {noun}"


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
    found = sorted(decision.comparison.difference.median for decision, _ in members)
    return span(found[0], found[-1], members[0][0].contrast.unit)


def by_sides(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """Decisions on the same two sides together, of one unit, task and kind of data each."""
    found: dict[tuple[str, ...], list[Decision]] = {}
    for decision in decisions:
        c = decision.contrast
        found.setdefault((c.unit, c.ours, c.theirs, *task_of(c)), []).append(decision)
    return list(found.values())
