"""Mean test accuracies that were measured, setting by setting. No test is made of them here."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.answers.places import place
from benchmark.reports.evidence import Subject, groups, sizes, state_words
from benchmark.reports.recipes import own_recipe
from benchmark.spec.errors import UserError
from benchmark.store.row import Row


class Measured(NamedTuple):
    """Trainings of one setting that have an accuracy: where, and the rows of each layer with its own options."""

    place: tuple[str, ...]
    by_layer: dict[str, list[Row]]

    def mean(self, layer: str) -> float:
        """Test accuracy, as a share."""
        rows = self.by_layer[layer]
        return sum(row.test_accuracy or 0.0 for row in rows) / len(rows)

    def runs(self, layer: str) -> str:
        """How many trainings a mean is of."""
        return n.counted(len(self.by_layer[layer]), "run")

    @property
    def ranked(self) -> list[str]:
        """Layers, the best mean first; says nothing of significance."""
        return sorted(self.by_layer, key=self.mean, reverse=True)


def measured_means(rows: Sequence[Row], environments: Mapping[str, str]) -> list[Measured]:
    """The trainings of each setting, as they would be compared; with the environment where there are several."""
    several, found = len(set(environments.values())) > 1, []
    for group in groups(row for row in rows if row.test_accuracy is not None):
        by_layer: dict[str, list[Row]] = {}
        for layer in dict.fromkeys(row.layer for row in group.rows):
            with suppress(UserError):  # variants alone, none of which is the layer as it is
                by_layer |= {_named(layer, own): own for own in sizes(group, Subject(layer))}
        if by_layer:
            where = place(group.setting, own_recipe(group.rows[0]))
            own = [environments[group.rows[0].cell_id]] if several else []
            found.append(Measured((*where, *own), by_layer))
    return found


def _named(layer: str, rows: Sequence[Row]) -> str:
    return f"{layer} ({state_words(rows[0])})"


def means(measured: Sequence[Measured]) -> list[str]:
    """The means that were measured, in each place where there are two layers."""
    found = []
    for entry in measured:
        texts = [f"{layer} {n.percent(entry.mean(layer))} ({entry.runs(layer)})" for layer in entry.ranked]
        if len(texts) > 1:
            found.append(f"Measured, mean test accuracy on {', '.join(entry.place)}: {', '.join(texts)}.")
    return found
