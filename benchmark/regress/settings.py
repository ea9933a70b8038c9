"""The table [gate] of rotbench.toml: thresholds, and regressions that are expected until a day."""

import math
import tomllib
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from benchmark.backends import FRAMEWORKS
from benchmark.regress.conditions import check_allowed
from benchmark.regress.decision import ALPHA
from benchmark.regress.quantities import QUANTITIES, Quantity
from benchmark.spec import LAYERS
from benchmark.spec.errors import UserError, unknown
from benchmark.store.row import Row
from benchmark.sweeps.config import CONFIG_FILE


def share(value: Any) -> Any:
    """A share from 0.05 or "5%"; from 1 on only as a percentage, as a bare 5 is more often meant as 5 %.

    >>> share("5%"), share(0.05), share("150%")
    (0.05, 0.05, 1.5)
    """
    text = value.strip() if isinstance(value, str) else value
    percent = isinstance(text, str) and text.endswith("%")
    try:
        number = float(text.removesuffix("%")) if isinstance(text, str) else text
    except ValueError:
        raise ValueError('must be a share such as "5%" or 0.05') from None
    if percent:
        return number / 100
    if isinstance(number, int | float) and number >= 1:
        raise ValueError('must be less than 1, or a percentage such as "150%"')
    return number


Share = Annotated[float, BeforeValidator(share), Field(gt=0, lt=math.inf)]
Level = Annotated[float, BeforeValidator(share), Field(gt=0, lt=1)]
Frozen = ConfigDict(extra="forbid", frozen=True)


class Expectation(BaseModel):
    """A regression that is known and accepted until a day; what it does not name it does not care about."""

    model_config = Frozen

    until: date
    reason: str = Field(min_length=1)
    metric: str | None = None
    layer: str | None = None
    framework: str | None = None
    cell: str | None = Field(None, min_length=4)
    at_most: Share | None = None

    def fits(self, row: Row, quantity: Quantity) -> bool:
        """Whether a cell's regression is the one that is meant."""
        named = (self.metric, self.layer, self.framework)
        own = (quantity.name, row.layer, row.framework)
        here = all(name is None or name == value for name, value in zip(named, own, strict=True))
        return here and (self.cell is None or row.cell_id.startswith(self.cell))


class GateSettings(BaseModel):
    """How much worse is too much, and what may be worse. The narrowest threshold holds: cell, layer, metric, all."""

    model_config = Frozen

    fail_on: Share = 0.05
    alpha: Level = ALPHA
    metrics: dict[str, Share] = {}
    layers: dict[str, Share] = {}
    cells: dict[str, Share] = {}
    allow_different: list[str] = []
    expect_regression: list[Expectation] = []

    def threshold(self, row: Row, quantity: Quantity) -> float:
        """The share by which this cell must not become worse."""
        if starts := [start for start in self.cells if row.cell_id.startswith(start)]:
            return self.cells[max(starts, key=len)]
        if row.layer in self.layers and quantity.scale == "ratio":
            return self.layers[row.layer]
        return self.metrics.get(quantity.name, quantity.share or self.fail_on)

    def expectations(self, row: Row, quantity: Quantity) -> list[Expectation]:
        """Those that are meant for a cell."""
        return [entry for entry in self.expect_regression if entry.fits(row, quantity)]

    def idle(self, rows: Iterable[Row]) -> list[str]:
        """The beginnings of ids that none of these rows has."""
        ids = [row.cell_id for row in rows]
        starts = [*self.cells, *(entry.cell for entry in self.expect_regression if entry.cell)]
        return [start for start in dict.fromkeys(starts) if not any(own.startswith(start) for own in ids)]


def read_settings(file: Path | None, overrides: Mapping[str, Any]) -> GateSettings:
    """The settings of a file, ``rotbench.toml`` of the working directory if None and there, under the command line's.

    Raises:
        UserError: for a file that is not there or no TOML, or a name or value that does not fit.
    """
    path = file or CONFIG_FILE
    if file and not file.is_file():
        raise UserError(f"no configuration at {file}; name a TOML file with a table [gate]")
    table = _table(path) if path.is_file() else {}
    try:
        found = GateSettings.model_validate(table | dict(overrides))
    except ValidationError as error:
        raise UserError(_told(error, overrides, path)) from None
    expected = found.expect_regression
    _check_names("metric", [*found.metrics, *(entry.metric for entry in expected)], QUANTITIES)
    _check_names("layer", [*found.layers, *(entry.layer for entry in expected)], LAYERS)
    _check_names("framework", [entry.framework for entry in expected], FRAMEWORKS)
    check_allowed(found.allow_different)
    return found


def _table(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8")).get("gate", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {error}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path}: [gate] must be a table")
    return found


def _told(error: ValidationError, overrides: Mapping[str, Any], path: Path) -> str:
    """The first fault in one line: which setting, what must hold, what was given."""
    first = error.errors()[0]
    name = ".".join(map(str, first["loc"]))
    name = f"--{name.replace('_', '-')}" if first["loc"][0] in overrides else f"{name} in [gate] of {path}"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        return f"unknown setting {name}; known: {', '.join(GateSettings.model_fields)}"
    return f"{name}: {message[0].lower()}{message[1:]}, got {first['input']!r}"


def _check_names(kind: str, given: Iterable[str | None], known: Iterable[str]) -> None:
    for name in given:
        if name is not None and name not in (listed := list(known)):
            raise unknown(f"{kind} in [gate]", name, listed)
