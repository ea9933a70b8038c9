"""Claims judged by rows: supported, contradicted, undecided or not measured, with the evidence.

Of what a claim does not name it must hold everywhere it was measured: all lengths, frameworks,
directions. It is supported if every comparison supports it, contradicted if one speaks against it,
both with a p that is adjusted over all claims of the file (Holm).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from benchmark.metrics.inference import Exact, p_within
from benchmark.metrics.multiple import holm
from benchmark.metrics.paired import least_pairs
from benchmark.reports.again import again
from benchmark.reports.claim_criteria import Criteria
from benchmark.reports.claim_grammar import Claim
from benchmark.reports.claim_tests import Finding, Missing, labels, left_out, tests_of
from benchmark.store.row import Row

Verdict = Literal["supported", "contradicted", "undecided", "not measured"]


@dataclass(frozen=True)
class Judged:
    """A claim, what it rests on, and the verdict.

    ``p`` is of the statement that is made, ``p_adjusted`` of it among all of the file; both are None
    where no chance is involved or nothing could be decided. ``missing`` is the command that measures
    what is not there.
    """

    claim: Claim
    verdict: Verdict
    why: str
    missing: str
    tests: tuple[Finding, ...] = ()
    p: float | None = None
    p_adjusted: float | None = None

    @property
    def command(self) -> str:
        """What measures the evidence again, or for the first time."""
        return again(self.rows) if self.rows else self.missing

    @property
    def rows(self) -> list[Row]:
        """Every row that the verdict rests on, once."""
        return list({row.cell_id: row for test in self.tests for row in test.rows}.values())

    @property
    def cell_ids(self) -> list[str]:
        """Their ids."""
        return [row.cell_id for row in self.rows]


def judge(claims: Sequence[Claim], rows: Sequence[Row], criteria: Criteria = Criteria()) -> list[Judged]:  # noqa: B008
    """Judge all claims of one file together, since their p-values are adjusted together.

    Args:
        claims: of the file.
        rows: all results; what they may be compared with is ``evidence``'s matter.
        criteria: level and margins.
    """
    found = [_weighed(claim, rows, criteria) for claim in claims]
    family = [i for i, entry in enumerate(found) if entry.p is not None]
    adjusted = dict(zip(family, holm([found[i].p or 0.0 for i in family]), strict=True))
    return [_decided(entry, adjusted.get(i), len(family), criteria) for i, entry in enumerate(found)]


def _weighed(claim: Claim, rows: Sequence[Row], criteria: Criteria) -> Judged:
    """The claim with its tests and plain p; without a p where none could ever be small enough."""
    tests = tests_of(claim, rows, criteria)
    if isinstance(tests, Missing):
        return Judged(claim, "not measured", tests.why, tests.command)
    found = Judged(claim, "undecided", left_out(claim, rows), "", tuple(tests))
    if all(isinstance(test.estimate, Exact) for test in tests) or _least_p(tests) > criteria.alpha:
        return found
    return replace(found, p=min(p_for(tests), p_against(tests)))


def p_for(tests: Sequence[Finding]) -> float:
    """P of "it holds in every comparison": the largest of theirs (intersection-union test, Berger 1982)."""
    return max(min(p_within(test.estimate, region) for region in test.holds) for test in tests)


def p_against(tests: Sequence[Finding]) -> float:
    """P of "it fails in one comparison": the smallest of theirs times their number (Bonferroni)."""
    return min(1.0, len(tests) * min(p_within(t.estimate, region) for t in tests for region in t.fails))


def _least_p(tests: Sequence[Finding]) -> float:
    """The smallest p that so few data could give the claim, for or against."""
    least = [min(1.0, 2 * test.estimate.least_p) for test in tests]
    return min(max(least), len(least) * min(least))


def _decided(found: Judged, p_adjusted: float | None, family: int, criteria: Criteria) -> Judged:
    """With the verdict, and why; what is left out is said last."""
    if found.verdict == "not measured":
        return found
    found = replace(found, p_adjusted=p_adjusted)
    verdict, why = _verdict(found, family, criteria)
    return replace(found, verdict=verdict, why="; ".join(filter(None, (why, found.why))))


def _verdict(found: Judged, family: int, criteria: Criteria) -> tuple[Verdict, str]:
    exact = all(isinstance(test.estimate, Exact) for test in found.tests)
    p = 0.0 if exact else found.p_adjusted
    if p is None:
        return "undecided", _too_few(found.tests, criteria)
    in_favour, against = p_for(found.tests), p_against(found.tests)
    if p > criteria.alpha or min(in_favour, against) > criteria.alpha:
        return "undecided", _open(found, family, criteria)
    if in_favour <= against:
        return "supported", _everywhere(found.tests)
    return "contradicted", _sides(found.tests, criteria)


def _everywhere(tests: Sequence[Finding]) -> str:
    return f"holds in all {len(tests)} comparisons" if len(tests) > 1 else "the interval lies there"


def _too_few(tests: Sequence[Finding], criteria: Criteria) -> str:
    """What keeps so few data from ever deciding."""
    test = max(tests, key=lambda t: t.estimate.least_p)
    level = f"{100 * criteria.alpha:g} %"
    if test.paired:
        return f"{test.size} can never reach {level}: at least {least_pairs(criteria.alpha)} are needed"
    return f"{test.size}: the spread between them is unknown, at least 2 on either side are needed"


def _open(found: Judged, family: int, criteria: Criteria) -> str:
    """Why the data do not decide."""
    if found.p is not None and found.p <= criteria.alpha:
        text = f"p = {found.p:.2g} alone, not enough among {family} claims"
        if any(t.paired and 2 * t.estimate.least_p * family > criteria.alpha for t in found.tests):
            text += f", which need {least_pairs(criteria.alpha, family)} seeds"
        return text
    return _sides(found.tests, criteria)


def _sides(tests: Sequence[Finding], criteria: Criteria) -> str:
    """Where the claim holds, fails and stays open, each comparison by itself."""
    found: dict[str, list[str]] = {"holds": [], "fails": [], "open": []}
    for test, label in zip(tests, labels(tests)[1], strict=True):
        holds, fails = p_for([test]) <= criteria.alpha, p_against([test]) <= criteria.alpha
        found["holds" if holds else "fails" if fails else "open"].append(label)
    if len(tests) == 1:
        return "the interval leaves it open" if found["open"] else "the interval lies elsewhere"
    return "; ".join(f"{word}: {' | '.join(listed)}" for word, listed in found.items() if listed)
