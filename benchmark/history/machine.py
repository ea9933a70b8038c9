"""Which machine a result was measured on, told by what does not change from run to run.

No clock, load, host or user name is in it. Versions of Python and of frameworks stand apart
(``software``): an update is a reason for a step, not another machine.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from benchmark.store.row import Row

GIB = 1 << 30
UNKNOWN = "unknown"
ID_DIGITS = 8


@dataclass(frozen=True)
class Machine:
    """What decides a machine's speed, as far as it stays the same. Equal machines have equal ids."""

    cpu: str
    cores: int | None
    cpus: int | None
    memory_gib: int | None
    """The nearest of the sizes that memory comes in: 2^k and 3 * 2^k GiB."""
    system: str
    """Kernel and architecture, with the major version of the operating system where the row has it."""
    gpu: str | None = None

    @cached_property
    def id(self) -> str:
        """The first digits of a hash of all of it."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]

    @property
    def words(self) -> str:
        """In one line."""
        memory = f"{self.memory_gib} GiB" if self.memory_gib else f"memory {UNKNOWN}"
        parts = [self.gpu, self.cpu, f"{self.cpus or UNKNOWN} CPUs", memory, self.system]
        return ", ".join(part for part in parts if part)


def machine_of(row: Row) -> Machine:
    """The machine that a row was measured on; of a row on a GPU with that GPU's name."""
    gpu = str(row.detail.get("device_name", UNKNOWN)) if row.device != "cpu" else None
    return _machine(row.environment, gpu)


def this_machine(gpu: str | None = None) -> Machine:
    """The machine that this process runs on. Args: gpu, its name as rows have it, or None."""
    from benchmark.metrics.environment import environment

    return _machine(environment(), gpu)


def software(row: Row) -> dict[str, str]:
    """What may be updated on the machine: versions of Python, of the row's framework and of numpy."""
    versions = row.environment.get("versions", {})
    names = (row.framework, "jaxlib", "numpy") if row.framework == "jax" else (row.framework, "numpy")
    found = {name: str(versions[name]) for name in names if name in versions}
    python = row.environment.get("python")
    return ({"python": str(python)} if python else {}) | found


def _machine(record: Mapping[str, Any], gpu: str | None) -> Machine:
    memory = record.get("memory_bytes")
    return Machine(
        cpu=cpu_name(str(record.get("cpu") or UNKNOWN)),
        cores=record.get("cores"),
        cpus=record.get("cpus"),
        memory_gib=memory_class(memory) if memory else None,
        system=" ".join(str(record[name]) for name in ("system", "os") if record.get(name)) or UNKNOWN,
        gpu=gpu,
    )


def cpu_name(text: str) -> str:
    """A processor's name without the clock and the marks that not every kernel prints.

    >>> cpu_name("Intel(R) Xeon(R) CPU E5-2673 v4 @ 2.30GHz")
    'Intel Xeon E5-2673 v4'
    """
    text = re.sub(r"\((?:R|TM|tm)\)|@.*$|\bCPU\b|\bProcessor\b", " ", text)
    return " ".join(text.split()) or UNKNOWN


def memory_class(size_bytes: int) -> int:
    """The nearest size that memory is sold in, in GiB: a kernel keeps a part back, and not always as much.

    >>> memory_class(int(15.6 * 2**30)), memory_class(int(93.8 * 2**30)), memory_class(2**29)
    (16, 96, 1)
    """
    sizes = sorted(size for k in range(15) for size in (2**k, 3 * 2**k))
    return min(sizes, key=lambda size: abs(math.log(size_bytes / GIB / size)))
