"""State norms over the course of trainings: a chart for each kind of inputs."""

from collections.abc import Sequence
from itertools import groupby

from benchmark.reports.answers.charts import line_chart
from benchmark.reports.answers.norm_course import courses
from benchmark.reports.answers.norm_values import subject_of
from benchmark.reports.charts import Chart
from benchmark.store.row import Row

NOTES = [
    "The largest block, mean over seeds, before the first step of training and after each validation; the same scale "
    "for all layers.",
]


def course_charts(rows: Sequence[Row]) -> list[Chart]:
    """Mean square of a real coordinate at the last time, over steps of training."""
    found = sorted(courses(rows), key=lambda course: course.place)
    charts = []
    for number, (drive, members) in enumerate(groupby(found, key=lambda course: course.drive), 1):
        points = [
            {
                "layer": course.first.layer,
                "place": ", ".join([subject_of(course.first), *course.place[1:]]),
                "length": step,
                "value": value,
            }
            for course in members
            for step, value in course.levels().items()
        ]
        spec = line_chart("mean square of a real coordinate", points, "steps of training", {"type": "linear"})
        charts.append(Chart(f"norms-{number}", f"State norms over training: {drive}", spec, NOTES))
    return charts
