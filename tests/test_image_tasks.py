"""CIFAR-10 and MNIST: small files in the published formats."""

import gzip
import pickle
import struct

import numpy as np
import pytest

from benchmark.spec import UserError
from benchmark.tasks.base import MissingDataError
from benchmark.tasks.cifar import FILES, ColourCifar, GreyCifar, grey
from benchmark.tasks.mnist import Mnist
from benchmark.tasks.permutation import randperm
from benchmark.tasks.unpickle import load_arrays


def short_string(text):
    return b"U" + bytes([len(text)]) + text


def integer(value):
    return b"J" + struct.pack("<i", value)


def python2_array(array):
    """An array of bytes as Python 2 and its NumPy wrote it, in opcodes of protocol 2."""
    empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + integer(0) + b"\x85" + short_string(b"b")
    dtype = b"cnumpy\ndtype\n" + short_string(b"u1") + integer(0) + integer(1) + b"\x87R"
    dtype += b"(" + integer(3) + short_string(b"|") + b"NNN" + integer(-1) + integer(-1) + integer(0) + b"tb"
    shape = b"(" + b"".join(map(integer, array.shape)) + b"t"
    raw = b"T" + struct.pack("<i", array.nbytes) + array.tobytes()
    return empty + b"\x87R(" + integer(1) + shape + dtype + b"\x89" + raw + b"tb"


def python2_batch(data, labels):
    items = short_string(b"batch_label") + short_string(b"testing batch 1 of 1")
    items += short_string(b"labels") + b"](" + b"".join(map(integer, labels)) + b"e"
    return b"\x80\x02}(" + items + short_string(b"data") + python2_array(data) + b"u."


def write_cifar(folder, count=8):
    """Six files of images, drawn by seed; returns images (6, count, 3, 1024) and labels."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (len(FILES), count, 3, 1024), np.uint8)
    labels = rng.integers(0, 10, (len(FILES), count))
    (folder / "cifar-10-batches-py").mkdir()
    for name, data, classes in zip(FILES, images, labels, strict=True):
        raw = python2_batch(data.reshape(count, 3072), classes.tolist())
        (folder / "cifar-10-batches-py" / name).write_bytes(raw)
    return images, labels


def test_colour_pixels_come_row_by_row_with_three_channels(tmp_path):
    images, labels = write_cifar(tmp_path)
    told = []
    splits = ColourCifar(validation="lra").load("real", tmp_path, lambda *seen: told.append(seen))
    assert splits.train.inputs.shape == (36, 1024, 3) and splits.train.inputs.dtype == np.uint8
    assert np.array_equal(splits.train.inputs[9, :, 2], images[1, 1, 2])
    assert np.array_equal(splits.validation.labels, labels[4, -4:])
    assert np.array_equal(splits.test.inputs.transpose(0, 2, 1), images[5])
    assert splits.test.labels.dtype == np.int64 and np.array_equal(splits.test.labels, labels[5])
    mean, sd = splits.affine
    assert mean.dtype == sd.dtype == np.float32
    assert np.allclose((255 - mean) / sd, [[(1 - 0.4914) / 0.247, (1 - 0.4822) / 0.243, (1 - 0.4465) / 0.261]])
    assert told == [(i, 6) for i in range(1, 7)]


def test_s4_draws_its_validation_images(tmp_path):
    _, labels = write_cifar(tmp_path)
    splits = GreyCifar().load("real", tmp_path / "cifar-10-batches-py")
    order = randperm(40, 42)
    assert np.array_equal(splits.train.labels, labels[:5].ravel()[order[:36]])
    assert np.array_equal(splits.validation.labels, labels[:5].ravel()[order[36:]])


def test_grey_is_rounded_in_fixed_point(tmp_path):
    """Pillow's mode L of the same colours; the last one lies just above a half."""
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [1, 2, 3], [255, 255, 255], [1, 1, 7]], np.uint8)
    assert grey(colours).ravel().tolist() == [76, 150, 29, 2, 255, 2]
    images, _ = write_cifar(tmp_path)
    part = GreyCifar().load("real", tmp_path).test
    assert part.inputs.shape == (8, 1024, 1) and part.inputs.dtype == np.uint8
    exact = np.tensordot([0.299, 0.587, 0.114], images[5].astype(float), (0, 1))
    assert np.abs(part.inputs[:, :, 0] - exact).max() < 0.503


def test_grey_is_scaled_as_asked(tmp_path):
    write_cifar(tmp_path)
    s4, unit = (GreyCifar(normalise=n).load("real", tmp_path).affine for n in ("s4", "unit"))
    assert (127.5 - s4.mean) / s4.sd == pytest.approx((0.5 - 122.6 / 255) / (61 / 255))
    assert [(v - unit.mean) / unit.sd for v in (0, 255)] == [0, 1]


def test_a_pickle_that_names_anything_else_is_refused_unrun(tmp_path):
    class Call:
        def __reduce__(self):
            return print, ("run",)

    path = tmp_path / "evil"
    path.write_bytes(pickle.dumps({b"data": Call()}))
    with pytest.raises(UserError, match=r"evil: a pickle may hold arrays alone, got one that names 'builtins\.print'"):
        load_arrays(path)


