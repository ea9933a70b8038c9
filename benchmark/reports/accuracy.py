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
            a.algorithm,
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
    missed = [a for a in found if not a.passed]
    notes.append(f"auto keeps {BOUND:g}: {'no' if missed else 'yes'}.")
    return Table("Accuracy of scans in float32", names, lines, frozenset(names[2:]), notes)
