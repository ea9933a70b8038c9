"""The points of a signal study as one flat table: FOLDER/signal/NAME.parquet."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmark.spec.errors import UserError
from benchmark.studies.signal_estimate import MOST_SKEW, Estimate

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

VERSION = 1
EXACT = "exact"
GAUSSIAN = "gaussian"


class Point(NamedTuple):
    """One quantity at one width and depth, exact or simulated. A null does not apply.

    ``subject``: gaussian, or a layer's name. ``source``: exact, torch or jax. ``quantity``: Q, S, V, the
    variance of the log energy of one vector over draws, or E, the energy of a layer's state per real coordinate.
    ``columns``: vectors that each matrix was averaged over. ``n``: width, of a layer the real state size.
    ``c``: depth over sqrt(n), of a feedforward network over n. ``log_value``: natural logarithm.
    """

    subject: str
    source: str
    quantity: str
    n: int
    depth: int
    log_value: float
    wiring: str | None = None
    ensemble: str | None = None
    columns: int | None = None
    c: float | None = None
    relative_se: float | None = None
    samples: int | None = None
    seed: int | None = None
    relative_sd: float | None = None
    effective_samples: float | None = None
    mean_skew: float | None = None

    @property
    def undersampled(self) -> bool:
        """Whether a simulation is too small for its mean or its standard error to be trusted."""
        return self.mean_skew is not None and self.mean_skew > MOST_SKEW


def measured(found: Estimate) -> dict[str, Any]:
    """The fields of a point that an estimate fills."""
    return {
        "log_value": math.log(found.mean),
        "relative_se": found.standard_error / found.mean,
        "samples": found.samples,
        "relative_sd": found.relative_sd,
        "effective_samples": found.effective_samples,
        "mean_skew": found.mean_skew,
    }


def schema() -> "pa.Schema":
    """The columns in Arrow's types."""
    import pyarrow as pa

    texts, wholes = (
        {"subject", "source", "quantity", "wiring", "ensemble"},
        {"n", "depth", "columns", "samples", "seed"},
    )
    kinds = [pa.string() if f in texts else pa.int64() if f in wholes else pa.float64() for f in Point._fields]
    return pa.schema(list(zip(Point._fields, kinds, strict=True)))


def write(folder: Path, points: Sequence[Point], settings: Mapping[str, Any]) -> Path:
    """Write the points as FOLDER/signal/HASH.parquet, whole or not at all; the hash is that of the settings.

    Raises:
        UserError: if it cannot be written.
    """
    import pyarrow as pa

    from benchmark.store.files import SIGNAL, write_table

    text = json.dumps({"version": VERSION, "settings": dict(settings)}, sort_keys=True)
    table = pa.Table.from_pylist([p._asdict() for p in points], schema=schema())
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    return write_table(folder / SIGNAL / f"{name}.parquet", table.replace_schema_metadata({"rotbench_signal": text}))


class Study(NamedTuple):
    """What one file holds. ``name`` is the hash of the settings, which are empty where the file has none."""

    name: str
    settings: dict[str, Any]
    points: list[Point]


def files(folders: Iterable[Path]) -> list[Path]:
    """The files of all studies below the folders, the latest last."""
    from benchmark.store.files import SIGNAL

    found = {path for folder in folders for path in folder.rglob(f"{SIGNAL}/*.parquet")}
    return sorted(found, key=lambda path: (path.stat().st_mtime, path))


def read(folders: Iterable[Path]) -> list[Point]:
    """The points of all studies below the folders, each once; the latest file wins. None without a study.

    Raises:
        UserError: for a file that holds no points.
    """
    found: dict[tuple[Any, ...], Point] = {}
    for path in files(folders):
        found |= {_identity(point): point for point in read_study(path).points}
    return list(found.values())


def studies(folders: Iterable[Path]) -> tuple[list[Study], list[tuple[Path, str]]]:
    """Each study once, as its latest file has it; and the files that cannot be read, with the reason."""
    found: dict[str, Study] = {}
    bad: list[tuple[Path, str]] = []
    for path in files(folders):
        try:
            found[path.stem] = read_study(path)
        except UserError as error:
            bad.append((path, str(error)))
    return list(found.values()), bad


def _identity(point: Point) -> tuple[Any, ...]:
    """All that says of what a point is, and not what was found."""
    return (*point[:5], *point[6:9])


def read_study(path: Path) -> Study:
    """One study from its file. Raises UserError if it holds none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path, page_checksum_verification=True).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path} must hold a signal study, but cannot be read: {error}; remove it") from None
    if missing := set(Point._fields) - set(table.column_names):
        raise UserError(f"{path} must hold a signal study, but has no {', '.join(sorted(missing))}; remove it")
    points = [Point(**{name: row[name] for name in Point._fields}) for row in table.to_pylist()]
    kept = json.loads((table.schema.metadata or {}).get(b"rotbench_signal", b"{}"))
    return Study(path.stem, kept.get("settings", {}), points)


def frame(points: Sequence[Point]) -> "pd.DataFrame":
    """The points as a data frame with their columns' names."""
    import pandas as pd

    return pd.DataFrame(points, columns=list(Point._fields))
