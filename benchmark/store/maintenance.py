"""Folders of results put together and cleared up."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmark.spec.errors import UserError
from benchmark.store import files
from benchmark.sweeps.outcome import STATUSES


def merge(sources: Sequence[Path], target: Path) -> tuple[int, list[tuple[Path, str]]]:
    """Copy every file of the sources into the target's cells, unless what it holds is there already.

    Each goes under a name that its contents give it, so that copies of a file are one. What is damaged in
    the target is replaced by what is whole in a source.

    Returns:
        How many files were new, and those that could not be read, each with the reason.

    Raises:
        UserError: if a source is not there or the target cannot be written.
    """
    files.prepare_folder(target)
    copied, bad = 0, []
    for path in files.paths(sources):
        loaded = files.read_file(path)
        bad += loaded.bad
        if loaded.bad:
            continue
        goal = target / "cells" / files.name_of(path, loaded.rows)
        if goal.exists() and not files.read_file(goal).bad:
            continue
        staged = target / ".staging" / goal.name
        shutil.copyfile(path, staged)
        staged.replace(goal)
        copied += 1
    return copied, bad


def prune(folders: Sequence[Path], statuses: Sequence[str], really: bool) -> Iterator[tuple[Path, str]]:
    """Files that nobody needs, each with the reason; deleted as they are told, if ``really``.

    Raises:
        UserError: for a status that is none.
    """
    for status in statuses:
        if status not in STATUSES:
            raise UserError(f"--status takes {', '.join(STATUSES)}; got {status!r}")
    for folder in folders:
        for path, why in _unneeded(folder, statuses):
            if really:
                path.unlink(missing_ok=True)
            yield path, why


def _unneeded(folder: Path, statuses: Sequence[str]) -> Iterator[tuple[Path, str]]:
    yield from ((path, "left-over temporary") for path in (folder / ".staging").glob("*"))
    newest: dict[str, tuple[Path, files.Loaded]] = {}
    for path in files.paths([folder]):
        loaded = files.read_file(path)
        if loaded.bad:
            yield path, f"damaged: {loaded.bad[0][1]}"
            continue
        for row in loaded.rows:
            if row.status in statuses:
                yield path, f"status {row.status}"
            elif (older := newest.get(row.cell_id)) and older[1].rows[0].created_at <= row.created_at:
                newest[row.cell_id] = (path, loaded)
                yield older[0], "a newer row of the same cell is there"
            elif older:
                yield path, "a newer row of the same cell is there"
            else:
                newest[row.cell_id] = (path, loaded)
