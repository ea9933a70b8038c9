"""Pickles of arrays from elsewhere, read without running anything that they name."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.spec.errors import UserError, short
from benchmark.tasks.paths import unlike

RECONSTRUCT: Any = np.empty(0).__reduce__()[0]

ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}
"""What it takes to put an array together, under the names that NumPy has had for it."""

FAULTS = (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
"""What pickle raises on a file that is cut or no pickle at all."""


class ArrayUnpickler(pickle.Unpickler):
    """Builds plain values and arrays; refuses every other name before it is imported."""

    def find_class(self, module: str, name: str) -> Any:
        """The allowed object of that name. Raises UserError for any other."""
        if (module, name) not in ALLOWED:
            raise UserError(f"a pickle may hold arrays alone, got one that names {short(f'{module}.{name}')}")
        return ALLOWED[module, name]


def load_arrays(path: Path) -> dict[bytes, Any]:
    """The dictionary in a pickle written by Python 2, its strings as bytes.

    Raises:
        UserError: if it names anything but arrays, is cut, or holds no dictionary.
    """
    with path.open("rb") as file:
        try:
            found = ArrayUnpickler(file, encoding="bytes").load()
        except UserError as error:
            raise UserError(f"{path}: {error}; do not use this file, get the archive again") from None
        except FAULTS as error:
            raise UserError(unlike(path, "a pickle", f"a file that is cut or of another format ({error})")) from None
    if not isinstance(found, dict):
        raise UserError(unlike(path, "a pickled dictionary", type(found).__name__))
    return found
