"""Data sets as plain numpy arrays. ``TASKS`` is the whole registry."""

from benchmark.spec.errors import unknown
from benchmark.tasks.base import Split, Splits, Task
from benchmark.tasks.digits import Digits

TASKS: dict[str, type[Task]] = {task.name: task for task in (Digits,)}


def task(name: str) -> type[Task]:
    """The task of that name. Raises UserError, naming the known ones, if there is none."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]


__all__ = ["TASKS", "Split", "Splits", "Task", "task"]
