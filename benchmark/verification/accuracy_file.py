"""The errors of scans as one flat table: FOLDER/scan-accuracy/NAME.parquet."""

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark.verification.accuracy import Accuracy

VERSION = 1


def write(folder: Path, found: Sequence[Accuracy], device: str) -> Path:
    """Write the errors, whole or not at all; a later run of the same scans takes the file's place.

    Args:
        folder: of results.
        found: the errors.
        device: that the scans ran on.

    Returns:
        The file's path. Its metadata hold, as JSON under ``rotbench_scan_accuracy``, versions and machine.

    Raises:
        UserError: if it cannot be written.
    """
    import pyarrow as pa

    from benchmark.metrics.environment import environment
    from benchmark.store.files import SCAN_ACCURACY, write_table

    asked = [[device], *sorted({(a.framework, a.seq_len) for a in found})]
    name = hashlib.sha256(json.dumps([VERSION, *asked]).encode()).hexdigest()[:16]
    kept = {"version": VERSION, "device": device, "environment": environment()}
    table = pa.Table.from_pylist([a._asdict() | {"device": device} for a in found])
    told = table.replace_schema_metadata({"rotbench_scan_accuracy": json.dumps(kept)})
    return write_table(folder / SCAN_ACCURACY / f"{name}.parquet", told)


def as_json(found: Sequence[Accuracy]) -> list[dict[str, Any]]:
    """The errors as JSON values with their bounds and verdicts; an error that is no finite number is null."""
    return [
        {name: _finite(value) for name, value in a._asdict().items()} | {"bound": a.bound, "passed": a.passed}
        for a in found
    ]


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
