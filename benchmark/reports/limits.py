"""Marks against what was measured, and public implementations against ours."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmark.metrics.statistics import Interval, ratio_interval
from benchmark.reports import numbers as n
from benchmark.reports.labels import algorithm, variants
from benchmark.reports.tables import Table
from benchmark.store.row import Row
from benchmark.sweeps.limits import Mark

COLUMNS = {"memory": "rss_delta_bytes", "compile": "compile_s", "XLA temp": "xla_temp_bytes"}


class Reached(NamedTuple):
    """A mark and what was measured; no ratio where a row is missing or says nothing."""

    mark: Mark
    ratio: Interval | None
    ran: str

    @property
    def verdict(self) -> str:
        """Whether the ratio keeps its bound."""
        if self.ratio is None:
            return "not measured"
        value = self.ratio.median
        return "reached" if (value <= self.mark.bound if self.mark.at_most else value >= self.mark.bound) else "missed"


def reached(marks: Sequence[Mark], rows: Sequence[Row]) -> list[Reached]:
    """Every mark with its ratio."""
    by_cell = {row.cell_id: row for row in rows if row.status == "ok"}
    return [_reached(mark, by_cell) for mark in marks]


def _reached(mark: Mark, rows: Mapping[str, Row]) -> Reached:
    top, bottom = rows.get(mark.top.id), rows.get(mark.bottom.id)
    if top is None or bottom is None:
        return Reached(mark, None, n.MISSING)
    ran = f"{algorithm(top)} / {algorithm(bottom) if bottom.subject in {'layer', 'scan'} else bottom.subject}"
    if mark.quantity == "time":
        return Reached(mark, ratio_interval(top.process_medians_ms or [], bottom.process_medians_ms or []), ran)
    values = [getattr(row, COLUMNS[mark.quantity]) for row in (top, bottom)]
    if not all(values):
        return Reached(mark, None, ran)
    ratio = values[0] / values[1]
    return Reached(mark, Interval(ratio, ratio, ratio), ran)


def limits_table(found: Sequence[Reached]) -> Table:
    """One line a mark."""
    names = ["what", "of", "at", "ran", "ratio", "95 % interval", "should be", "verdict"]
    lines = [
        [
            r.mark.what,
            r.mark.quantity,
            f"{r.mark.top.direction}, ({r.mark.top.batch}, {r.mark.top.seq_len})",
            r.ran,
            n.significant(r.ratio.median if r.ratio else None),
            n.interval(r.ratio.low, r.ratio.high) if r.ratio and r.mark.quantity == "time" else n.MISSING,
            f"{'at most' if r.mark.at_most else 'at least'} {r.mark.bound:g}",
            r.verdict,
        ]
        for r in found
    ]
    missed = sum(r.verdict == "missed" for r in found)
    notes = [
        f"{len(found)} marks, {missed} missed. Ratios of process medians of one sweep in random order; memory is that "
        "of a fresh process above what it held before, at its peak; its ratio and that of compilation have none.",
        "Marks of other kinds: rotbench choice (auto over the fastest algorithm), growth (cost over length), accuracy "
        "(errors of auto).",
    ]
    return Table("Marks", names, lines, frozenset({"ratio"}), notes, ("ran", "95 % interval", "of"))


CHOICE_BOUND = 1.05
"""Most that ``auto`` may take over the best other algorithm."""


class Choice(NamedTuple):
    """What ``auto`` took and the fastest algorithm that was measured beside it."""

    auto: Row
    best: Row

    @property
    def ratio(self) -> Interval:
        """Of their times."""
        return ratio_interval(self.auto.process_medians_ms or [], self.best.process_medians_ms or [])

    @property
    def verdict(self) -> str:
        """Whether ``auto`` is as fast as it can be; an algorithm that it stands for is no other."""
        if self.ratio.median <= CHOICE_BOUND or self.auto.algorithm_run == self.best.algorithm:
            return "reached"
        return "missed" if self.ratio.low > 1 else "can't tell"


def choices(rows: Sequence[Row]) -> list[Choice]:
    """Each ``auto`` against the fastest row that differs from it in the algorithm alone."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.status == "ok" and row.median_ms:
            groups.setdefault(row.cell.model_copy(update={"algorithm": ""}).canonical_json, []).append(row)
    found = []
    for members in groups.values():
        auto = [row for row in members if row.algorithm == "auto"]
        named = sorted((row for row in members if row.algorithm != "auto"), key=lambda row: row.median_ms or 0)
        if auto and named:
            found.append(Choice(auto[0], named[0]))
    return found


def choices_table(found: Sequence[Choice]) -> Table:
    """One line an ``auto``, the worst first."""
    names = ["layer", "framework", "direction", "length", "auto", "auto ms", "fastest", "fastest ms"]
    names += ["auto / fastest", "95 % interval", "variant", "verdict"]
    words = variants([c.auto for c in found], ("batch", "d_model", "d_state"))
    lines = [
        [
            c.auto.layer,
            c.auto.framework,
            c.auto.direction or n.MISSING,
            n.count(c.auto.seq_len),
            c.auto.algorithm_run or n.MISSING,
            n.significant(c.auto.median_ms),
            c.best.algorithm,
            n.significant(c.best.median_ms),
            n.significant(c.ratio.median),
            n.interval(c.ratio.low, c.ratio.high),
            words[c.auto.cell_id],
            c.verdict,
        ]
        for c in sorted(found, key=lambda c: -c.ratio.median)
    ]
    note = (
        f"auto should take at most {CHOICE_BOUND:g} times the fastest; can't tell: more than that, but the interval "
        "of the ratio reaches 1. Where the fastest is what auto stands for, the ratio is noise alone."
    )
    numeric = frozenset({"length", "auto ms", "fastest ms", "auto / fastest"})
    return Table("What auto chooses", names, lines, numeric, [note], ("95 % interval", "direction"))


def peers_table(rows: Sequence[Row]) -> Table:
    """Each public implementation against our layer in the same direction."""

    def key(row: Row) -> tuple[str | int | None, ...]:
        return row.layer, row.direction, row.seq_len, row.batch

    ours = {key(row): row for row in rows if row.subject == "layer" and row.status == "ok"}
    names = ["implementation", "direction", "length", "batch", "median ms", "ours", "ours ms"]
    names += ["theirs / ours", "95 % interval"]
    lines = []
    for r in rows:
        mine = ours.get(key(r))
        if r.subject == "layer" or r.status != "ok" or mine is None:
            continue
        ratio = ratio_interval(r.process_medians_ms or [], mine.process_medians_ms or [])
        call = [r.subject, r.direction or n.MISSING, n.count(r.seq_len), n.count(r.batch)]
        times = [n.significant(r.median_ms), f"{mine.layer} ({algorithm(mine)})", n.significant(mine.median_ms)]
        lines.append([*call, *times, n.significant(ratio.median), n.interval(ratio.low, ratio.high)])
    note = "Equal complex states and features; initial values are each implementation's own."
    numeric = frozenset(names) - {"implementation", "direction", "ours"}
    return Table("Public implementations against ours", names, lines, numeric, [note], ("batch",))
