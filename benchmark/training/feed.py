"""Batches: in an order that hangs on seed and epoch alone, as a model reads them, made ahead by workers if asked."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmark.data.arrays import release
from benchmark.spec import UserError
from benchmark.tasks.base import Affine, Split

Opener = Callable[[], tuple[Split, Affine | None]]
"""Opens a training set in a worker; it is pickled, so it names the data and does not hold it."""


LOST = (
    "a data worker must live as long as its training, one of {workers} was killed or ended, perhaps for want of memory;"
    " give fewer --workers, or 0 to read without; the same command goes on from the last checkpoint"
)


def rows_by_step(examples: int, batch: int, seed: int, first: int, total: int) -> Iterator[np.ndarray]:
    """The rows of each batch from step ``first`` to ``total``; what is left over of an epoch is dropped.

    >>> [rows.tolist() for rows in rows_by_step(5, 2, 0, 1, 3)] == [
    ...     rows.tolist() for rows in rows_by_step(5, 2, 0, 0, 3)
    ... ][1:]
    True
    """
    per_epoch = examples // batch
    for epoch in range(first // per_epoch, -(-total // per_epoch)):
        order = np.random.default_rng([seed, epoch]).permutation(examples)
        for step in range(max(first, epoch * per_epoch), min(total, (epoch + 1) * per_epoch)):
            at = (step - epoch * per_epoch) * batch
            yield order[at : at + batch]


def read(split: Split, affine: Affine | None, rows: np.ndarray) -> Split:
    """Some examples as a model reads them: int32 tokens or float32 numbers.

    Of pairs, all first documents come first, then all second ones: inputs (2 n, length), lengths (2 n,).
    """
    order = np.argsort(rows, kind="stable")  # a file on disk is read forwards
    taken = [None if array is None else array[rows[order]][np.argsort(order)] for array in split]
    for array in split:
        if array is not None:
            release(array)
    inputs, labels, lengths = taken
    assert inputs is not None
    if inputs.dtype.kind in "iu" and affine is None:
        inputs = inputs.astype(np.int32)
        if inputs.ndim == 3:
            inputs = inputs.swapaxes(0, 1).reshape(-1, inputs.shape[-1])
            lengths = None if lengths is None else lengths.T.reshape(-1)
    else:
        inputs = inputs.astype(np.float32)
        if affine is not None:
            inputs = (inputs - affine.mean) / affine.sd
    return Split(inputs, labels, None if lengths is None else lengths.astype(np.int32))  # type: ignore[arg-type]


def feed(split: Split, affine: Affine | None, order: Iterator[np.ndarray]) -> Iterator[Split]:
    """The batches of an order, read when they are needed."""
    for rows in order:
        yield read(split, affine, rows)


def feed_ahead(opener: Opener, order: Iterator[np.ndarray], workers: int) -> Iterator[Split]:
    """The same batches, read by spawned processes two batches ahead each: forking would hang a running framework.

    Raises:
        UserError: if a process ends without its answer, such as one that the system killed for its memory.
    """
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_open, initargs=(opener,)) as pool:
        waiting: deque[Future[Split]] = deque()
        try:
            for rows in order:
                waiting.append(pool.submit(_read, rows))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise UserError(LOST.format(workers=workers)) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_opened: dict[str, Any] = {}


def _open(opener: Opener) -> None:
    _opened["split"], _opened["affine"] = opener()


def _read(rows: np.ndarray) -> Split:
    return read(_opened["split"], _opened["affine"], rows)
