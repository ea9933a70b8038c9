"""Accuracies and speeds as the papers print them: small CSV tables that ship with the package, never measured here.

``results/published`` holds them, one line a figure. How a figure came about and what it must not be
compared with stands in its caveats.
"""

import csv
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

import benchmark
from benchmark.spec.errors import UserError, short

Name = Literal[
    "lra-listops",
    "lra-text",
    "lra-retrieval",
    "lra-image",
    "lra-pathfinder",
    "lra-pathx",
    "lra-average",
    "cifar",
    "speech-commands",
]
"""Tasks of the package; lra-average is the mean that a paper prints over its six LRA tasks."""

Blank = BeforeValidator(lambda text: text or None)
Layer = Annotated[Literal["rotrnn", "lru", "s4d", "s5"] | None, Blank]
Percent = Annotated[Annotated[Decimal, Field(ge=0, le=100)] | None, Blank]
Count = Annotated[Annotated[int, Field(gt=0)] | None, Blank]
Caveats = Annotated[tuple[str, ...], BeforeValidator(lambda text: tuple(filter(None, (text or "").split("; "))))]

ACCURACIES = ("lra.csv", "cifar.csv", "speech-commands.csv")


class Score(BaseModel):
    """One accuracy of one model.

    Percentages are decimals, since the digits printed are part of what a paper says. ``split``: what
    was scored; 8khz is the test set at half the rate, without training on it. ``status`` chance: the
    paper reports a failure and no figure; missing: no figure was found. ``spread_kind``: standard
    deviation, standard error, none, or not said. ``source`` is the paper that reports the figure,
    ``quoted_from`` where it was read if not there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    layer: Layer
    task: Name
    split: Literal["test", "validation", "8khz"]
    status: Literal["ok", "chance", "missing"]
    score_percent: Percent
    spread_percent: Percent
    spread_kind: Literal["sd", "se", "none", "unstated"]
    seeds: Count
    param_count: Count
    source: str = Field(min_length=1)
    quoted_from: str
    caveats: Caveats

    @model_validator(mode="after")
    def _is_whole(self) -> "Score":
        if (self.score_percent is None) == (self.status == "ok"):
            raise ValueError("score_percent must be given exactly where status is ok")
        if (self.spread_percent is None) != (self.spread_kind == "none"):
            raise ValueError("spread_percent must be given exactly where spread_kind is not none")
        if self.status != "ok" and not self.caveats:
            raise ValueError("a figure that is not there needs a caveat that says why")
        return self


class Speed(BaseModel):
    """Training steps a second of one model, batch for batch as in its paper."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    layer: Layer
    task: Name
    steps_per_s: Decimal = Field(gt=0)
    batch: int = Field(gt=0)
    device: str = Field(min_length=1)
    source: str = Field(min_length=1)
    caveats: Caveats


Record = TypeVar("Record", bound=BaseModel)


def published_scores() -> list[Score]:
    """Accuracies of finished models. Raises UserError, naming file and line, for a line that is not sound."""
    return [score for name in ACCURACIES for score in read(name, Score)]


def ablation_scores() -> list[Score]:
    """The steps from a dense linear RNN to the LRU; ``model`` names the step. Raises UserError as above."""
    return read("lru-ablation.csv", Score)


def published_speeds() -> list[Speed]:
    """Training speeds. Raises UserError as above."""
    return read("speed.csv", Speed)


def folder() -> Path:
    """Where the tables lie: in ``benchmark`` once installed, in ``results`` of a checkout."""
    package = Path(benchmark.__file__).parent
    installed = package / "published"
    return installed if installed.is_dir() else package.parent / "results" / "published"


def read(name: str, kind: type[Record]) -> list[Record]:
    """The lines of one table as checked records.

    Raises:
        UserError: if the file is not there, or a line is not sound; names file, line and field.
    """
    path = folder() / name
    if not path.is_file():
        raise UserError(f"the published tables ship with the package, but {path} is not there; install rotbench again")
    with path.open(encoding="utf-8", newline="") as text:
        return [_record(f"{name} line {line}", values, kind) for line, values in enumerate(csv.DictReader(text), 2)]


def _record(place: str, values: dict[str, str], kind: type[Record]) -> Record:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "line"
        raise UserError(f"{place}: {field}: {first['msg']}, got {short(first['input'])}") from None
