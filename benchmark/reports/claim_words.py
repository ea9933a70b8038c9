"""The words of claims: patterns, lower case, and what each compares."""

import re

from benchmark.metrics.inference import Side
from benchmark.reports.measures import Quantity

SCORES = r"(?:test )?(?:scores?|accurac(?:y|ies))"

COMPARED: tuple[tuple[str, Quantity, Side], ...] = (
    (r"(?:faster|quicker)", "time", "less"),
    (r"slower", "time", "more"),
    (rf"(?:(?:better|higher) {SCORES}|better|more accurate)", "score", "more"),
    (rf"(?:(?:worse|lower) {SCORES}|worse|less accurate)", "score", "less"),
    (r"less memory", "memory", "less"),
    (r"more memory", "memory", "more"),
    (r"less time", "time", "less"),
    (r"more time", "time", "more"),
    (r"(?:fewer|less) (?:flops|operations)", "flops", "less"),
    (r"more (?:flops|operations)", "flops", "more"),
    (r"fewer parameters", "parameters", "less"),
    (r"more parameters", "parameters", "more"),
)
"""Comparative, what it compares, and on which side it puts the first layer."""

EXTREME: tuple[tuple[str, Quantity, Side], ...] = (
    (r"(?:fastest|quickest)", "time", "less"),
    (r"slowest", "time", "more"),
    (rf"(?:(?:best|highest) {SCORES}|best|most accurate)", "score", "more"),
    (rf"(?:(?:worst|lowest) {SCORES}|worst|least accurate)", "score", "less"),
    (r"least memory", "memory", "less"),
    (r"most memory", "memory", "more"),
    (r"(?:fewest|least) (?:flops|operations)", "flops", "less"),
    (r"most (?:flops|operations)", "flops", "more"),
    (r"(?:fewest|least) parameters", "parameters", "less"),
    (r"most parameters", "parameters", "more"),
)

QUANTITIES: dict[str, Quantity] = {
    "time": "time",
    "speed": "time",
    "memory": "memory",
    "flops": "flops",
    "parameters": "parameters",
    "accuracy": "score",
    "score": "score",
}

EXPONENTS: dict[str, tuple[float, Side]] = {
    "linearly": (1.0, "same"),
    "quadratically": (2.0, "same"),
    "sublinearly": (1.0, "less"),
    "superlinearly": (1.0, "more"),
}

EMPTY = (
    r"\b(?:the|a|an|is|are|in|on|at|for|with|and|of|both|here|there|also|layers?|models?|significantly|clearly|"
    r"consistently|statistically|always|all|every|any|among|over|task|we (?:find|show|see) that)\b|[(),.:!;]"
)
"""Words that change nothing that is judged: what is claimed is judged wherever it was measured, and by significance."""

SUSPECT = re.compile(
    r"\b(?:faste[rs]t?|slowe[rs]t?|quicke[rs]t?|best|worst|better|worse|high(?:er|est)|low(?:er|est)|fewe[rs]t?|less|least|more|most|beats?|"
    r"outperforms?|differs?|scales?|grows?|equal(?:ly)?|same|as \w+ as|match(?:es)?|tie[sd]?|agree|twins)\b"
)
