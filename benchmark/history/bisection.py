"""The commit at which a figure changed, found by halving. Pure: what measures a commit is given."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from benchmark.metrics.inference import log_ratio
from benchmark.metrics.statistics import process_interval
from benchmark.spec.errors import UserError

Measure = Callable[[str, int], "list[float] | str"]
"""From a commit and a number of rounds to positive values, one a process, of all rounds; or why there are none."""

Side = Literal["before", "after"]


class NothingMeasuredError(UserError):
    """One of the two ends has no result, so nothing can be compared with it."""

    exit_code = 3


class NoStepError(UserError):
    """The two ends do not differ, so there is no commit to be found."""

    exit_code = 1


@dataclass
class Reading:
    """What was found at a commit: values, one a process, and on which side of the step they lie."""

    values: list[float]
    side: Side
    sure: bool = True
    """Whether the 95 % interval of the values keeps clear of the middle between both ends."""

    @property
    def level(self) -> float:
        """The geometric mean."""
        return math.exp(sum(map(math.log, self.values)) / len(self.values))


@dataclass
class Bisection:
    """How far it has come. ``commits[low]`` is on the side before the step, ``commits[high]`` after it."""

    commits: Sequence[str]
    low: int
    high: int
    readings: dict[str, Reading] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    """Commits that could not be measured, each with the reason."""

    @property
    def suspects(self) -> list[str]:
        """One of these made the step: a single one, unless the others could not be measured."""
        return list(self.commits[self.low + 1 : self.high + 1])

    @property
    def open(self) -> list[int]:
        """The commits between that are worth measuring."""
        return [i for i in range(self.low + 1, self.high) if self.commits[i] not in self.skipped]

    @property
    def ratio(self) -> float:
        """The level after over that before, between the nearest commits that were measured."""
        return self.readings[self.commits[self.high]].level / self.readings[self.commits[self.low]].level


def bisect(commits: Sequence[str], measure: Measure, rounds: int = 3, least_effect: float = 0.02) -> Bisection:
    """Find where between the first commit and the last a figure steps from one level to the other.

    A commit whose values lie too near the middle between both levels is measured for more rounds.

    Args:
        commits: oldest first, at least two.
        measure: what measures one.
        rounds: for a commit at most.
        least_effect: by which the ends must differ, relative.

    Raises:
        NothingMeasuredError: if an end cannot be measured.
        NoStepError: if the ends do not differ beyond chance and by the least effect.
    """
    before, after = _ends(commits, measure, rounds, least_effect)
    found = Bisection(commits, 0, len(commits) - 1, {commits[0]: before, commits[-1]: after})
    middle = math.sqrt(before.level * after.level)
    while found.open:
        place = found.open[len(found.open) // 2]
        reading = _read(commits[place], measure, rounds, middle, rising=after.level > before.level)
        if isinstance(reading, str):
            found.skipped[commits[place]] = reading
            continue
        found.readings[commits[place]] = reading
        if reading.side == "before":
            found.low = place
        else:
            found.high = place
    return found


def _ends(commits: Sequence[str], measure: Measure, rounds: int, least_effect: float) -> tuple[Reading, Reading]:
    """Both ends, measured until they differ surely or the rounds are used up."""
    for count in range(1, rounds + 1):
        before, after = (_end(commit, measure(commit, count)) for commit in (commits[0], commits[-1]))
        estimate = log_ratio(after, before)
        interval = estimate.interval()
        if abs(estimate.value) >= math.log1p(least_effect) and not interval.low <= 0 <= interval.high:
            return Reading(before, "before"), Reading(after, "after")
    change = 100 * math.expm1(estimate.value)
    raise NoStepError(
        f"{commits[0][:10]} and {commits[-1][:10]} must differ for a step to lie between them: measured now, the "
        f"change is {change:+.1f} %, {_why(estimate.value, least_effect)}; give other ends or more --rounds"
    )


def _why(change: float, least_effect: float) -> str:
    small = abs(change) < math.log1p(least_effect)
    return f"under the {100 * least_effect:g} % of --least" if small else "within chance"


def _end(commit: str, found: list[float] | str) -> list[float]:
    if isinstance(found, str):
        raise NothingMeasuredError(f"{commit[:10]} must be measurable to bisect from it: {found}; give another commit")
    return found


def _read(commit: str, measure: Measure, rounds: int, middle: float, rising: bool) -> Reading | str:
    """On which side of the middle a commit lies; the reason if it cannot be measured."""
    values, sure, count = measure(commit, 1), False, 1
    while not isinstance(values, str):
        interval = process_interval(values)
        sure = not interval.low <= middle <= interval.high
        if sure or count == rounds:
            return Reading(values, "after" if (interval.median > middle) == rising else "before", sure)
        count += 1
        values = measure(commit, count)
    return values
