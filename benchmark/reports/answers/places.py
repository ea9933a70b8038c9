"""Where a comparison was made, in few words, and in words that tell it from the others."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmark.reports.answers.contrasts import Contrast

TEXTS = {
    "task": "{}",
    "data": "{} data",
    "framework": "{}",
    "device": "{}",
    "threads": "{} threads",
    "dtype": "{}",
    "algorithm": "algorithm {}",
    "direction": "{}",
    "batch": "batch {}",
    "seq_len": "length {:,}",
    "recipe": "{}",
}
"""Parts of a setting that are told, in their order; what is everyone's default is not."""

USUAL: dict[str, Any] = {"dtype": "float32", "algorithm": "auto"}


def place(setting: dict[str, Any]) -> tuple[str, ...]:
    """The words for a setting (``evidence.setting``). Stand-in data are in capitals."""
    found = {name: value for name in TEXTS if (value := setting.get(name)) not in (None, USUAL.get(name))}
    if setting.get("device") != "cpu" and setting.get("device name"):
        found["device"] = setting["device name"]
    if found.get("data") == "stand-in":
        found["data"] = "STAND-IN"
    if str(found.get("recipe", "")).startswith("{"):
        found["recipe"] = "recipe of its own"
    return tuple(TEXTS[name].format(value) for name, value in found.items())


def told_apart(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """The contrasts, each with what tells it from others that would read alike: code, versions, precision, ..."""
    alike: dict[tuple[str, ...], list[Contrast]] = {}
    for entry in contrasts:
        alike.setdefault((entry.unit, entry.ours, entry.theirs, *entry.place), []).append(entry)
    return [_with_differences(entry, alike[entry.unit, entry.ours, entry.theirs, *entry.place]) for entry in contrasts]


def _with_differences(entry: Contrast, others: Sequence[Contrast]) -> Contrast:
    if len(others) < 2:
        return entry
    names = [name for name in entry.setting if len({str(other.setting.get(name)) for other in others}) > 1]
    return replace(entry, place=(*entry.place, *(f"{name} {str(entry.setting[name])[:40]}" for name in names)))


def shared(places: Sequence[tuple[str, ...]]) -> tuple[list[str], list[list[str]]]:
    """The words that all places have, and what each has beside them.

    >>> shared([("jax", "length 1,024"), ("jax", "length 2,048")])
    (['jax'], [['length 1,024'], ['length 2,048']])
    """
    if not places:
        return [], []
    common = [word for word in places[0] if all(word in other for other in places)]
    return common, [[word for word in own if word not in common] for own in places]
