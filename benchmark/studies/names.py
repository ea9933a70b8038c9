"""What a study's cell looks at, as one word in its column ``task``: NAME, NAME/INPUTS or NAME/INPUTS@CELL."""

from typing import Literal, NamedTuple, get_args

from benchmark.spec.errors import UserError, unknown

Name = Literal["norms", "equivalence", "period"]
NAMES: tuple[str, ...] = get_args(Name)

ALONE = ("white", "constant")
"""Inputs of norms that drive a layer alone; all others are a task's name, whose data reach it through its model."""


class Study(NamedTuple):
    """One study cell's subject.

    ``inputs``: of norms white, constant, or a task's name; of period learned or fixed. ``weights``: the
    id of the training cell whose weights are looked at, None for initial values.
    """

    name: str
    inputs: str | None = None
    weights: str | None = None

    def __str__(self) -> str:
        inputs = f"/{self.inputs}" if self.inputs else ""
        return self.name + inputs + (f"@{self.weights}" if self.weights else "")


def study_of(task: str | None) -> Study:
    """The inverse of ``str``.

    >>> study_of("norms/digits@0123456789abcdef")
    Study(name='norms', inputs='digits', weights='0123456789abcdef')

    Raises:
        UserError: for a word that names no study.
    """
    if not task:
        raise UserError("a study's cell must name the study in its column task, got none")
    rest, _, weights = task.partition("@")
    name, _, inputs = rest.partition("/")
    if name not in NAMES:
        raise unknown("study", name, NAMES)
    return Study(name, inputs or None, weights or None)
