"""Errors of the scans as a table."""

from collections.abc import Sequence

from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.verification.accuracy import BOUND, Accuracy


def accuracy_table(found: Sequence[Accuracy]) -> Table:
    """One line a framework, algorithm, length and modulus."""
    names = ["framework", "algorithm", "length", "|lam|", "states", "gradient of lam", "gradient of inputs"]
    names += ["rounding lam"]
    lines = [
        [
            a.framework,
            a.algorithm if a.algorithm == a.ran else f"{a.algorithm} = {a.ran}",
            n.count(a.seq_len),
            f"{a.modulus:g}",
            n.error(a.values),
            n.error(a.lam_gradient),
            n.error(a.input_gradient),
            n.error(a.rounding),
        ]
        for a in found
    ]
    notes = [
        "Relative errors by norm of float32 scans against complex128 with the very same coefficients. Rounding lam: "
        "what rounding the coefficients to float32 changes in the states by itself."
    ]
    notes += _verdicts(found)
    return Table("Accuracy of scans in float32", names, lines, frozenset(names[2:]), notes)


def _verdicts(found: Sequence[Accuracy]) -> list[str]:
    """Whether ``auto`` keeps its bound, a line for each of the algorithms that it stands for."""
    kept: dict[str, bool] = {}
    for a in found:
        if a.bound is not None:
            kept[a.ran] = kept.get(a.ran, True) and a.passed
    return [f"auto = {ran} keeps {BOUND:g}: {'yes' if good else 'no'}." for ran, good in kept.items()]
