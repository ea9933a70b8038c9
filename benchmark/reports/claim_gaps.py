"""What is missing where a claim cannot be judged, and how to measure it."""

from collections.abc import Sequence

from benchmark.reports import numbers as n
from benchmark.reports.claim_grammar import Claim
from benchmark.reports.claim_options import settings
from benchmark.reports.evidence import Subject, fits, why_not
from benchmark.reports.measures import Quantity
from benchmark.spec.base import LARGEST
from benchmark.store.row import Row

METRICS: dict[Quantity, tuple[str, ...]] = {
    "time": ("speed",),
    "memory": ("memory", "speed"),
    "flops": ("speed", "memory"),
    "parameters": ("speed", "memory"),
    "score": ("train",),
}
"""Where each quantity is found: the first metric that has rows."""

TRAINED_AXES = frozenset({"framework", "device", "data", "batch", "d_model", "d_state", "threads"})
"""Axes of a claim that `rotbench train` takes; calls take all but the data."""

EXAMPLE_LENGTHS = (1024, 2048, 4096, 8192, 16384)
MOST_LENGTHS = 3
"""Lengths in a command for a claim that names a bound, not lengths."""


def why_missing(claim: Claim, found: Sequence[Row], rows: Sequence[Row]) -> str:
    """The nearest reason: nothing measured, not ended well, nothing comparable."""
    if claim.quantity == "score" and not found and any(claim.scope.covers(r) and r.metric == "train" for r in rows):
        return "only stand-in or shuffled data were trained on; the claim does not say so"
    absent = [str(subject) for subject in claim.subjects if not _own(claim, subject, found)]
    if absent:
        return f"no result of {' or '.join(sorted(absent))} for this"
    own = [_own(claim, subject, found) for subject in claim.subjects]
    if not all(any(row.status == "ok" for row in listed) for listed in own):
        failed = [row for listed in own for row in listed if row.status != "ok"]
        return "; ".join(f"{r.layer} at {n.count(r.seq_len)}: {r.status}" for r in failed[:4])
    if claim.kind == "scales":
        return "a scaling needs three lengths that differ in nothing else"
    return _not_comparable(claim, [row for row in found if row.status == "ok"])


def _own(claim: Claim, subject: Subject, rows: Sequence[Row]) -> list[Row]:
    """The rows of a subject: of a bare layer none that are of a variant which the claim names beside it."""
    named = [other for other in claim.subjects if other.options and other != subject]
    return [row for row in rows if fits(row, subject) and not any(fits(row, other) for other in named)]


def _not_comparable(claim: Claim, rows: Sequence[Row]) -> str:
    """In what the two rows that come nearest to each other differ."""
    first = claim.subjects[0]
    ours = _own(claim, first, rows)
    if len(claim.subjects) > 1:
        theirs = _own(claim, claim.subjects[1], rows)
    else:
        theirs = [row for row in rows if row.layer != first.layer]
    reasons = [why_not(a, b) for a in ours[:50] for b in theirs[:50]]
    if not reasons:
        return "no other layer was measured beside it"
    nearest = min(reasons, key=len)
    return f"no two rows may be compared; the nearest differ in {'; '.join(nearest[:3])}" if nearest else "no values"


def command_for(claim: Claim) -> str:
    """What would measure a claim: a command for each task, and for each of two variants of one layer."""
    tasks = (claim.scope.tasks or ("TASK",)) if claim.quantity == "score" else (None,)
    return "; ".join(_command(claim, subjects, task) for task in tasks for subjects in _together(claim))


def _together(claim: Claim) -> list[tuple[Subject, ...]]:
    """The subjects that one command can measure: two variants of one layer take two."""
    if len({subject.layer for subject in claim.subjects}) < len(claim.subjects):
        return [(subject,) for subject in claim.subjects]
    return [claim.subjects]


def _command(claim: Claim, subjects: Sequence[Subject], task: str | None) -> str:
    """One command, for trainings on a task or for calls."""
    open_to_all = claim.kind == "extreme" or not subjects
    layers = "all" if open_to_all else ",".join(subject.layer for subject in subjects)
    words = [f"rotbench train {task}" if task else f"rotbench {METRICS[claim.quantity][0]}", f"--layer {layers}"]
    words += [word for s in subjects for word in settings(s, alone=len(subjects) == 1 and not open_to_all)]
    words += ["--seeds 0:10"] if task else _lengths(claim)
    words += [f"--{name.replace('_', '-')} {','.join(values)}" for name, values in _axes(claim)]
    return " ".join([*words, *(["--replicates 3"] if claim.quantity == "memory" else [])])


def _axes(claim: Claim) -> list[tuple[str, tuple[str, ...]]]:
    """The axes that a command names; the twins agree only where both frameworks were measured."""
    if claim.quantity == "score":
        return [(name, values) for name, values in claim.scope.axes if name in TRAINED_AXES]
    found = dict(claim.scope.axes) | ({"framework": ("torch", "jax")} if claim.kind == "twins" else {})
    return [(name, values) for name, values in found.items() if name != "data"]


def _lengths(claim: Claim) -> list[str]:
    """The lengths that a claim names, or a few within its bounds; a scaling is of several in any case."""
    scope = claim.scope
    if scope.lengths:
        found: Sequence[int] = scope.lengths
    elif scope.shortest or scope.longest is not None:
        found = _within(max(1, scope.shortest), LARGEST if scope.longest is None else scope.longest)
    else:
        found = EXAMPLE_LENGTHS if claim.kind == "scales" else ()
    return [f"--seq-len {','.join(map(str, found))}"] if found else []


def _within(shortest: int, longest: int) -> list[int]:
    """Powers of 2 within bounds: from the lower one on if it is above 1, else up to the upper one."""
    powers = [1 << i for i in range(LARGEST.bit_length()) if shortest <= 1 << i <= longest]
    return (powers[:MOST_LENGTHS] if shortest > 1 else powers[-MOST_LENGTHS:]) or [shortest]
