"""Sentences that claim something of layers, read by a small grammar: docs/statistics.md has it with examples.

A sentence is only read as a claim if every word of it is understood. One that looks like a claim and
has words left over is listed as such, never judged by half.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from benchmark.metrics.inference import Side
from benchmark.reports.claim_options import fault
from benchmark.reports.claim_scope import Scope, take_scope
from benchmark.reports.claim_words import COMPARED, EMPTY, EXPONENTS, EXTREME, QUANTITIES, SUSPECT
from benchmark.reports.evidence import Subject
from benchmark.reports.measures import Quantity
from benchmark.reports.sentences import Sentence

Kind = Literal["compare", "extreme", "differ", "same", "scales", "twins"]


@dataclass(frozen=True)
class Claim:
    """What a sentence says.

    ``side``: whether the first subject's quantity is less or more than the others'; of a scaling,
    whether the exponent is the value (same), less or more. ``value``: the exponent of a scaling, or the
    factor in "2 times faster".
    """

    line: int
    text: str
    kind: Kind
    subjects: tuple[Subject, ...] = ()
    quantity: Quantity = "time"
    side: Side = "same"
    value: float | None = None
    scope: Scope = field(default_factory=Scope)


class Unclear(NamedTuple):
    """A sentence that looks like a claim but was not understood, and why."""

    line: int
    text: str
    why: str


VERB = (
    r"(?:is|are|was|were|runs|uses|needs|takes|requires|has|does|performs|trains to be|achieves|reaches|attains|"
    r"obtains|gets|gives|shows)"
)
FACTOR = r"(?:(?:at least )?(?P<factor>\d+(?:\.\d+)?) ?(?:x|times) )?"


def read(found: Iterable[Sentence], layers: Iterable[str], tasks: Iterable[str]) -> list[Claim | Unclear]:
    """The claims among some sentences, and those that look like claims but are not understood, in their order.

    Args:
        found: of a file.
        layers: names that are known.
        tasks: names that are known; ``listops`` also stands for ``lra-listops``.
    """
    known = tuple(layers), tuple(tasks)
    return [entry for sentence in found if (entry := _entry(sentence, *known)) is not None]


def _entry(sentence: Sentence, layers: tuple[str, ...], tasks: tuple[str, ...]) -> Claim | Unclear | None:
    text = sentence.text.lower()
    name = "|".join(sorted(map(re.escape, layers), key=len, reverse=True))
    about = re.search(rf"\b(?:{name}|twins)\b", text) or re.search(r"\btorch and jax\b", text)
    if not about or not SUSPECT.search(text):
        return None
    plain = re.sub(r"\b(?:significantly|clearly|consistently|statistically|always|also) ", "", text)
    for pattern, make in _patterns(rf"(?:the )?(?:{name})(?:\[[^\]]*\])?(?: layers?| models?)?"):
        if match := re.search(pattern, plain):
            rest = f"{plain[: match.start()]} {plain[match.end() :]}"
            return _finished(sentence, make(match.groupdict()), rest, tasks)
    return Unclear(*sentence, "no known form of claim")


def _finished(sentence: Sentence, parts: "Parts", rest: str, tasks: tuple[str, ...]) -> Claim | Unclear:
    """The claim, if the rest of the sentence says nothing but where it holds."""
    scope, left = take_scope(rest, tasks)
    words = re.sub(EMPTY, " ", left).split()
    wrong = [text for text in (" ".join(words), *map(fault, parts.subjects), scope.fault) if text]
    if wrong:
        return Unclear(*sentence, f"not understood: {wrong[0]}")
    if len(set(parts.subjects)) < len(parts.subjects):
        return Unclear(*sentence, "compares a layer with itself")
    if parts.kind == "compare" and parts.value is not None and not _is_factor(parts.value, parts.quantity):
        return Unclear(*sentence, "a factor must be above 1, and of a time, a memory or a count")
    quantity = parts.quantity or ("score" if scope.tasks else "time")
    return Claim(*sentence, parts.kind, parts.subjects, quantity, parts.side, parts.value, scope)


def _is_factor(value: float, quantity: Quantity | None) -> bool:
    return 1 < value < math.inf and quantity != "score"


class Parts(NamedTuple):
    """What the core of a sentence says."""

    kind: Kind
    subjects: tuple[Subject, ...]
    quantity: Quantity | None
    side: Side = "same"
    value: float | None = None


Groups = dict[str, str | None]


def _patterns(subject: str) -> "Iterable[tuple[str, Maker]]":
    """Each form of claim: a pattern of its core, and what makes parts of the groups that it found."""
    a, b, both = rf"\b(?P<a>{subject})", rf"(?P<b>{subject})(?![\w-])", rf"\b(?P<a>{subject}) and (?P<b>{subject})"
    for words, quantity, side in COMPARED:
        yield rf"{a} {VERB} (?:a )?{FACTOR}{words} than {b}", Maker("compare", quantity, side)
    for words, quantity, side in EXTREME:
        yield rf"{a} {VERB} (?:the )?{words}\b", Maker("extreme", quantity, side)
    yield rf"{a} (?:beats|outperforms) {b}", Maker("compare", "score", "more")
    what = rf"(?: in (?P<what>{'|'.join(QUANTITIES)})\b)?"
    yield rf"{both} differ\b{what}", Maker("differ")
    yield rf"{a} differs from {b}{what}", Maker("differ")
    yield rf"{both} are (?:equal|the same|tied)\b{what}", Maker("same")
    yield rf"{both} tie\b{what}", Maker("same")
    yield rf"{a} (?:matches|ties with) {b}{what}", Maker("same")
    for words, quantity in (("fast", "time"), ("accurate", "score")):
        yield rf"{both} are (?:equally|as) {words}\b", Maker("same", quantity)
        yield rf"{a} is as {words} as {b}", Maker("same", quantity)
    yield rf"{a} uses as much memory as {b}", Maker("same", "memory")
    growth = r"(?P<growth>linearly|quadratically|sub-?linearly|super-?linearly)"
    over = r"(?: in (?P<what>time|memory)\b)?(?: with (?:the )?(?:seq-len|length)\b)?"
    yield rf"{a} (?:scales|grows) {growth}{over}", Maker("scales")
    yield rf"\b(?:the )?(?:twins|torch and jax) agree\b(?: (?:on|for) (?P<a>{subject}))?", Maker("twins")


class Maker(NamedTuple):
    """Makes the parts of a claim from the groups of its pattern."""

    kind: Kind
    quantity: Quantity | None = None
    side: Side = "same"

    def __call__(self, groups: Groups) -> Parts:
        """Groups: a and b for subjects, factor, what, growth."""
        subjects = tuple(_subject(name) for key in ("a", "b") if (name := groups.get(key)))
        quantity = QUANTITIES[what] if (what := groups.get("what")) else self.quantity
        if growth := groups.get("growth"):
            value, side = EXPONENTS[growth.replace("-", "")]
            return Parts(self.kind, subjects, quantity or "time", side, value)
        factor = groups.get("factor")
        return Parts(self.kind, subjects, quantity, self.side, float(factor) if factor else None)


def _subject(text: str) -> Subject:
    """``rotrnn[normalizer=none]`` with or without article and noun."""
    bare = re.sub(r"^the | (?:layers?|models?)$", "", text)
    layer, _, options = bare.rstrip("]").partition("[")
    pairs = (word.partition("=") for word in options.split(",") if word.strip())
    return Subject(layer, tuple((name.strip(), _value(value.strip())) for name, _, value in pairs))


def _value(text: str) -> bool | int | float | str:
    if text in {"true", "false"}:
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
