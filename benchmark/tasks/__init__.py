"""Data sets as plain numpy arrays. ``TASKS`` is the whole registry."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_origin, get_type_hints

from benchmark.spec.errors import unknown
from benchmark.tasks.arithmetic import Adding, Parity
from benchmark.tasks.base import MissingDataError, Split, Splits, Task
from benchmark.tasks.cifar import ColourCifar, GreyCifar
from benchmark.tasks.copying import Copying, SelectiveCopying
from benchmark.tasks.digits import Digits
from benchmark.tasks.listops import ListOps
from benchmark.tasks.mnist import Mnist
from benchmark.tasks.pathfinder import Pathfinder, PathX
from benchmark.tasks.recall import InductionHeads, Mqar
from benchmark.tasks.retrieval import Retrieval
from benchmark.tasks.speech import SpeechCommands
from benchmark.tasks.text import Text

TASKS: dict[str, type[Task]] = {
    task.name: task
    for task in (
        ListOps,
        Text,
        Retrieval,
        GreyCifar,
        Pathfinder,
        PathX,
        SpeechCommands,
        ColourCifar,
        Mnist,
        Digits,
        Copying,
        SelectiveCopying,
        Adding,
        Parity,
        InductionHeads,
        Mqar,
    )
}


def task(name: str, options: Mapping[str, Any] | None = None) -> Task:
    """The task of that name with its options; a number given for one of several words is that word.

    Raises:
        UserError: for what there is not, naming what there is.
    """
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    hints, fitted = get_type_hints(TASKS[name]), {}
    for option, value in (options or {}).items():
        if option not in TASKS[name].option_names():
            raise unknown(f"{name} option", option, TASKS[name].option_names())
        worded = get_origin(hints[option]) is Literal and not isinstance(value, bool)
        fitted[option] = str(value) if worded else value
    return TASKS[name](**fitted)


def readers(addresses: Iterable[str]) -> list[str]:
    """The names of the tasks that read what lies at some of these addresses.

    >>> readers(["cifar10"])
    ['lra-image', 'cifar']
    """
    wanted = set(addresses)
    return [name for name, found in TASKS.items() if found.archive in wanted]


__all__ = ["TASKS", "MissingDataError", "Split", "Splits", "Task", "readers", "task"]
