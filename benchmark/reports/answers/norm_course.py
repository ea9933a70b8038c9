"""How norms of states go over the course of a training, as its snapshots have them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.answers.norm_values import exponents, level, setting_of, subject_of
from benchmark.reports.answers.places import place
from benchmark.reports.answers.studied import studied
from benchmark.reports.evidence import state_words
from benchmark.reports.recipes import words
from benchmark.store.row import Row
from benchmark.studies.names import study_of


class Course(NamedTuple):
    """One layer's trainings, alike in all but their seeds, looked at after some of their steps."""

    by_step: dict[int, list[Row]]
    """Rows of every seed, by the step of training, rising."""

    @property
    def first(self) -> Row:
        """One of the rows, for what all of them share."""
        return next(iter(self.by_step.values()))[0]

    @property
    def rows(self) -> list[Row]:
        """All of them."""
        return [row for members in self.by_step.values() for row in members]

    @property
    def drive(self) -> str:
        """What drove the layer, and what it was trained on."""
        return f"{study_of(self.first.task).inputs} inputs, trained on {self.first.detail.get('trained_on')}"

    @property
    def place(self) -> tuple[str, ...]:
        """What tells it from courses with other inputs, frameworks and sizes."""
        where = {"framework": self.first.framework, "device": self.first.device, "seq_len": self.first.seq_len}
        return (self.drive, *place(where), state_words(self.first))

    def levels(self) -> dict[int, float]:
        """By step, the mean square at the last time, of the largest block, mean over seeds."""
        return {step: value for step, rows in self.by_step.items() if (value := level(rows)) is not None}


def courses(rows: Iterable[Row]) -> list[Course]:
    """Every course of two steps or more. A step that some seed lacks is left out: means are over the same seeds."""
    found: dict[str, dict[int, list[Row]]] = {}
    for row in studied(rows, "norms"):
        if (step := study_of(row.task).step) is not None:
            alike = setting_of(row) | {"weights": row.detail.get("trained_on")}
            found.setdefault(words(alike), {}).setdefault(step, []).append(row)
    whole = [_whole(by_step) for by_step in found.values()]
    return [Course(by_step) for by_step in whole if len(by_step) > 1]


def _whole(by_step: dict[int, list[Row]]) -> dict[int, list[Row]]:
    most = max(map(len, by_step.values()))
    return {step: by_step[step] for step in sorted(by_step) if len(by_step[step]) == most}


def course_sentences(found: Iterable[Course]) -> list[str]:
    """One sentence a place: from where to where the mean square went, and between what its exponents lay."""
    places: dict[tuple[str, ...], list[Course]] = {}
    for course in found:
        if course.levels():
            places.setdefault(course.place, []).append(course)
    return [_sentence(where, members) for where, members in sorted(places.items())]


def _sentence(where: tuple[str, ...], members: Sequence[Course]) -> str:
    ordered = sorted(members, key=lambda course: subject_of(course.first))
    seeds = dict.fromkeys(n.counted(len(course.by_step[min(course.by_step)]), "seed") for course in ordered)
    return (
        f"{', '.join(where)}: mean square of a real coordinate at the last time over the course of training, and its "
        f"growth exponents: {'; '.join(map(_told, ordered))} ({' or '.join(seeds)})."
    )


def _told(course: Course) -> str:
    levels = course.levels()
    first, last, top = min(levels), max(levels), max(levels, key=lambda step: levels[step])
    text = f"{subject_of(course.first)} {n.significant(levels[first])} after {n.counted(first, 'step')}, "
    text += f"{n.significant(levels[last])} after {n.count(last)}"
    text += f", at most {n.significant(levels[top])} after {n.count(top)}" if top not in {first, last} else ""
    grown = [value for rows in course.by_step.values() for value in exponents(rows)]
    return text + (f", exponents {min(grown):.3f} to {max(grown):.3f}" if grown else "")
