"""The comparisons that a claim rests on, found among rows; or what is missing."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from benchmark.metrics.inference import Estimate, Exact, Region
from benchmark.metrics.scaling import growth
from benchmark.reports import numbers as n
from benchmark.reports.claim_criteria import Criteria, exponent_regions, regions
from benchmark.reports.claim_gaps import METRICS, command_for, why_missing
from benchmark.reports.claim_grammar import Claim
from benchmark.reports.evidence import Group, Pair, Subject, fits, groups, pairs, size_words, sizes
from benchmark.reports.measures import Quantity, Scale, measured, values
from benchmark.reports.results import latest
from benchmark.spec.errors import UserError
from benchmark.store.row import Row
from benchmark.sweeps.gate import TOLERANCES


class Finding(NamedTuple):
    """One comparison: an estimate, where it lies if the claim holds, and where if it fails."""

    place: tuple[str, ...]
    estimate: Estimate
    holds: tuple[Region, ...]
    fails: tuple[Region, ...]
    figures: str
    size: str
    basis: str
    rows: tuple[Row, ...]

    @property
    def label(self) -> str:
        """Where the comparison was made."""
        return " ".join(self.place)

    @property
    def paired(self) -> bool:
        """Whether its values are pairs of seeds."""
        return "seeds" in self.size


def labels(findings: Sequence[Finding]) -> tuple[str, list[str]]:
    """What all comparisons of a claim have in common, and what tells each from the others; of one alone its place."""
    if len(findings) < 2:
        return "", [found.label for found in findings]
    common = [word for word in findings[0].place if all(word in found.place for found in findings)]
    own = [" ".join(word for word in found.place if word not in common) for found in findings]
    return " ".join(common), [words or found.label for words, found in zip(own, findings, strict=True)]


class Missing(NamedTuple):
    """Why a claim cannot be judged, and the command that measures what is missing."""

    why: str
    command: str


def tests_of(claim: Claim, rows: Sequence[Row], criteria: Criteria) -> list[Finding] | Missing:
    """Every comparison that the claim is about."""
    if claim.kind == "twins":
        return _twins(claim, rows)
    found = in_scope(claim, rows)
    good = [row for row in found if row.status == "ok"]
    try:
        if claim.kind == "scales":
            tests = list(_scalings(claim, good, criteria))
        else:
            listed = [_compared(claim, pair, criteria) for pair in _pairs(claim, good)]
            tests = [entry for entry in listed if isinstance(entry, Finding)]
            if listed and not tests:
                return Missing(str(listed[0]), command_for(claim))
    except UserError as error:
        return Missing(str(error), command_for(claim))
    return tests or Missing(why_missing(claim, found, rows), command_for(claim))


def left_out(claim: Claim, rows: Sequence[Row]) -> str:
    """Rows that the claim is about, but that have no result; empty if there are none."""
    open_to_all = claim.kind in {"extreme", "twins"}
    failed = [r for r in in_scope(claim, rows) if r.status != "ok"]
    failed = [r for r in failed if open_to_all or any(fits(r, subject) for subject in claim.subjects)]
    listed = dict.fromkeys(f"{r.layer} at {r.task or n.count(r.seq_len)} {r.status}" for r in failed)
    return f"not in it: {', '.join(listed)}" if listed and claim.kind != "twins" else ""


def in_scope(claim: Claim, rows: Sequence[Row]) -> list[Row]:
    """The rows that a claim is about: of its quantity and scope, of layers themselves, on the task's own data.

    Stand-ins count only if the claim names them, algorithms other than ``auto`` only if there is no ``auto``.
    """
    covered = [row for row in latest(rows) if row.subject == "layer" and claim.scope.covers(row)]
    metric = next((m for m in METRICS[claim.quantity] if any(row.metric == m for row in covered)), None)
    found = [row for row in covered if row.metric == metric]
    if claim.quantity == "score":
        real = [r for r in found if r.recipe and not r.recipe.shuffled and r.recipe.data != "stand-in"]
        return real if not claim.scope.named("data") else [r for r in found if r.recipe and not r.recipe.shuffled]
    chosen = [row for row in found if row.algorithm == "auto"]
    return chosen or found


def _pairs(claim: Claim, rows: Sequence[Row]) -> Iterator[Pair]:
    first, *others = claim.subjects
    for group in groups(rows):
        against = others or [
            Subject(name) for name in dict.fromkeys(r.layer for r in group.rows if r.layer != first.layer)
        ]
        for other in against:
            yield from pairs(group, first, other)


def _compared(claim: Claim, pair: Pair, criteria: Criteria) -> Finding | str:
    """The comparison; or why there is none."""
    found = measured(pair, claim.quantity)
    if isinstance(found, str):
        return found
    holds, fails = regions(claim, criteria, found.scale)
    figures = f"{found.figures}: {_shown(found.estimate, found.scale)}"
    basis = f"{found.size}, {found.estimate.test}, {pair.how}"
    where = (f"against {pair.theirs[0].layer}", *place(pair.setting), *size_words(pair))
    return Finding(where, found.estimate, holds, fails, figures, found.size, basis, (*pair.ours, *pair.theirs))


def _shown(estimate: Estimate, scale: Scale) -> str:
    """The value with its interval, where there is one; of an error more is better, as of all scores."""

    def text(x: float) -> str:
        match scale:
            case "points":
                return f"{100 * x:+.2f}"
            case "error":
                return f"{x:+.3g}"
        return f"x{math.exp(x):.3g}"

    value, low, high = estimate.interval()
    shown = text(value) + {"points": " points", "error": " in MSE, turned", "ratio": ""}[scale]
    if isinstance(estimate, Exact):
        return shown
    return f"{shown} [{text(low)} to {text(high)}]" if math.isfinite(high - low) else f"{shown}, no 95 % interval"


MACHINE = ("framework", "device", "threads", "dtype", "algorithm")
PLACE = ("task", "data", *MACHINE, "direction", "batch", "d_model", "seq_len")
"""Axes by which a place is told."""


def place(setting: dict[str, Any]) -> tuple[str, ...]:
    """Where a comparison was made, in a few words."""
    texts = {"batch": "batch {}", "d_model": "d_model {}", "seq_len": "length {:,}"}
    found = {name: setting[name] for name in PLACE if setting.get(name) not in (None, "real")}
    found |= {"threads": n.counted(found["threads"], "thread")} if "threads" in found else {}
    return tuple(texts.get(name, "{}").format(value) for name, value in found.items())


def _scalings(claim: Claim, rows: Sequence[Row], criteria: Criteria) -> Iterator[Finding]:
    """One exponent a setting with three lengths or more."""
    (subject,) = claim.subjects
    for group in groups([row for row in rows if row.layer == subject.layer and row.seq_len], "seq_len"):
        by_length = _by_length(group, subject, claim.quantity)
        if len(by_length) >= 3:
            yield _growth(claim, group, by_length, criteria)


def _by_length(group: Group, subject: Subject, quantity: Quantity) -> list[tuple[int, list[float]]]:
    rows = [row for size in sizes(group, subject) for row in size]
    lengths = sorted({row.seq_len or 0 for row in rows})
    found = [(length, values([row for row in rows if row.seq_len == length], quantity)) for length in lengths]
    return [(length, listed) for length, listed in found if listed]


def _growth(claim: Claim, group: Group, by_length: list[tuple[int, list[float]]], criteria: Criteria) -> Finding:
    found, (holds, fails) = growth(by_length), exponent_regions(claim, criteria)
    shown = found.interval()
    figures = f"exponent {n.significant(shown.median)} [{shown.low:.3g} to {shown.high:.3g}]"
    size = f"{sum(len(listed) for _, listed in by_length)} processes at {len(by_length)} lengths"
    where = (*place(group.setting), f"lengths {by_length[0][0]:,} to {by_length[-1][0]:,}")
    basis = f"{size}, {found.test}"
    return Finding(where, found, holds, fails, figures, size, basis, tuple(group.rows))


def _twins(claim: Claim, rows: Sequence[Row]) -> list[Finding] | Missing:
    """The largest gate error of each layer in both frameworks, over its bound; a failed gate is beyond it."""
    gated = [r for r in latest(rows) if claim.scope.covers(r) and r.subject == "layer" and _gate(r) is not None]
    found = []
    for subject in claim.subjects or [Subject(layer) for layer in dict.fromkeys(row.layer for row in gated)]:
        own = [row for row in gated if fits(row, subject)]
        if {row.framework for row in own} < {"torch", "jax"}:
            continue
        worst = max(own, key=lambda row: _gate(row) or 0.0)
        ratio = _gate(worst) or 1e-300
        figures = f"largest error {ratio:.1g} of its bound, in {worst.framework}"
        basis = "each against the oracle, before timing; rotbench verify holds them to each other"
        estimate, holds, fails = Exact(math.log(ratio)), (Region(high=0),), (Region(0),)
        found.append(Finding((str(subject),), estimate, holds, fails, figures, "a bound", basis, tuple(own)))
    who = f"{claim.subjects[0]} has not" if claim.subjects else "no layer has"
    return found or Missing(f"{who} passed or failed the gate in both frameworks", command_for(claim))


def _gate(row: Row) -> float | None:
    """The gate's error over its bound; infinite for a layer that failed it, None where there was no gate."""
    if row.status == "failed" and (row.reason or "").startswith("gate:"):
        return 1e300
    bound = TOLERANCES.get((row.dtype, row.precision))
    return row.gate_error / bound if row.gate_error is not None and bound else None
