"""What is missing where a claim cannot be judged, and how to measure it."""

from collections.abc import Sequence

from benchmark.reports import numbers as n
from benchmark.reports.claim_grammar import Claim
from benchmark.reports.evidence import why_not
from benchmark.reports.measures import Quantity
from benchmark.store.row import Row

METRICS: dict[Quantity, tuple[str, ...]] = {
    "time": ("speed",),
    "memory": ("memory", "speed"),
    "flops": ("speed", "memory"),
    "parameters": ("speed", "memory"),
    "score": ("train",),
}
"""Where each quantity is found: the first metric that has rows."""


def why_missing(claim: Claim, found: Sequence[Row], rows: Sequence[Row]) -> str:
    """The nearest reason: nothing measured, not ended well, nothing comparable."""
    names = {subject.layer for subject in claim.subjects}
    if claim.quantity == "score" and not found and any(claim.scope.covers(r) and r.metric == "train" for r in rows):
        return "only stand-in or shuffled data were trained on; the claim does not say so"
    absent = [name for name in names if not any(row.layer == name for row in found)]
    if absent:
        return f"no result of {' or '.join(sorted(absent))} for this"
    failed = [row for row in found if row.layer in names and row.status != "ok"]
    if failed and not all(any(r.layer == name and r.status == "ok" for r in found) for name in names):
        return "; ".join(f"{r.layer} at {n.count(r.seq_len)}: {r.status}" for r in failed[:4])
    if claim.kind == "scales":
        return "a scaling needs three lengths that differ in nothing else"
    return _not_comparable(claim, [row for row in found if row.status == "ok"])


def _not_comparable(claim: Claim, rows: Sequence[Row]) -> str:
    """In what the two rows that come nearest to each other differ."""
    first = claim.subjects[0].layer
    second = claim.subjects[1].layer if len(claim.subjects) > 1 else None
    ours = [row for row in rows if row.layer == first]
    theirs = [row for row in rows if row.layer == second or (second is None and row.layer != first)]
    reasons = [why_not(a, b) for a in ours[:50] for b in theirs[:50]]
    if not reasons:
        return "no other layer was measured beside it"
    nearest = min(reasons, key=len)
    return f"no two rows may be compared; the nearest differ in {'; '.join(nearest[:3])}" if nearest else "no values"


def command_for(claim: Claim) -> str:
    """What would measure a claim."""
    layers = ",".join(dict.fromkeys(s.layer for s in claim.subjects)) if len(claim.subjects) > 1 else "all"
    if claim.quantity == "score":
        return f"rotbench train {claim.scope.tasks[0] if claim.scope.tasks else 'TASK'} --layer {layers} --seeds 0:10"
    words = [
        f"rotbench {METRICS[claim.quantity][0]} --layer {claim.subjects[0].layer if claim.kind == 'scales' else layers}"
    ]
    if claim.scope.lengths or claim.kind == "scales":
        words.append(f"--seq-len {','.join(map(str, claim.scope.lengths)) or '1024:16384:x2'}")
    words += [f"--{k.replace('_', '-')} {','.join(v)}" for k, v in claim.scope.axes if k != "data"]
    return " ".join([*words, *(["--replicates 3"] if claim.quantity == "memory" else [])])
