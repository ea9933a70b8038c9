"""Where a comparison was made, in few words."""

from collections.abc import Callable, Sequence
from typing import Any

from benchmark.reports import numbers as n

TEXTS: dict[str, Callable[[Any], str]] = {
    "task": str,
    "data": "{} data".format,
    "framework": str,
    "device": str,
    "threads": lambda count: n.counted(count, "thread"),
    "dtype": str,
    "algorithm": "algorithm {}".format,
    "direction": str,
    "batch": "batch {}".format,
    "seq_len": "length {:,}".format,
    "recipe": str,
}
"""Parts of a setting that are told, in their order; what is everyone's default is not."""

USUAL: dict[str, Any] = {"dtype": "float32", "algorithm": "auto"}


def place(setting: dict[str, Any], recipe: str = "") -> tuple[str, ...]:
    """The words for a setting (``evidence.setting``). Stand-in data are in capitals.

    Args:
        setting: what all rows agree in.
        recipe: in words, where it is none of a preset's.
    """
    found = {name: value for name in TEXTS if (value := setting.get(name)) not in (None, USUAL.get(name))}
    if setting.get("device") != "cpu" and setting.get("device name"):
        found["device"] = setting["device name"]
    if found.get("data") == "stand-in":
        found["data"] = "STAND-IN"
    if str(found.get("recipe", "")).startswith("{"):
        found["recipe"] = f"own recipe: {recipe}" if recipe else "own recipe"
    return tuple(TEXTS[name](value) for name, value in found.items())


def shared(places: Sequence[tuple[str, ...]]) -> tuple[list[str], list[list[str]]]:
    """The words that all places have, and what each has beside them.

    >>> shared([("jax", "length 1,024"), ("jax", "length 2,048")])
    (['jax'], [['length 1,024'], ['length 2,048']])
    """
    if not places:
        return [], []
    common = [word for word in places[0] if all(word in other for other in places)]
    return common, [[word for word in own if word not in common] for own in places]
