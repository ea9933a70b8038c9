"""From a word on the command line to rows: a folder, a file, a git ref, or the runs of a commit."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from benchmark.spec.errors import UserError
from benchmark.store import files
from benchmark.store.row import Row
from benchmark.store.soundness import fault_of

GIT_S = 600
FORMS = "a folder, a .parquet or .json file, REF or REF:FOLDER of git, or FOLDER@COMMIT"


class NothingToCompareError(UserError):
    """The request is sound, but there is nothing to compare."""

    exit_code = 3


class GitError(UserError):
    """Git is not here, or has refused; in its own words."""


class Source(NamedTuple):
    """Rows, oldest first, the files that could not be read, and what the source is in words."""

    name: str
    rows: list[Row]
    bad: list[tuple[str, str]]


def read_source(word: str, folder: Path, checkout: Path = Path()) -> Source:
    """The rows that a word stands for.

    Args:
        word: a path; ``REF:FOLDER``; ``FOLDER@COMMIT``, rows of a folder that were measured at a commit;
            or ``REF``, the results that are stored in ``folder`` at that ref or else its runs in ``folder``.
        folder: where results are if the word names no place.
        checkout: a folder of the git repository.

    Raises:
        NothingToCompareError: if there is no such place, or no row in it.
    """
    found = _read(word, folder, checkout)
    if not found.rows:
        why = f"{found.bad[0][0]} cannot be read: {found.bad[0][1]}" if found.bad else "no row is there"
        raise NothingToCompareError(f"no results in {found.name}: {why}; measure with `rotbench speed` first")
    return found


def _read(word: str, folder: Path, checkout: Path) -> Source:
    path = Path(word)
    if word and path.exists():
        return _json_file(path) if path.suffix == ".json" else _stored(word, [path])
    place, _, commit = word.rpartition("@")
    if place and commit and Path(place).exists():
        return _runs(Path(place), commit)
    ref, _, inside = word.partition(":")
    if (commit_id := _commit(ref, checkout)) is None:
        raise NothingToCompareError(f"no results at {word!r}: it must be {FORMS}")
    found = _at_ref(f"{ref}:{inside or folder}", commit_id, inside or str(folder), checkout)
    return _runs(folder, commit_id) if not (found.rows or found.bad or inside) and folder.exists() else found


def _stored(name: str, paths: list[Path]) -> Source:
    rows, bad = files.read(paths)
    faults = [(row, fault_of(row)) for row in rows]
    unsound = [(f"{name}, cell {row.cell_id[:8]}", fault) for row, fault in faults if fault]
    sound = [row for row, fault in faults if fault is None]
    return Source(name, sound, [*((str(path), why) for path, why in bad), *unsound])


def _runs(folder: Path, commit: str) -> Source:
    """The rows of a folder that were measured at a commit."""
    found = _stored(f"{folder}@{commit[:12]}", [folder])
    return found._replace(rows=[row for row in found.rows if str(row.environment.get("commit")).startswith(commit)])


def _json_file(path: Path) -> Source:
    """Rows as ``rotbench results export --format json`` writes them."""
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        return Source(str(path), [], [(str(path), "it is nested too deeply")])
    except (OSError, ValueError) as error:
        why = "it is empty" if not path.stat().st_size else f"not JSON: {error}"
        return Source(str(path), [], [(str(path), why)])
    if not isinstance(listed, list):
        return Source(str(path), [], [(str(path), "it must be a list of rows, as `rotbench results export` writes")])
    rows: list[Row] = []
    bad: list[tuple[str, str]] = []
    for index, values in enumerate(listed):
        _add(values, f"{path}, row {index + 1}", rows, bad)
    return Source(str(path), sorted(rows, key=lambda row: row.created_at), bad)


def _add(values: Any, place: str, rows: list[Row], bad: list[tuple[str, str]]) -> None:
    try:
        row = Row.model_validate(values)
        if fault := fault_of(row):
            bad.append((place, fault))
        else:
            rows.append(row)
    except ValidationError as error:
        first = error.errors()[0]
        bad.append((place, f"{'.'.join(map(str, first['loc']))} {first['msg'].lower()}".strip()))


def _commit(ref: str, checkout: Path) -> str | None:
    """The commit that a ref names; None if git knows none."""
    try:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        return git(checkout, *words).decode().strip() if ref else None
    except GitError:
        return None


def _at_ref(name: str, commit: str, inside: str, checkout: Path) -> Source:
    """The results that a commit holds in a folder; their files are put into a temporary one to be read."""
    listed = git(checkout, "ls-tree", "-r", "-z", "--name-only", commit, "--", inside).decode().split("\0")
    paths = [path for path in listed if path.endswith(".parquet")]
    with tempfile.TemporaryDirectory() as temporary:
        for index, path in enumerate(paths):
            content = git(checkout, "show", f"{commit}:./{path}")
            (Path(temporary) / f"{index:06}-{Path(path).name}").write_bytes(content)
        found = _stored(name, [Path(temporary)])
    return found._replace(bad=[(f"{name}/{Path(path).name[7:]}", why) for path, why in found.bad])


def git(folder: Path, *words: str) -> bytes:
    """What git prints. Raises GitError with its last line if it fails."""
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, timeout=GIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        why = getattr(error, "strerror", None) or f"it took more than {GIT_S} s"
        raise GitError(f"git {words[0]} in {folder}: {why}") from None
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitError(f"git {words[0]}: {told[-1] if told else f'it ended with {done.returncode}'}")
    return done.stdout
