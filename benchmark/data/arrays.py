"""Arrays in a folder, one .npy file each, and nested named tuples of arrays and floats as such, with dotted names.

No pickle: what a folder holds is said by its meta.json and is checked against it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from benchmark.data.files import sync

META = "meta.json"
Arrays = dict[str, np.ndarray]


class DamagedError(Exception):
    """A folder does not hold what its meta.json says."""


def flatten(value: Any, name: str = "") -> Arrays:
    """The arrays in nested named tuples and mappings; a float becomes one, None is left out.

    >>> from benchmark.tasks.base import Affine
    >>> list(flatten({"a": Affine(np.zeros(1), np.ones(1)), "b": None}))
    ['a.mean', 'a.sd']
    """
    if value is None:
        return {}
    if isinstance(value, np.ndarray | float):
        return {name: np.asarray(value)}
    children = value.items() if isinstance(value, Mapping) else value._asdict().items()
    return {k: v for key, child in children for k, v in flatten(child, f"{name}.{key}" if name else key).items()}


def assemble(hint: Any, arrays: Arrays) -> Any:
    """What ``flatten`` took apart, put together again.

    Args:
        hint: the type: an array, a float, a named tuple or a mapping of such, or one of these or None.
        arrays: by dotted name.

    Raises:
        DamagedError: if an array is missing.
    """
    if NoneType in get_args(hint):
        (inner,) = set(get_args(hint)) - {NoneType}
        return assemble(inner, arrays) if arrays else None
    if get_origin(hint) is Mapping:
        names = dict.fromkeys(name.partition(".")[0] for name in arrays)
        return {name: assemble(get_args(hint)[1], _below(arrays, name)) for name in names}
    if hasattr(hint, "_fields"):
        return hint(**{name: assemble(inner, _below(arrays, name)) for name, inner in get_type_hints(hint).items()})
    if "" not in arrays:
        raise DamagedError("an array is missing")
    return float(arrays[""]) if hint is float else arrays[""]


def _below(arrays: Arrays, name: str) -> Arrays:
    """The arrays of one field, without its name."""
    return {key.removeprefix(name).removeprefix("."): a for key, a in arrays.items() if key.partition(".")[0] == name}


def write_arrays(folder: Path, arrays: Arrays, contents: dict[str, Any]) -> None:
    """Write arrays and, as the last, meta.json; all have reached the disk then. ``contents`` go into it too."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
        sync(folder / f"{name}.npy")
    described = {name: _description(array) for name, array in arrays.items()}
    (folder / META).write_text(json.dumps(contents | {"arrays": described}, indent=1), encoding="utf-8")
    sync(folder / META)


def read_arrays(folder: Path) -> Arrays:
    """The arrays as memory maps. Raises DamagedError if one is missing or is not what meta.json says."""
    try:
        described = json.loads((folder / META).read_text(encoding="utf-8"))["arrays"]
        return {name: _read(folder / f"{name}.npy", said) for name, said in described.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise DamagedError(" ".join(str(error).split()) or type(error).__name__) from None


def _read(path: Path, said: dict[str, Any]) -> np.ndarray:
    empty = 0 in said["shape"]  # an empty file cannot be mapped
    found: np.ndarray = np.load(path, mmap_mode=None if empty else "r", allow_pickle=False)
    if _description(found) != said:
        raise DamagedError(f"{path.name} is {_description(found)}, not {said}")
    return found


def _description(array: np.ndarray) -> dict[str, Any]:
    return {"dtype": array.dtype.str, "shape": list(array.shape)}
