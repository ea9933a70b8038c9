"""What a task makes of its files, or draws, is made once and read from memory maps ever after.

::

    DATA_DIR/cache/NAME-KEY/     KEY: a hash of the task, its version and options, the kind, and the files' contents
        meta.json                {"arrays": {"train.inputs": {"dtype": "<u2", "shape": [96000, 2001]}, ...}, ...}
        train.inputs.npy ...
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from benchmark.data.arrays import Arrays, DamagedError, assemble, flatten, read_arrays, write_arrays
from benchmark.data.files import NotWrittenError, Say, held, need_space, remove, silent, writing
from benchmark.data.fingerprint import fingerprint
from benchmark.data.folder import State, locate, root_of, why_missing
from benchmark.data.get import unpack_here
from benchmark.spec.errors import UserError, unknown
from benchmark.tasks.base import Kind, MissingDataError, Splits, Task, Tell, quiet

ASKED = ("auto", "real", "generated", "stand-in")
"""What ``--data`` may say."""


def choose(task: Task, asked: str, data_dir: Path, tell: Tell = quiet, say: Say = silent) -> Kind:
    """The kind of data that a task runs on.

    Args:
        task: the task.
        asked: a kind, or ``auto`` for the first of the task's kinds that can be had here: the real data
            if all of them lie in the data folder. They are unpacked where they are still packed, as only
            then it is known what an archive holds.
        data_dir: the data folder.
        tell: told of progress.
        say: told what is unpacked, and why real data that are here in part are not taken.

    Raises:
        MissingDataError: if the real data are asked for, or all that the task has, and are not here.
        UserError: for a kind that the task has not, or an archive that cannot be unpacked.
    """
    if asked not in ASKED:
        raise unknown("data", asked, ASKED)
    if asked not in ("auto", *task.kinds):
        raise UserError(f"{task.name} has no data of the kind {asked}; it has: {', '.join(task.kinds)}")
    kinds = [kind for kind in task.kinds if asked == kind or (asked == "auto" and task.serves(kind))]
    if kinds[0] != "real" or task.archive is None:
        return kinds[0]
    found = _found(task, data_dir, tell, say)
    if found.status == "ready":
        return "real"
    why = why_missing(found, data_dir)
    if kinds[1:]:
        if found.root or found.archives:
            say(f"{task.name} runs on {kinds[1]} data, as {why}")
        return kinds[1]
    others = [kind for kind in task.kinds if kind != "real"]
    raise MissingDataError(why + "".join(f", --data {kind} does without" for kind in others))


def _found(task: Task, data_dir: Path, tell: Tell, say: Say) -> State:
    """What of the real data is here, unpacked; partial too if it is not all that the task's options need."""
    assert task.archive is not None
    found = unpack_here(task.archive, data_dir, tell, say)
    lacks = task.lacks(found.root) if found.status == "ready" and found.root else []
    if not lacks:
        return found
    cure = f"remove that folder and run `rotbench data get {task.archive}`, or choose other options"
    return found._replace(status="partial", missing=tuple(lacks), cure=cure)


def load(task: Task, kind: Kind, data_dir: Path, tell: Tell = quiet, say: Say = silent) -> Splits:
    """The splits of a task, from its cache, which is built if need be.

    Of two processes one builds and the other waits. A damaged cache is built anew; where none can be
    written, the splits are loaded without.

    Args:
        task: the task.
        kind: one of its kinds, see ``choose``.
        data_dir: the data folder.
        tell: told of progress.
        say: told of what takes long or goes wrong.

    Raises:
        MissingDataError: if a file is missing.
        UserError: for a file that is not what it should be.
    """
    root = _root(task, data_dir, tell, say) if kind == "real" and task.archive else None
    if not task.cached:
        return task.load(kind, root, tell)
    contents = _contents(task, kind, data_dir, root)
    folder = cache_folder(data_dir, contents)
    if (found := _read(folder)) is not None:
        return found
    try:
        with held(folder, say):
            return _read(folder, say) or _build(task, kind, root, folder, contents, tell, say)
    except NotWrittenError as error:
        say(f"{error}; {task.name} is loaded without a cache")
        return task.load(kind, root, tell)


def cache_root(data_dir: Path) -> Path:
    """Where all caches lie; they can be deleted at any time."""
    return data_dir / "cache"


def cache_folder(data_dir: Path, contents: dict[str, Any]) -> Path:
    """Where the cache of these contents lies."""
    key = hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()
    return cache_root(data_dir) / f"{contents['task']}-{key[:16]}"


def cached_at(task: Task, kind: Kind, data_dir: Path) -> Path | None:
    """Where the cache of a task lies that ``load`` has just returned; None if there is none.

    Raises:
        MissingDataError: if a file of the real data is missing.
    """
    root = locate(task.archive, data_dir) if kind == "real" and task.archive else None
    folder = cache_folder(data_dir, _contents(task, kind, data_dir, root))
    return folder if folder.exists() else None


def _root(task: Task, data_dir: Path, tell: Tell, say: Say) -> Path:
    """The folder of the real data, which are unpacked where they are still packed."""
    return root_of(_found(task, data_dir, tell, say), data_dir)


def _contents(task: Task, kind: Kind, data_dir: Path, root: Path | None) -> dict[str, Any]:
    """Everything that the arrays hang on."""
    memory = cache_root(data_dir) / "contents.json"
    files = fingerprint(task.archive, root, memory) if task.archive and root else None
    return {"task": task.name, "version": task.version, "options": task.options, "kind": kind, "files": files}


def _read(folder: Path, say: Say = silent) -> Splits | None:
    """The splits kept in a folder; None if there is none, or a damaged one, which is told."""
    if not folder.exists():
        return None
    try:
        splits = assemble(Splits, read_arrays(folder))
    except DamagedError as error:
        say(f"the cache {folder} is damaged and is built anew: {error}")
        return None
    assert isinstance(splits, Splits)
    return splits


def _build(
    task: Task, kind: Kind, root: Path | None, folder: Path, contents: dict[str, Any], tell: Tell, say: Say
) -> Splits:
    splits = task.load(kind, root, tell)
    try:
        _write(folder, flatten(splits), contents)
    except NotWrittenError as error:
        say(f"{error}; {task.name} is used without a cache")
        return splits
    return _read(folder, say) or splits


def _write(folder: Path, arrays: Arrays, contents: dict[str, Any]) -> None:
    """Write a cache beside its place, and move it there whole. The caller holds the folder."""
    staging = folder.with_name(f".{folder.name}.building")
    need_space(folder.parent, sum(array.nbytes for array in arrays.values()), f"the cache of {contents['task']}")
    with writing(folder):
        remove(staging)
        staging.mkdir()
        try:
            write_arrays(staging, arrays, contents)
            remove(folder)
            staging.replace(folder)
        finally:
            remove(staging)
