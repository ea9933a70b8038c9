"""Q9: how far scores depend on the seed and on the ranges of initial values."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmark.metrics.paired import sign_flips
from benchmark.reports import numbers as n
from benchmark.reports.answers.contrasts import Contrast, Decision
from benchmark.reports.answers.differences import decision_table
from benchmark.reports.answers.layers import Results, attention_of, trained
from benchmark.reports.answers.making import answer, endings, not_measured
from benchmark.reports.answers.places import place
from benchmark.reports.answers.record import Answer, Case, Question
from benchmark.reports.answers.seeds import more_seeds
from benchmark.reports.answers.telling import told
from benchmark.reports.answers.variants import defaults, option
from benchmark.reports.answers.words import verdict_of
from benchmark.reports.evidence import Group, groups
from benchmark.reports.recipes import own_recipe
from benchmark.store.row import Row

OURS = "rotrnn"
COMMAND = "rotbench study initialisation --seeds 0:12"
RANGES = ("gamma_min", "gamma_max", "r_min", "r_max", "dt_min", "dt_max", "max_phase", "gamma_init", "A_init", "C_init")
"""Options that decide between which bounds, or how, initial values are drawn."""
ABLATED = ("normalizer", "mixing", "gamma")
"""Options that make another layer of it, which another question is about."""

Grid = dict[int, dict[str, Row]]
"""Trainings of one layer by seed and range."""


def _contrasts(results: Results) -> list[Contrast]:
    found = []
    for group in groups(
        row for row in trained(results.rows) if not attention_of(row) and row.test_accuracy is not None
    ):
        grids = {layer: grid(group, layer) for layer in dict.fromkeys(row.layer for row in group.rows)}
        found += [
            _spread(group, grids[OURS], grids[other], other) for other in grids if OURS in grids and other != OURS
        ]
    return [entry for entry in found if entry is not None]


def grid(group: Group, layer: str) -> Grid:
    """The trainings of a layer whose options are its own but for the ranges; only seeds that have all ranges."""
    found: Grid = {}
    for row in group.rows:
        if row.layer == layer and all(_is_own(row, name) for name in row.options if name in ABLATED):
            found.setdefault(row.seed, {})[_range(row)] = row
    ranges = {name for by_range in found.values() for name in by_range}
    return {seed: by_range for seed, by_range in found.items() if set(by_range) == ranges} if len(ranges) > 1 else {}


def _is_own(row: Row, name: str) -> bool:
    return option(row, name) == defaults(row.layer).get(name, option(row, name))


def _range(row: Row) -> str:
    values: dict[str, Any] = {name: option(row, name) for name in RANGES if option(row, name) is not None}
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _spread(group: Group, ours: Grid, theirs: Grid, other: str) -> Contrast | None:
    """The spread over ranges, seed by seed: by how many points ours is steadier.

    None without a seed of both, or with ranges of different number: a standard deviation of fewer
    values comes out smaller by itself, and flips of signs are exact only where both sides are alike.
    """
    seeds = sorted(ours.keys() & theirs.keys())
    if not seeds or len(ours[seeds[0]]) != len(theirs[seeds[0]]):
        return None
    spreads = [[_sd(found[seed].values()) for seed in seeds] for found in (ours, theirs)]
    texts = [f"{100 * statistics.fmean(values):.2f} points" for values in spreads]
    return Contrast(
        family="score",
        unit="spread",
        ours=OURS,
        theirs=other,
        place=place(group.setting, own_recipe(next(iter(theirs[seeds[0]].values())))),
        estimate=sign_flips([b - a for a, b in zip(*spreads, strict=True)]),
        margin=0.0,
        figures=f"sd over {len(ours[seeds[0]])} ranges: {OURS} {texts[0]}, {other} {texts[1]}",
        size=f"{n.counted(len(seeds), 'pair')} of seeds",
        basis="sign flips",
        our_rows=tuple(row for seed in seeds for row in ours[seed].values()),
        their_rows=tuple(row for seed in seeds for row in theirs[seed].values()),
        setting=group.setting,
    )


def _sd(rows: Iterable[Row]) -> float:
    """Standard deviation of test accuracies (ddof 1)."""
    return statistics.stdev(row.test_accuracy or 0.0 for row in rows)


def _answer(question: Question, case: Case) -> Answer:
    if not case.decided:
        return not_measured(question, "trainings over ranges and seeds", COMMAND, endings(case.rows, ("train",)))
    rows = [row for decision in case.decided for row in decision.contrast.rows]
    states = {(row.layer, row.real_state_size) for row in rows}
    unequal = len({state for _, state in states}) > 1
    return answer(
        question,
        verdict_of(case.decided, "more"),
        [*told(case.decided), *_over_seeds(case.decided), *_diverged(case.rows)],
        rows,
        table=decision_table("Spread over initial ranges", case.decided),
        missing=more_seeds(case.decided, COMMAND),
        caveats=[
            "How far two ranges lie apart is a choice: a spread over ranges is of those that were tried.",
            *([f"State sizes differ: {', '.join(f'{a} {n.count(b)}' for a, b in sorted(states, key=str))}."] * unequal),
            *endings(case.rows, ("train",)),
        ],
    )


def _over_seeds(decisions: Sequence[Decision]) -> list[str]:
    """Spread over seeds, mean of the ranges', by layer in each place; without a verdict."""
    said: dict[str, None] = {}
    for c in (decision.contrast for decision in decisions):
        for name, rows in ((c.ours, c.our_rows), (c.theirs, c.their_rows)):
            by_range: dict[str, list[Row]] = {}
            for row in rows:
                by_range.setdefault(_range(row), []).append(row)
            spreads = [_sd(members) for members in by_range.values() if len(members) > 1]
            if spreads:
                value = f"{100 * statistics.fmean(spreads):.2f} points"
                seeds = n.counted(max(map(len, by_range.values())), "seed")
                said[f"{', '.join(c.place)}: {name}, sd over {seeds} {value}, mean of {len(spreads)} ranges."] = None
    return list(said)


def _diverged(rows: Sequence[Row]) -> list[str]:
    """Shares of runs that ended in numbers that are not finite."""
    runs = [row for row in rows if row.metric == "train"]
    lost = [row for row in runs if row.status == "diverged"]
    if not lost:
        return []
    names = dict.fromkeys(row.layer for row in runs)
    listed = (
        f"{sum(row.layer == name for row in lost)} of {sum(row.layer == name for row in runs)} of {name}"
        for name in names
    )
    return [f"Of all trainings, however initialised, diverged: {', '.join(listed)}."]


ROBUSTNESS = Question(
    id="Q9",
    text="Are RotRNN's real rotations more robust to their initial values?",
    needs="trainings of rotrnn and other layers that differ in the ranges of initial values alone, each from the same "
    "seeds",
    statistic="standard deviation of test accuracy over ranges, seed by seed, and its difference between layers, by "
    "sign flips",
    rule="of rotrnn against each other layer. yes: steadier in every comparison; partly: in some; no: all decided, "
    "steadier in none; undecided: else",
    answer=_answer,
    contrasts=_contrasts,
)
