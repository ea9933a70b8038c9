"""The gate: which changes fail a build."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

import numpy as np

from benchmark.metrics.inference import Estimate, Student
from benchmark.regress import decision
from benchmark.regress.decision import Bools, Floats
from benchmark.regress.pairing import Pairing
from benchmark.regress.remeasuring import Remeasure, measured_again
from benchmark.regress.settings import Expectation, GateSettings
from benchmark.regress.verdicts import Change, Lacking

Verdict = Literal["regression", "expected", "can't tell", "ok"]
Outcome = Literal["passed", "failed", "incomplete", "nothing compared", "nothing measured"]


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
    lacking: tuple[Lacking, ...] = ()
    complete: bool = False
    """Whether every cell of both sources must be compared."""

    @property
    def outcome(self) -> Outcome:
        """How the build ends. A regression, a lost result and, if strict, an open question fail it."""
        bad = {"regression", "can't tell"} if self.strict else {"regression"}
        if self.pairing.only_failures:
            return "nothing measured"
        if self.pairing.broken or any(entry.verdict in bad for entry in self.gated):
            return "failed"
        if not self.gated:
            return "nothing compared"
        return "incomplete" if self.complete and self.uncompared else "passed"

    @property
    def failed(self) -> bool:
        """Whether something is worse, or was lost."""
        return self.outcome == "failed"

    @property
    def uncompared(self) -> int:
        """Cells of either source, and metrics of cells, that were not compared."""
        pairing = self.pairing
        cells = len(pairing.only_before) + len(pairing.only_after) + len(pairing.refused)
        return cells + len(self.lacking)


def gate(
    changes: Sequence[Change],
    pairing: Pairing,
    settings: GateSettings,
    today: date,
    strict: bool = False,
    again: Remeasure | None = None,
    lacking: Sequence[Lacking] = (),
    complete: bool = False,
) -> Decision:
    """Decide on all changes as one family.

    Args:
        changes: those of the pairing that are judged.
        pairing: all cells of both sources.
        settings: thresholds and expectations.
        today: after whose end an expectation no longer holds.
        strict: whether the threshold must be ruled out.
        again: measures suspicious cells again; without one the sources alone decide.
        lacking: what could not be compared within the pairs.
        complete: whether everything must be compared.
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
    notes = tuple(f"{start} in [gate] is the beginning of no cell here." for start in settings.idle(pairing.rows_after))
    return Decision(sorted(gated, key=_urgency), pairing, strict, notes, tuple(lacking), complete)


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
    """The same with suspicious cells measured again, and judged by that alone; what cannot be keeps its verdict."""
    estimates = np.array([entry.estimate.value for entry in gated])
    open_ = np.flatnonzero(decision.suspicious(estimates, highs, limits, strict)).tolist()
    why = {i: again.refusal(gated[i].change) for i in open_ if not gated[i].change.is_counted}
    which = [i for i, reason in why.items() if reason is None]
    found = dict(enumerate(gated))
    found |= {i: replace(gated[i], note=f"not measured again: {reason}") for i, reason in why.items() if reason}
    suspects = [gated[i].change for i in which]
    result = measured_again(suspects, limits[which], alpha, strict, again, others=len(which) < len(why))
    for i, worsenings, slower, unfinished in zip(which, *result, strict=True):
        done = worsenings[np.isfinite(worsenings)]
        reason = again.refusal(gated[i].change) or (None if len(done) else "the time for it was up")
        if reason:
            found[i] = replace(gated[i], note=f"measuring again failed, so the sources decide: {reason}")
        else:
            found[i] = _judged_again(gated[i], done, bool(slower), float(limits[i]), bool(unfinished))
    return list(found.values())


def _judged_again(entry: Gated, done: Floats, slower: bool, limit: float, unfinished: bool) -> Gated:
    """By finished looks alone."""
    error = float(done.std(ddof=1)) / len(done) ** 0.5
    estimate = Student(float(done.mean()), error, len(done) - 1, "paired t")
    verdict = _verdict(slower, estimate.interval().high >= limit)
    note = "the time for measuring again was up" if unfinished else ""
    return replace(entry, verdict=verdict, estimate=estimate, pairs=len(done), note=note)


def _expected(entry: Gated, settings: GateSettings, today: date) -> Gated:
    """A regression that is expected, and not larger than expected, is none; nor is what may be one.

    Of several expectations one that holds is enough; if none does, the first is told.
    """
    fitting = settings.expectations(entry.change.row, entry.change.quantity)
    if not fitting or entry.verdict == "ok":
        return entry
    told = [(found, _objection(entry, found, today)) for found in fitting]
    found, objection = min(told, key=lambda pair: pair[1] is not None)
    words = f"{objection or f'expected until {found.until}'}: {found.reason}"
    verdict = entry.verdict if objection else "expected"
    return replace(entry, verdict=verdict, expectation=found, note="; ".join(filter(None, (words, entry.note))))


def _objection(entry: Gated, found: Expectation, today: date) -> str | None:
    """Why an expectation does not cover what was found; None if it does.

    What is surely worse is held to the limit by its estimate, what may be worse by the end of its
    interval: a wide spread must not hide a larger loss than was accepted.
    """
    if today > found.until:
        return f"expected until {found.until} only"
    if found.at_most is None:
        return None
    limit = entry.change.quantity.margin(found.at_most)
    if entry.verdict == "regression":
        return f"worse than the {found.at_most:.0%} expected" if entry.estimate.value > limit else None
    return f"may be worse than the {found.at_most:.0%} expected" if entry.estimate.interval().high > limit else None


def _urgency(entry: Gated) -> tuple[int, float]:
    """Regressions first, within each verdict the worst."""
    return ("regression", "can't tell", "expected", "ok").index(entry.verdict), -entry.estimate.value