def test_a_pickle_of_python_3_is_read_too(tmp_path):
    path = tmp_path / "new"
    path.write_bytes(pickle.dumps({b"data": np.arange(6, dtype=np.uint8).reshape(2, 3)}, protocol=3))
    assert load_arrays(path)[b"data"].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "a pickle, got a file that is cut"),
        (b"<html>", "a pickle, got a file that is cut or of another format"),
        (python2_batch(np.zeros((2, 3072), np.uint8), [0, 1])[:-100], "a pickle, got a file that is cut"),
        (pickle.dumps([1]), "a pickled dictionary, got list"),
        (pickle.dumps({b"labels": [1]}), r"a batch of CIFAR-10 with data \(n, 3072\) uint8, got NoneType"),
        (python2_batch(np.zeros((2, 3), np.uint8), [0, 1]), r"data \(n, 3072\) uint8, got uint8 \(2, 3\)"),
        (python2_batch(np.zeros((2, 3072), np.uint8), [0]), r"with 2 labels 0\.\.9, got \[0\]"),
        (python2_batch(np.zeros((2, 3072), np.uint8), [0, 10]), r"with 2 labels 0\.\.9, got \[0, 10\]"),
    ],
)
def test_files_that_are_no_batch_are_refused_in_one_line(tmp_path, raw, message):
    write_cifar(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_2").write_bytes(raw)
    with pytest.raises(UserError, match=f"data_batch_2 must be .*{message}") as caught:
        ColourCifar().load("real", tmp_path)
    assert "\n" not in str(caught.value)


def test_missing_batches_are_named(tmp_path):
    write_cifar(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "test_batch").unlink()
    with pytest.raises(MissingDataError, match=r"lra-image: .* must hold cifar-10-batches-py/test_batch; "):
        GreyCifar().load("real", tmp_path)


def idx(array):
    magic = {3: 2051, 1: 2049}[array.ndim]
    return struct.pack(f">{1 + array.ndim}i", magic, *array.shape) + array.astype(np.uint8).tobytes()


def write_mnist(folder, packed, count=24):
    images = np.random.default_rng(0).integers(0, 256, (count, 28, 28), np.uint8)
    labels = np.arange(count) % 10
    for part in ("train", "t10k"):
        for name, array in (("images-idx3", images), ("labels-idx1", labels)):
            raw = idx(array)
            path = folder / f"{part}-{name}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(raw, 1) if packed else raw)
    return images, labels


@pytest.mark.parametrize("packed", [False, True])
def test_mnist_is_read_packed_or_not(tmp_path, packed):
    images, labels = write_mnist(tmp_path, packed)
    task = Mnist()
    splits = task.load("real", tmp_path)
    assert [len(part.labels) for part in splits[:3]] == [22, 2, 24]
    assert splits.train.inputs.shape == (22, task.seq_len, 1) and splits.train.inputs.dtype == np.uint8
    assert np.array_equal(splits.validation.inputs[1], images[23].reshape(784, 1))
    assert splits.validation.labels.tolist() == [2, 3] and splits.test.labels.dtype == np.int64
    assert (255 * 0.1307 - splits.affine.mean) / splits.affine.sd == pytest.approx(0, abs=1e-6)
    assert np.array_equal(splits.test.labels, labels)


def test_small_images_are_means_of_four_pixels(tmp_path):
    images, _ = write_mnist(tmp_path, packed=False)
    task = Mnist(size="14")
    large, small = (t.load("real", tmp_path) for t in (Mnist(), task))
    assert small.test.inputs.shape == (24, task.seq_len, 1) == (24, 196, 1)
    scaled = (small.test.inputs[5, 14 * 3 + 2, 0] - small.affine.mean) / small.affine.sd
    mean = images[5, 6:8, 4:6].astype(float).mean()
    assert scaled == pytest.approx((mean - large.affine.mean) / large.affine.sd, rel=1e-5)


def test_a_permutation_moves_every_image_alike(tmp_path):
    write_mnist(tmp_path, packed=False)
    plain, moved = (Mnist(permuted=p).load("real", tmp_path) for p in (False, True))
    order = np.random.default_rng(0).permutation(784)
    for part, same in zip(moved[:3], plain[:3], strict=True):
        assert np.array_equal(part.inputs, same.inputs[:, order])


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("train-images-idx3", idx(np.zeros(3)), r"magic number 2051, got 2049 in 11 bytes"),
        ("train-images-idx3", b"<html>", r"magic number 2051, got 1013478509 in 6 bytes"),
        ("train-images-idx3", idx(np.zeros((24, 28, 28)))[:-1], r"18,816 bytes and a header, got 18,815"),
        ("train-images-idx3", idx(np.zeros((24, 14, 14))), r"images of 28 x 28, got \(14, 14\)"),
        ("train-images-idx3", gzip.compress(b"0" * 99)[:-9], "a whole gzip file, got one that is cut or dam"),
        ("t10k-labels-idx1", idx(np.zeros(5)), "24 labels, as many as t10k-images-idx3-ubyte has images, got 5"),
        ("t10k-labels-idx1", idx(np.full(24, 11)), r"labels 0\.\.9, got 11"),
    ],
)
def test_files_that_are_not_mnist_are_refused_in_one_line(tmp_path, name, raw, message):
    write_mnist(tmp_path, packed=False)
    (tmp_path / f"{name}-ubyte").write_bytes(raw)
    with pytest.raises(UserError, match=f"{name}-ubyte must be .*{message}") as caught:
        Mnist().load("real", tmp_path)
    assert "\n" not in str(caught.value)


def test_missing_mnist_files_are_named(tmp_path):
    with pytest.raises(MissingDataError, match=r"must hold train-images-idx3-ubyte\.gz, train-labels-idx1-ubyte\.gz"):
        Mnist().load("real", tmp_path)
