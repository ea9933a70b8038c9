"""Telling how far a loader is, over all of its splits."""

from dataclasses import dataclass

from benchmark.tasks.base import Tell


@dataclass
class Progress:
    """Counts examples and tells after each."""

    tell: Tell
    total: int
    done: int = 0

    def add(self, count: int = 1) -> None:
        """So many more are done."""
        self.done += count
        self.tell(self.done, self.total)
