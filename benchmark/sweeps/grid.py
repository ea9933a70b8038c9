"""The grammar of axes on the command line: lists, and ranges such as 1024:65536:x2."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmark.spec.base import LARGEST
from benchmark.spec.errors import UserError, short

LONGEST_RANGE, MOST_CELLS = 10_000, 200_000


def words(values: Iterable[str]) -> list[str]:
    """Repeated and comma-separated values as one list without repeats, in order.

    >>> words(["lru,s5", "lru"])
    ['lru', 's5']
    """
    return list(dict.fromkeys(word.strip() for value in values for word in value.split(",") if word.strip()))


def numbers(name: str, values: Iterable[str]) -> list[int]:
    """Positive integers from lists and ranges start:stop:xFACTOR or start:stop:+STEP, stop included.

    >>> numbers("seq-len", ["1024:8192:x2", "10:30:+10", "7,1024"])
    [1024, 2048, 4096, 8192, 10, 20, 30, 7]

    Raises:
        UserError: for anything else, naming the axis.
    """
    found = [number for word in words(values) for number in _expand(name, word)]
    if not found:
        raise UserError(f"{name} needs at least one number, such as 1024 or 1024:65536:x2")
    return list(dict.fromkeys(found))


def _expand(name: str, word: str) -> list[int]:
    parts = word.split(":")
    if len(parts) == 1:
        return [_positive(name, word, word)]
    if len(parts) != 3 or parts[2][:1] not in {"x", "+"}:
        raise UserError(f"{name}: a range reads start:stop:xFACTOR or start:stop:+STEP, got {short(word)}")
    start, stop, step = (_positive(name, part, word) for part in (parts[0], parts[1], parts[2][1:]))
    if stop < start or (parts[2][0] == "x" and step < 2):
        raise UserError(f"{name}: a range must rise, by a factor of 2 or more or by a step, got {short(word)}")
    result = [start]
    while (following := result[-1] * step if parts[2][0] == "x" else result[-1] + step) <= stop:
        result.append(following)
        if len(result) > LONGEST_RANGE:
            raise UserError(f"{name}: {short(word)} has more than {LONGEST_RANGE:,} values; take a larger step")
    return result


def _positive(name: str, text: str, word: str) -> int:
    """The number that a text stands for, from 1 to LARGEST."""
    if text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= LARGEST:
        return int(text)
    if text == word:
        raise UserError(
            f"{name} must be a positive integer up to {LARGEST:,}, or a range such as 1024:65536:x2, got {short(word)}"
        )
    raise UserError(f"{name}: {short(text)} in {short(word)} is not a positive integer up to {LARGEST:,}")


def seeds(values: Iterable[str]) -> list[int]:
    """Numbers from 0, by lists and half-open ranges.

    >>> seeds(["0:3", "7,1"])
    [0, 1, 2, 7]

    Raises:
        UserError: for anything else.
    """
    found: dict[int, None] = {}
    for word in words(values):
        first, colon, stop = word.partition(":")
        ends = [first, stop] if colon else [first]
        if not all(end.isascii() and end.isdigit() and len(end) < 11 for end in ends):
            raise UserError(f"seeds read 0, 0,1,2 or 0:5 for the first five, got {short(word)}")
        low, high = int(first), int(stop) if colon else int(first) + 1
        if not 0 < high - low <= LONGEST_RANGE:
            raise UserError(f"seeds: {short(word)} must name between 1 and {LONGEST_RANGE:,} seeds, as 0:5 does")
        found |= dict.fromkeys(range(low, high))
    if not found:
        raise UserError("seeds needs at least one number, such as 0 or 0:5")
    return list(found)


def options(
    layers: Sequence[str], known: Mapping[str, Iterable[str]], settings: Iterable[str]
) -> dict[str, dict[str, bool | int | float | str]]:
    """``--set`` words such as heads=16 or s5.blocks=4, by layer.

    A bare name goes to every layer that has it. ``known`` lists each layer's options.

    Raises:
        UserError: for a word without =, a layer that is not asked for, or a name that no layer has.
    """
    result: dict[str, dict[str, bool | int | float | str]] = {layer: {} for layer in layers}
    for setting in settings:
        path, found, text = setting.partition("=")
        if not found:
            raise UserError(f"--set reads name=value or layer.name=value, got {short(setting)}")
        prefix, dot, name = path.strip().rpartition(".")
        takers = [layer for layer in layers if (layer == prefix if dot else name in known[layer])]
        if not takers or not all(name in known[layer] for layer in takers):
            names = sorted({f"{layer}.{option}" for layer in layers for option in known[layer]})
            raise UserError(f"--set: no option {path.strip()!r} in what is asked for; known: {', '.join(names)}")
        for layer in takers:
            result[layer][name] = _value(text.strip())
    return result


def _value(text: str) -> bool | int | float | str:
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def product(**axes: Iterable[Any]) -> list[dict[str, Any]]:
    """Every combination of the axes' values, the last axis fastest. Raises UserError where they are too many."""
    lists = {name: list(values) for name, values in axes.items()}
    if (total := math.prod(map(len, lists.values()))) > MOST_CELLS:
        raise UserError(f"these axes make {total:,} cells, more than {MOST_CELLS:,}; take fewer values")
    return [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
