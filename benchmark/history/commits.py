"""What is asked of git: the order of commits, and trees of old ones."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark.spec.errors import UserError


def trunk(repository: Path, ref: str = "HEAD") -> list[str]:
    """The commits that lead to a ref by first parents, oldest first; none outside a repository.

    Raises:
        UserError: if the repository has no such ref.
    """
    if not is_repository(repository):
        return []
    return git(repository, "rev-list", "--first-parent", "--reverse", resolved(repository, ref)).split()


def is_repository(folder: Path) -> bool:
    """Whether git is here and the folder is in a repository that has a commit."""
    try:
        done = _run(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    except OSError:
        return False
    return done.returncode == 0


def resolved(repository: Path, ref: str) -> str:
    """The whole name of a commit. Raises UserError if there is none."""
    done = _run(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if done.returncode:
        where = (
            "the repository here" if is_repository(repository) else f"a repository: {repository.resolve()} is in none"
        )
        raise UserError(f"{ref!r} must name a commit of {where}; see git log, and fetch it if it is not there")
    return done.stdout.strip()


def between(repository: Path, good: str, bad: str) -> list[str]:
    """The commits from one to another by first parents, both ends in, the older first.

    Raises:
        UserError: if a ref is unknown, or the first does not lead to the second.
    """
    first, last = resolved(repository, good), resolved(repository, bad)
    path = git(repository, "rev-list", "--first-parent", "--reverse", last).split()
    if first not in path or first == last:
        raise UserError(
            f"{good} must be an ancestor of {bad} by first parents, and another commit; give the older one first"
        )
    return path[path.index(first) :]


def subject(repository: Path, commit: str) -> str:
    """A commit's first line."""
    return git(repository, "show", "--no-patch", "--format=%s", commit).strip()


@contextmanager
def worktree(repository: Path, commit: str) -> Iterator[Path]:
    """A tree of its own of a commit, taken away at the end. Raises UserError if git cannot make one."""
    with tempfile.TemporaryDirectory(prefix="rotbench-") as folder:
        path = Path(folder) / "tree"
        git(repository, "worktree", "add", "--detach", "--quiet", str(path), commit)
        try:
            yield path
        finally:
            _run(repository, "worktree", "remove", "--force", str(path))


def git(folder: Path, *words: str) -> str:
    """What git says. Raises UserError with its own last line if it fails."""
    done = _run(folder, *words)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it failed"]
        raise UserError(f"git {words[0]}: {lines[-1]}")
    return done.stdout


def _run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
