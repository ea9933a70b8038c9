"""ListOps of the Long Range Arena: nested operations on lists of digits."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmark.spec.errors import UserError
from benchmark.tasks.base import Kind, MissingDataError, Split, Splits, Task, Tell, quiet
from benchmark.tasks.listops_tokens import EOS, VOCABULARY, Trees
from benchmark.tasks.listops_trees import Bounds, generate, longest
from benchmark.tasks.listops_tsv import read_tsv
from benchmark.tasks.sizes import check_steps

FILES = ("basic_train.tsv", "basic_val.tsv", "basic_test.tsv")
GENERATED_ONLY = ("min_length", "max_length", "max_depth", "max_args", "draw")


@dataclass(frozen=True, kw_only=True)
class ListOps(Task):
    """What is the value of a nested expression, read token by token?

    ::

        input    [MAX 2 9 [MIN 4 7 ] 0 ] <eos> <pad> ... <pad>      18 tokens, max_length steps
        target   9                                                 0..9

    MIN, MAX, MED (the median, of an even count rounded down) and SM (the sum modulo 10) of up to
    ``max_args`` values each, nested up to ``max_depth`` deep, of more than ``min_length`` and fewer than
    ``max_length`` tokens without parentheses. ``examples`` are for training, ``held_out`` for validation
    and as many for test; ``draw`` numbers the random draw. The published files are of the default sizes;
    other lengths, depths and draws are generated, by the same algorithm.

    Source: Nangia and Bowman 2018 (arXiv:1804.06028); Tay et al. 2021 (arXiv:2011.04006).
    """

    name: ClassVar[str] = "lra-listops"
    kinds: ClassVar[tuple[Kind, ...]] = ("real", "generated")
    archive: ClassVar[str | None] = "lra/listops"
    chance = 0.1

    min_length: int = 500
    max_length: int = 2000
    max_depth: int = 10
    max_args: int = 10
    examples: int = 96_000
    held_out: int = 2_000
    eos: bool = True
    draw: int = 1

    inputs = len(VOCABULARY)
    outputs = 10

    def serves(self, kind: Kind) -> bool:
        """The published files are of the default sizes."""
        usual = {field.name: field.default for field in fields(self)}
        return kind != "real" or all(getattr(self, name) == usual[name] for name in GENERATED_ONLY)

    def _check(self) -> None:
        if self.min_length + 1 >= self.max_length:
            raise UserError(
                f"{self.name}: some length must lie strictly between min_length and max_length, "
                f"got {self.min_length} and {self.max_length}"
            )
        if self.max_depth < 2 or self.max_args < 2:
            raise UserError(
                f"{self.name}: max_depth and max_args must be at least 2, got {self.max_depth} and {self.max_args}"
            )
        check_steps(self.name, sum(self._rows), self.max_length)
        if longest(self._bounds) <= self.min_length:
            raise UserError(
                f"{self.name}: max_depth={self.max_depth} and max_args={self.max_args} give at most "
                f"{longest(self._bounds)} tokens, so min_length must be below that, got {self.min_length}"
            )

    @property
    def _bounds(self) -> Bounds:
        return Bounds(self.min_length, self.max_length, self.max_depth, self.max_args)

    @property
    def seq_len(self) -> int:
        """max_length: room for the longest expression, of max_length - 1 tokens, and <eos>."""
        return self.max_length

    @property
    def _rows(self) -> tuple[int, int, int]:
        return self.examples, self.held_out, self.held_out

    def load(self, kind: Kind, folder: Path | None = None, tell: Tell = quiet) -> Splits:
        """Three splits; inputs (n, seq_len) uint8, labels (n,) int64, lengths (n,) int32.

        Args:
            kind: real, from ``folder/listops-1000/basic_{train,val,test}.tsv``, or generated.
            folder: of the unpacked archive.
            tell: told how many expressions there are.

        Raises:
            MissingDataError: if a file is missing.
            UserError: for a file that is not as published, and for options that the published files have not.
        """
        parts = self._read(folder, tell) if kind == "real" else self._generate(tell)
        train, validation, test = (self._split(trees) for trees in parts)
        return Splits(train, validation, test)

    def _generate(self, tell: Tell) -> list[Trees]:
        trees = generate(sum(self._rows), self._bounds, self.draw, tell)
        ends = np.cumsum(self._rows)[:-1]
        parts = zip(*(np.split(array, ends) for array in trees), strict=True)
        return [Trees(*part) for part in parts]

    def _read(self, folder: Path | None, tell: Tell) -> list[Trees]:
        self._demand_published_sizes()
        paths = [present(folder, name) for name in FILES]
        parts: list[Trees] = []
        for path, rows in zip(paths, self._rows, strict=True):
            report = beyond(sum(len(part.values) for part in parts), sum(self._rows), tell)
            parts.append(read_tsv(path, rows, self.max_length - 1, report))
        return parts

    def _demand_published_sizes(self) -> None:
        published = {field.name: field.default for field in fields(self)}
        for name in GENERATED_ONLY:
            given = getattr(self, name)
            if given != published[name]:
                raise UserError(
                    f"{self.name}: the published files have {name}={published[name]}, got {given}; "
                    f"leave it out, or take generated data"
                )

    def _split(self, trees: Trees) -> Split:
        """With room for <eos>, and with it where it is asked for."""
        inputs = np.pad(trees.tokens, ((0, 0), (0, 1)))
        if self.eos:
            inputs[np.arange(len(inputs)), trees.lengths] = EOS
        return Split(inputs, trees.values, trees.lengths + np.int32(self.eos))


def present(folder: Path | None, name: str) -> Path:
    """The path of a file of the archive. Raises MissingDataError if it is not there."""
    path = Path(folder or "", "listops-1000", name)
    if folder is None or not path.is_file():
        raise MissingDataError(f"lra-listops needs the file {path}, which is not there; get the archive lra/listops")
    return path


def beyond(done: int, total: int, tell: Tell) -> Callable[[int], None]:
    """Reports what is done beyond so much."""
    return lambda more: tell(done + more, total)
