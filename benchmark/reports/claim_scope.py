"""Where a claim is said to hold: lengths, directions, devices, tasks and other axes, found in words."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmark.spec.base import LARGEST
from benchmark.store.row import Row

NUMBER = r"\d[\d,]*"
LENGTH = r"(?:seq[-_ ]?len(?:gth)?s?|(?:sequence )?lengths?|l)"

AXES: tuple[tuple[str, str, str | None], ...] = (
    (r"forward ?\+ ?backward|forward and backward|training steps?", "direction", "forward+backward"),
    (r"forward(?: pass(?:es)?)?", "direction", "forward"),
    (r"decoding|decode|single steps?", "direction", "step"),
    (r"pytorch|torch", "framework", "torch"),
    (r"jax", "framework", "jax"),
    (r"cpus?", "device", "cpu"),
    (r"cuda|gpus?", "device", "cuda"),
    (r"float32|float64|bfloat16|float16", "dtype", None),
    (r"eager|compiled", "compiled", None),
    (r"real data", "data", "real"),
    (r"generated data", "data", "generated"),
    (r"stand-in data", "data", "stand-in"),
)
"""Words, the axis they speak of, and its value; the word itself where that is None."""

NUMBERED = ("batch", "d_model", "d_state", "threads")


@dataclass(frozen=True)
class Scope:
    """The rows a claim is about. Of an axis that is not named, it must hold for every value that was measured."""

    axes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    lengths: tuple[int, ...] = ()
    shortest: int = 0
    longest: int | None = None
    tasks: tuple[str, ...] = ()

    def covers(self, row: Row) -> bool:
        """Whether a row is within it."""
        return all(_axis(row, name) in allowed for name, allowed in self.axes) and self._covers_length(row)

    def _covers_length(self, row: Row) -> bool:
        if self.tasks and row.task not in self.tasks:
            return False
        length = row.seq_len or 0
        if self.lengths and length not in self.lengths:
            return False
        return self.shortest <= length and (self.longest is None or length <= self.longest)

    @property
    def fault(self) -> str:
        """Why no row could ever be within it, for its numbers; empty if one could."""
        given = [*self.lengths, self.shortest or 1, LARGEST if self.longest is None else self.longest]
        given += [_whole(value) for name, values in self.axes if name in NUMBERED for value in values]
        if not all(1 <= number <= LARGEST for number in given):
            return f"lengths and sizes must lie between 1 and {LARGEST:,}"
        if self.longest is not None and self.shortest > self.longest:
            return f"no length lies between {self.shortest:,} and {self.longest:,}"
        return ""

    def named(self, name: str) -> tuple[str, ...]:
        """The values of an axis that are named; none if it is not."""
        return dict(self.axes).get(name, ())


def _whole(digits: str) -> int:
    """The number that is written, which may have commas; of absurdly many digits only that it is too large."""
    digits = digits.replace(",", "")
    return int(digits) if len(digits) <= len(str(LARGEST)) + 9 else LARGEST + 1


def _axis(row: Row, name: str) -> str:
    match name:
        case "device":
            return row.device.partition(":")[0]
        case "data":
            return row.recipe.data if row.recipe else ""
    return str(getattr(row, name))


def take_scope(text: str, tasks: Iterable[str]) -> tuple[Scope, str]:
    """The scope that some words name, and the words that name none."""
    axes: dict[str, list[str]] = {}
    bounds: dict[str, list[int]] = {}
    text, named = _taken_tasks(text, tuple(tasks))
    text = _taken_lengths(text, bounds)
    for name in NUMBERED:
        words = name.replace("_", "[-_ ]")
        text = _take(rf"\b{words}(?: size)?\s*(?:=|of)?\s*({NUMBER})", text, _into(axes, name))
        if name == "threads":
            text = _take(rf"\b({NUMBER}) threads?\b", text, _into(axes, name))
    for words, name, value in AXES:
        text = _take(rf"(?<![\w-])({words})(?![\w-])", text, _into(axes, name, value))
    limits = {name: values[0] for name, values in bounds.items() if name != "lengths"}
    found = tuple((name, tuple(values)) for name, values in axes.items())
    return Scope(found, tuple(bounds.get("lengths", ())), tasks=named, **limits), text


def _into(axes: dict[str, list[str]], name: str, value: str | None = None) -> Callable[[re.Match[str]], None]:
    return lambda match: axes.setdefault(name, []).append(value or match.group(1).replace(",", ""))


def _take(pattern: str, text: str, use: Callable[[re.Match[str]], None]) -> str:
    """Use every match, and return the text without them."""
    for match in re.finditer(pattern, text):
        use(match)
    return re.sub(pattern, " ", text)


def _taken_tasks(text: str, tasks: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Longest names first, so that no name is taken for a part of another."""
    full = {task.partition("-")[2]: task for task in tasks if task.startswith("lra-")} | {task: task for task in tasks}
    found: list[str] = []
    for name in sorted(filter(None, full), key=len, reverse=True):
        pattern = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        if re.search(pattern, text):
            found.append(full[name])
            text = re.sub(pattern, " ", text)
    return text, tuple(sorted(set(found)))


def _taken_lengths(text: str, bounds: dict[str, list[int]]) -> str:
    """``at seq-len 1024 and 2048``, ``from length 1024 to 4096``, ``above length 1024``, ``up to seq-len 4096``."""

    def add(name: str, more: int = 0) -> Callable[[re.Match[str]], None]:
        def use(match: re.Match[str]) -> None:
            numbers = [_whole(word) + more for word in re.findall(NUMBER, match.group())]
            bounds.setdefault(name, []).extend(numbers)

        return use

    def add_range(match: re.Match[str]) -> None:
        low, high = (_whole(word) for word in re.findall(NUMBER, match.group()))
        bounds["shortest"], bounds["longest"] = [low], [high]

    mark = rf"\b{LENGTH}\s*(?:=|of)?\s*"
    text = _take(rf"\bfrom {mark}{NUMBER} to {NUMBER}|\b{LENGTH} from {NUMBER} to {NUMBER}", text, add_range)
    bounded = (("above|beyond|over", "shortest", 1), ("below|under", "longest", -1), ("up to", "longest", 0))
    for words, name, more in bounded:
        text = _take(rf"\b(?:{words}) {mark}{NUMBER}|{mark}(?:{words}) {NUMBER}", text, add(name, more))
    text = _take(rf"\bfrom {mark}{NUMBER}|{mark}{NUMBER} (?:and|or) (?:above|more|longer)", text, add("shortest"))
    return _take(rf"{mark}{NUMBER}(?:(?:, | and |, and ){NUMBER})*\b", text, add("lengths"))
