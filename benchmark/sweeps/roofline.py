"""The cells that measure a machine's ceilings."""

from typing import Any

from benchmark.spec.devices import DTYPES, PRECISIONS, parse_device
from benchmark.sweeps.cell import Cell
from benchmark.sweeps.config import Sweep
from benchmark.sweeps.grid import product
from benchmark.sweeps.plan import check_threads, each, framework_names

LAYER = "lru"
"""A cell needs a layer; a ceiling has none, and this one is never run."""


def roofline_cells(sweep: Sweep) -> list[Cell]:
    """One cell a framework, dtype and precision: matrix product and copy on the sweep's device and threads."""
    parse_device(sweep.device)
    threads = check_threads(sweep.threads)
    axes = product(
        framework=framework_names(sweep.framework),
        dtype=each("dtype", sweep.dtype, DTYPES),
        precision=each("precision", sweep.precision, PRECISIONS),
    )
    shared: dict[str, Any] = {
        "metric": "roofline",
        "layer": LAYER,
        "d_model": 1,
        "d_state": 1,
        "options": {},
        "batch": 1,
    }
    return [Cell(**shared, **values, device=sweep.device, threads=threads) for values in axes]
