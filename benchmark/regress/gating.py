"""The gate: which changes fail a build."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.inference import Estimate, Student
from benchmark.regress import decision
from benchmark.regress.decision import Bools, Floats
from benchmark.regress.pairing import Pairing
from benchmark.regress.settings import Expectation, GateSettings
from benchmark.regress.verdicts import Change

Verdict = Literal["regression", "expected", "can't tell", "ok"]


class Remeasure(Protocol):
    """Something that can measure both builds of a change again."""

    def refusal(self, change: Change) -> str | None:
        """Why it cannot, or could not; None if it can."""

    def worsening(self, changes: Sequence[Change], pairs: int) -> Floats:
        """Of each change so many pairs, worsenings (changes, pairs); not finite where a process failed."""


@dataclass(frozen=True)
class Gated:
    """A change, its threshold as a share, what the gate says of it, and on what that rests."""

    change: Change
    share: float
    verdict: Verdict
    estimate: Estimate
    pairs: int = 0
    """Of processes measured again; 0 if the verdict rests on the sources."""
    expectation: Expectation | None = None
    note: str = ""


@dataclass(frozen=True)
class Decision:
    """All that the gate has found. ``notes`` are about the whole."""

    gated: list[Gated]
    pairing: Pairing
    strict: bool = False
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the build fails: a regression, a cell without its result, or, if strict, an open question."""
        bad = {"regression", "can't tell"} if self.strict else {"regression"}
        return bool(self.pairing.broken) or any(entry.verdict in bad for entry in self.gated)


def gate(
    changes: Sequence[Change],
    pairing: Pairing,
    settings: GateSettings,
    today: date,
    strict: bool = False,
    again: Remeasure | None = None,
) -> Decision:
    """Decide on all changes as one family.

    Args:
        changes: those of the pairing that are judged.
        pairing: all cells of both sources.
        settings: thresholds and expectations.
        today: after whose end an expectation no longer holds.
        strict: whether the threshold must be ruled out.
        again: measures suspicious cells again; without one the sources alone decide.
    """
    limits = np.array([c.quantity.margin(settings.threshold(c.row, c.quantity)) for c in changes])
    slower, highs = _as_measured(changes, limits, settings.alpha / (2 if again else 1))
    gated = [
        Gated(c, settings.threshold(c.row, c.quantity), _verdict(s, high >= limit), c.worsening)
        for c, s, high, limit in zip(changes, slower, highs, limits, strict=True)
    ]
    if again is not None:
        gated = _after_rerun(gated, highs, limits, settings.alpha, strict, again)
    gated = [_expected(entry, settings, today) for entry in gated]
    return Decision(sorted(gated, key=_urgency), pairing, strict)


def _as_measured(changes: Sequence[Change], limits: Floats, alpha: float) -> tuple[Bools, Floats]:
    """Who is a regression by what the sources hold, and the upper ends of the intervals.

    Counts are not in Holm's family, as chance has no part in them.
    """
    highs = np.array([c.worsening.interval().high for c in changes])
    p = np.array([c.worsening.p_above(0) for c in changes])
    counted = np.array([c.is_counted for c in changes], bool)
    slower = counted & (highs >= limits)
    slower[~counted] = decision.regressions(p[~counted], highs[~counted], limits[~counted], alpha)
    return slower, highs


def _verdict(slower: bool, reaches: bool) -> Verdict:
    return "regression" if slower else "can't tell" if reaches else "ok"


def _after_rerun(
    gated: list[Gated], highs: Floats, limits: Floats, alpha: float, strict: bool, again: Remeasure
) -> list[Gated]:
    """The same with suspicious cells measured again, and judged by that alone.

    Where some cannot be, they and the others get half of the level each.
    """
    estimates = np.array([entry.estimate.value for entry in gated])
    open_ = np.flatnonzero(decision.suspicious(estimates, highs, limits, strict)).tolist()
    why = {i: again.refusal(gated[i].change) for i in open_ if not gated[i].change.is_counted}
    which = [i for i, reason in why.items() if reason is None]
    found = dict(enumerate(gated))
    found |= {i: replace(gated[i], note=f"not measured again: {reason}") for i, reason in why.items() if reason}

    def measure(indices: NDArray[np.intp], pairs: int) -> Floats:
        return again.worsening([gated[which[i]].change for i in indices], pairs)

    result = decision.rerun(limits[which], measure, alpha if len(which) == len(why) else alpha / 2, strict)
    for i, worsenings, slower in zip(which, result.worsenings, result.slower, strict=True):
        found[i] = _judged_again(gated[i], worsenings, bool(slower), float(limits[i]), again)
    return list(found.values())


def _judged_again(entry: Gated, worsenings: Floats, slower: bool, limit: float, again: Remeasure) -> Gated:
    done = worsenings[np.isfinite(worsenings)]
    if reason := again.refusal(entry.change):
        return replace(entry, verdict="can't tell", note=f"measuring again failed: {reason}")
    error = float(done.std(ddof=1)) / len(done) ** 0.5
    estimate = Student(float(done.mean()), error, len(done) - 1, "paired t")
    verdict = _verdict(slower, estimate.interval().high >= limit)
    return replace(entry, verdict=verdict, estimate=estimate, pairs=len(done))


def _expected(entry: Gated, settings: GateSettings, today: date) -> Gated:
    """A regression that is expected, and not larger than expected, is none."""
    found = settings.expectation(entry.change.row, entry.change.quantity)
    if found is None or entry.verdict != "regression":
        return entry
    if today > found.until:
        return replace(entry, expectation=found, note=f"expected until {found.until} only: {found.reason}")
    if found.at_most is not None and entry.estimate.value > entry.change.quantity.margin(found.at_most):
        return replace(entry, expectation=found, note=f"worse than the {found.at_most:.0%} expected: {found.reason}")
    return replace(entry, verdict="expected", expectation=found, note=f"expected until {found.until}: {found.reason}")


def _urgency(entry: Gated) -> tuple[int, float]:
    """Regressions first, within each verdict the worst."""
    return ("regression", "can't tell", "expected", "ok").index(entry.verdict), -entry.estimate.value
