"""How norms of states go over the course of a training, as its snapshots have them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from benchmark.reports import numbers as n
from benchmark.reports.answers.norm_values import exponents, level, origin_of, setting_of, snapshots, subject_of
from benchmark.reports.answers.places import place
from benchmark.reports.evidence import state_words
from benchmark.reports.recipes import words
from benchmark.store.row import Row
from benchmark.studies.names import study_of


class Course(NamedTuple):
    """One layer's trainings, alike in all but their seeds, looked at after some of their steps."""

    by_step: dict[int, list[Row]]
    """One row a training, the same trainings at every step; steps rise."""
    left_out: int
    """Trainings of which there is no snapshot of their last step."""

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
        return f"{study_of(self.first.task).inputs} inputs, {origin_of(self.first)}"

    @property
    def place(self) -> tuple[str, ...]:
        """What tells it from courses with other inputs, frameworks and sizes."""
        where = {"framework": self.first.framework, "device": self.first.device, "seq_len": self.first.seq_len}
        return (self.drive, *place(where), state_words(self.first), n.counted(self.first.batch, "sequence"))

    def levels(self) -> dict[int, float]:
        """By step, the mean square at the last time, of the largest block, mean over seeds."""
        return {step: value for step, rows in self.by_step.items() if (value := level(rows)) is not None}


def courses(rows: Iterable[Row]) -> list[Course]:
    """Every course of two steps or more, of the trainings that came to their end and the steps that all of them have.

    So means are over the same seeds throughout, and none is over those that happened not to diverge by then.
    """
    found: dict[str, dict[str, dict[int, Row]]] = {}
    for row in snapshots(rows):
        study, alike = study_of(row.task), setting_of(row) | {"weights": origin_of(row)}
        found.setdefault(words(alike), {}).setdefault(str(study.weights), {})[study.step or 0] = row
    made = [_course(list(trainings.values())) for trainings in found.values()]
    return [course for course in made if len(course.by_step) > 1]


def _course(trainings: Sequence[Mapping[int, Row]]) -> Course:
    ended = [steps for steps in trainings if next(iter(steps.values())).detail.get("trained_steps") in steps]
    common = sorted(set.intersection(*map(set, ended))) if ended else []
    return Course({step: [steps[step] for steps in ended] for step in common}, len(trainings) - len(ended))


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
    text += f", exponents {min(grown):.3f} to {max(grown):.3f}" if grown else ""
    modulus = max(block.get("largest_modulus", 0.0) for row in course.by_step[last] for block in row.detail["blocks"])
    text += f", |lam| up to {modulus:.5f} in the end" if modulus >= 1 else ""
    return text + (f", without {n.counted(course.left_out, 'training')} that did not end" if course.left_out else "")
