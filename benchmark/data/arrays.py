"""Arrays in a folder, one .npy file each, and nested named tuples of arrays and floats as such, with dotted names.

No pickle: what a folder holds is said by its meta.json and is checked against it. At every reading that is the size
of each file and its header, and the checksum of files up to VERIFIED_BYTES, at 0.03 s each; ``rotbench data check``
compares all checksums.
"""

import json
import mmap
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from benchmark.data.files import sync

META = "meta.json"
VERIFIED_BYTES = 32 << 20
"""Files up to this size are read whole to compare their checksum each time they are opened."""
CHUNK_BYTES = 1 << 20
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
    described = {}
    for name, array in arrays.items():
        path = folder / f"{name}.npy"
        np.save(path, array, allow_pickle=False)
        sync(path)
        described[name] = _form(array) | {"size_bytes": path.stat().st_size, "crc32": checksum(path)}
    (folder / META).write_text(json.dumps(contents | {"arrays": described}, indent=1), encoding="utf-8")
    sync(folder / META)


def read_arrays(folder: Path, verified_bytes: float = VERIFIED_BYTES) -> Arrays:
    """The arrays as memory maps.

    Args:
        folder: that ``write_arrays`` filled.
        verified_bytes: the largest file whose checksum is compared; of all files form and size are.

    Raises:
        DamagedError: if one is missing or is not what meta.json says.
    """
    try:
        described = json.loads((folder / META).read_text(encoding="utf-8"))["arrays"]
        return {name: _read(folder / f"{name}.npy", said, verified_bytes) for name, said in described.items()}
    except KeyError as error:
        raise DamagedError(f"{META} lacks {error}") from None
    except (OSError, ValueError, TypeError, AttributeError, EOFError) as error:
        raise DamagedError(" ".join(str(error).split()) or type(error).__name__) from None


def _read(path: Path, said: dict[str, Any], verified_bytes: float) -> np.ndarray:
    empty = 0 in said["shape"]  # an empty file cannot be mapped
    found: np.ndarray = np.load(path, mmap_mode=None if empty else "r", allow_pickle=False)
    size_bytes = path.stat().st_size
    form = _form(found) | {"size_bytes": size_bytes}
    if form != (written := {name: said[name] for name in form}):
        raise DamagedError(f"{path.name} is {form}, not {written}")
    if size_bytes <= verified_bytes and checksum(path) != said["crc32"]:
        raise DamagedError(f"{path.name} has changed since it was written, by its checksum")
    return found


def _form(array: np.ndarray) -> dict[str, Any]:
    return {"dtype": array.dtype.str, "shape": list(array.shape)}


def checksum(path: Path) -> int:
    """The CRC-32 of a file: enough against accidents, and faster than a cryptographic sum."""
    found = 0
    with path.open("rb") as file:
        while data := file.read(CHUNK_BYTES):
            found = zlib.crc32(data, found)
    return found


def release(array: np.ndarray) -> None:
    """Give back the pages that reading a memory map has brought into this process; the system keeps them cached.

    Without it a process that reads a large array in random order ends with all of it resident.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and not array.flags.writeable and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)
