"""Makes a cell's call so many times and measures nothing: ``... benchmark.sweeps.calls CELL N``. For counters.

One thread, so that what waiting threads spin through is not counted. Prints the algorithm that ran.
"""

import sys

from benchmark import backends
from benchmark.sweeps import gate
from benchmark.sweeps.cell import Cell


def main() -> None:
    """Args, from the command line: the cell as JSON, and the number of calls."""
    cell, calls = Cell.model_validate_json(sys.argv[1]), int(sys.argv[2])
    device = backends.device(cell.framework)
    device.set_threads(cell.threads)
    device.set_precision(cell.precision, cell.device)
    spec, direction = cell.spec, cell.direction or "forward"
    algorithm = cell.algorithm
    if direction != "step":
        algorithm = device.resolve_call(spec, algorithm, cell.device, cell.compiled, cell.seq_len)
    call = device.prepare(
        spec,
        spec.init(cell.seed),
        gate.inputs(spec, direction, cell.batch, cell.seq_len or 1, cell.seed, cell.dtype, cell.subject),
        direction=cell.direction,
        algorithm=algorithm,
        device=cell.device,
        dtype=cell.dtype,
        compiled=cell.compiled,
        subject=cell.subject,
    )
    for _ in range(calls):
        device.synchronise(call.run())
    print(algorithm)


if __name__ == "__main__":
    main()
