"""The settings of a sweep: defaults, presets, a TOML file and the command line, and where each value came from.

Light to import, as the command line makes its options from ``Sweep``.
"""

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

PRESETS = ("quick", "cpu", "gpu", "paper")
CONFIG_FILE = Path("rotbench.toml")


def _words(value: Any) -> Any:
    """A single word or number is a list of one; numbers in TOML lists become words."""
    values = value if isinstance(value, list | tuple) else [value]
    return [str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item for item in values]


Words = Annotated[list[str], BeforeValidator(_words)]


class Sweep(BaseModel):
    """Axes, of which every combination is a cell, and the effort spent on each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layer: Words = Field(["all"], description="A layer, several, or all; see rotbench list.")
    framework: Words = Field(["all"], description="torch, jax, or all that are installed.")
    algorithm: Words = Field(
        ["auto"], description="auto, sequential, associative, chunked, fft, fused; for s4d vandermonde too."
    )
    seq_len: Words = Field(["1024"], description="Lengths: 1024, lists, ranges 1024:65536:x2 or 100:500:+100.")
    batch: Words = Field(["8"], description="Sequences at once.")
    d_model: Words = Field(["128"], description="Features.")
    d_state: Words = Field(["128"], description="State size in each paper's own meaning.")
    direction: Words = Field(["forward"], description="forward, forward+backward, step.")
    dtype: Words = Field(["float32"], description="float32, float64, bfloat16, float16.")
    device: str = Field("cpu", description="cpu, cuda, cuda:1.")
    compiled: Words = Field(["default"], description="default (torch eager, jax compiled), eager, compiled.")
    precision: Words = Field(["fp32"], description="Least precision of float32 matrix products: fp32, tf32, bf16.")
    cache: Words = Field(["hot"], description="hot, or cold: caches emptied before each sample.")
    mode: Words = Field(["latency"], description="latency: each call waited for; throughput: many calls at once.")
    threads: int = Field(0, description="Processors that a measured process may use; 0 for all.")
    settings: Words = Field([], alias="set", description="A layer option, as in heads=16 or s5.blocks=4; repeat it.")
    match: Literal["none", "state", "params", "flops", "time"] = Field(
        "none", description="Choose each layer's d_state so that this is equal: none, state, params, flops, time."
    )
    seed: int = Field(0, description="Of parameters and inputs.")
    replicates: int = Field(1, description="Repetitions of every cell, as cells of their own.")

    processes: int = Field(3, description="Fresh processes for each timed cell.")
    budget_s: float = Field(2.0, description="Seconds of sampling in each process, at most.")
    target: float = Field(0.01, description="Stop sampling when the median's interval is within this share of it.")
    timeout_s: float = Field(600.0, description="Seconds after which a process is killed.")
    memory_limit: str = Field("none", description="Of each process, as in 8GiB; none for no limit.")
    start: Literal["fork", "spawn"] = Field(
        "fork", description="Processes forked from one that has imported the framework, or spawned."
    )

    @classmethod
    def names(cls) -> list[str]:
        """The names of the settings, as a configuration file has them."""
        return [field.alias or name for name, field in cls.model_fields.items()]


class Resolved(NamedTuple):
    """A sweep's settings, and by name where each came from."""

    sweep: Sweep
    origins: dict[str, str]


def resolve(
    overrides: Mapping[str, Any],
    preset: str | None = None,
    file: Path | None = None,
    base: Mapping[str, Any] | None = None,
) -> Resolved:
    """Settings from all sources; the later win: defaults, ``base``, preset, file, ``overrides``.

    Args:
        overrides: from the command line, by name.
        preset: one of PRESETS.
        file: TOML with a table [sweep]; ``rotbench.toml`` of the working directory if None and there.
        base: defaults of a command that differ from the sweep's.

    Raises:
        UserError: for an unknown preset, a file that cannot be read, or a name or value that does not fit.
    """
    sources: list[tuple[str, Mapping[str, Any]]] = [("command", base or {})]
    if preset:
        sources.append((f"preset {preset}", read_preset(preset)))
    if file or CONFIG_FILE.exists():
        path = file or CONFIG_FILE
        sources.append((str(path), read_table(path.read_bytes() if _readable(path) else b"", str(path))))
    sources.append(("command line", overrides))
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Sweep.names(), "default")
    for origin, found in sources:
        for name, value in found.items():
            _check(name, value, origin)
            values[name], origins[name] = value, origin
    return Resolved(Sweep.model_validate(values), origins)


def _readable(path: Path) -> bool:
    from benchmark.spec.errors import UserError

    if not path.is_file():
        raise UserError(f"no configuration at {path}; name a TOML file with a table [sweep]")
    return True


def _check(name: str, value: Any, origin: str) -> None:
    """Raise UserError unless the setting exists and the value fits."""
    from benchmark.spec.errors import UserError, unknown

    if name not in Sweep.names():
        raise unknown(f"setting in {origin}", name, Sweep.names())
    try:
        Sweep.model_validate({name: value})
    except ValidationError as error:
        message = error.errors()[0]["msg"][0].lower() + error.errors()[0]["msg"][1:]
        raise UserError(f"{name} in {origin}: {message}, got {value!r}") from None


def read_preset(name: str) -> dict[str, Any]:
    """The settings of a preset that ships with the package."""
    from benchmark.spec.errors import unknown

    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    data = resources.files("benchmark.sweeps").joinpath(f"presets/{name}.toml").read_bytes()
    return read_table(data, f"preset {name}")


def read_table(data: bytes, origin: str) -> dict[str, Any]:
    """The table [sweep] of a TOML text. Raises UserError for a text that is none."""
    from benchmark.spec.errors import UserError

    try:
        text = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{origin} is not TOML: {error}") from None
    if "sweep" not in text and not any(isinstance(value, dict) for value in text.values()):
        raise UserError(f"{origin} has no table [sweep], in which settings stand")
    table = text.get("sweep", {})  # a file may hold those of other commands only
    if not isinstance(table, dict):
        raise UserError(f"{origin}: [sweep] must be a table")
    return table
