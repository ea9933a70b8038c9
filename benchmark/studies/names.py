"""What a study's cell looks at, as one word in its column ``task``: NAME, NAME/INPUTS or NAME/INPUTS@CELL[:STEP]."""

from typing import Literal, NamedTuple, get_args

from benchmark.spec.errors import UserError, short, unknown

Name = Literal["norms", "equivalence", "period"]
NAMES: tuple[str, ...] = get_args(Name)

ALONE = ("white", "constant")
"""Inputs of norms that drive a layer alone; all others are a task's name, whose data reach it through its model."""


class Study(NamedTuple):
    """One study cell's subject.

    ``inputs``: of norms white, constant, or a task's name; of period learned or fixed. ``weights``: the
    id of the training cell whose weights are looked at, None for initial values. ``step``: of that
    training, None for its end, where the weights are those that were best on the validation split.
    """

    name: str
    inputs: str | None = None
    weights: str | None = None
    step: int | None = None

    @property
    def source(self) -> str | None:
        """What tells one file of weights from another: CELL, or CELL:STEP."""
        return self.weights if self.step is None else f"{self.weights}:{self.step}"

    def __str__(self) -> str:
        inputs = f"/{self.inputs}" if self.inputs else ""
        return self.name + inputs + (f"@{self.source}" if self.source else "")


def study_of(task: str | None) -> Study:
    """The inverse of ``str``.

    >>> study_of("norms/digits@0123456789abcdef:120")
    Study(name='norms', inputs='digits', weights='0123456789abcdef', step=120)

    Raises:
        UserError: for a word that names no study.
    """
    if not task:
        raise UserError("a study's cell must name the study in its column task, got none")
    rest, _, source = task.partition("@")
    weights, _, step = source.partition(":")
    name, _, inputs = rest.partition("/")
    if name not in NAMES:
        raise unknown("study", name, NAMES)
    if step and not step.isdecimal():
        raise UserError(f"the step of a study's weights must be a whole number, got {short(step)}")
    return Study(name, inputs or None, weights or None, int(step) if step else None)
