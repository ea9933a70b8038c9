"""Pathfinder: the order of the published splits, its files, and the geometry of generated images."""

import numpy as np
import pytest
from frameworks import INSTALLED
from PIL import Image

from benchmark.spec import UserError
from benchmark.tasks.base import MissingDataError
from benchmark.tasks.pathfinder import Pathfinder, PathX, order, split_ends
from benchmark.tasks.pathfinder_images import CHUNK, chunk, disc_stamp, draw, paddle_stamps, shrink
from benchmark.tasks.pathfinder_scenes import scenes
from benchmark.tasks.pathfinder_style import RIM, STYLES, moves, unit
from benchmark.tasks.permutation import randperm

STYLE = STYLES[32]


def test_randperm_is_that_of_torch():
    assert randperm(10, 42).tolist() == [2, 6, 1, 8, 4, 5, 0, 9, 3, 7]
    assert randperm(0).tolist() == [] and randperm(1).tolist() == [0]


@pytest.mark.skipif("torch" not in INSTALLED, reason="compares with torch")
@pytest.mark.parametrize(("n", "seed"), [(2, 42), (97, 0), (20_000, 42), (1000, 2**32 - 1)])
def test_randperm_against_torch(n, seed):
    import torch

    theirs = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    assert np.array_equal(randperm(n, seed), theirs.numpy())


def test_split_sizes():
    assert split_ends(200_000, "s4") == split_ends(200_000, "lra") == [160_000, 180_000]
    assert split_ends(199_999, "s4") == [160_001, 180_000]
    assert split_ends(199_999, "lra") == [159_999, 179_999]
    assert order(5, "lra").tolist() == [0, 1, 2, 3, 4]
    assert sorted(order(50, "s4")) == list(range(50))


def picture(index, size=32):
    return np.random.default_rng(index).integers(0, 256, (size, size), np.uint8)


LINE = "imgs/{folder} sample_{file}.png {file} {label} 1.0 14 4 2 0.5 1 2.0\n"


def write_level(folder, size=32, tables=(10, 2), each=5):
    """A level of the release: folder 10 before 2 by name, but 2 before 10 by number. Image i has label i % 2."""
    for start, number in enumerate(sorted(tables)):
        (folder / f"imgs/{number}").mkdir(parents=True)
        lines = []
        for file in range(each):
            index = start * each + file
            Image.fromarray(picture(index, size)).save(folder / f"imgs/{number}/sample_{file}.png")
            lines.append(LINE.format(folder=number, file=file, label=index % 2))
        (folder / "metadata").mkdir(exist_ok=True)
        (folder / f"metadata/{number}.npy").write_text("".join(lines))
    return folder


@pytest.fixture
def level(tmp_path):
    return write_level(tmp_path / "pathfinder32/curv_contour_length_14")


def read(tmp_path, examples=10, **options):
    return Pathfinder(examples=examples, **options).load("real", tmp_path)


def test_published_files_in_order(level, tmp_path):
    splits = read(tmp_path, split="lra")
    assert [len(part.labels) for part in splits[:3]] == [8, 1, 1]
    images = np.concatenate([part.inputs for part in splits[:3]])
    assert images.dtype == np.uint8 and images.shape == (10, 1024, 1)
    assert all(np.array_equal(image.reshape(32, 32), picture(index)) for index, image in enumerate(images))
    assert np.concatenate([part.labels for part in splits[:3]]).tolist() == [0, 1] * 5


def test_published_files_as_s4_splits_them(level, tmp_path):
    splits = read(tmp_path)
    images = np.concatenate([part.inputs for part in splits[:3]]).reshape(-1, 32, 32)
    drawn = [2, 6, 1, 8, 4, 5, 0, 9, 3, 7]
    assert all(np.array_equal(image, picture(index)) for index, image in zip(drawn, images, strict=True))
    assert np.concatenate([part.labels for part in splits[:3]]).tolist() == [index % 2 for index in drawn]


def test_true_arrays_of_strings_are_read_too(level, tmp_path):
    before = read(tmp_path)
    for path in level.glob("metadata/*.npy"):
        rows = [line.split() for line in path.read_text().splitlines()]
        np.save(path, np.array(rows))
    assert all(np.array_equal(a.inputs, b.inputs) for a, b in zip(before[:3], read(tmp_path)[:3], strict=True))


@pytest.mark.parametrize(("pixels", "lowest"), [("centred", -1), ("unit", 0)])
def test_pixels(level, tmp_path, pixels, lowest):
    affine = read(tmp_path, pixels=pixels).affine
    scaled = (np.array([0, 51, 255], np.float32) - affine.mean) / affine.sd
    assert scaled.dtype == np.float32
    assert scaled == pytest.approx([lowest, lowest + 0.2 * (1 - lowest), 1])


def test_a_level_that_is_not_there_is_named(level, tmp_path):
    assert Pathfinder().lacks(tmp_path) == []
    assert Pathfinder(level="9").lacks(tmp_path) == ["pathfinder32/curv_contour_length_9"]
    assert PathX().lacks(tmp_path) == ["pathfinder128/curv_contour_length_14"]


def test_other_levels_and_sizes(tmp_path):
    write_level(tmp_path / "pathfinder32/curv_baseline")
    write_level(tmp_path / "pathfinder128/curv_contour_length_9", 128)
    assert read(tmp_path, level="baseline").train.inputs.shape == (8, 1024, 1)
    assert PathX(examples=10, level="9").load("real", tmp_path).train.inputs.shape == (8, 16384, 1)
    with pytest.raises(
        MissingDataError, match=r"lra-pathx needs the folder .*curv_contour_length_14.*lra/pathfinder128"
    ):
        PathX().load("real", tmp_path)
    with pytest.raises(MissingDataError, match="lra-pathfinder needs the folder"):
        Pathfinder().load("real")


def test_the_one_empty_image_of_the_release_is_skipped(level, tmp_path):
    (level / "imgs/2/sample_3.png").write_bytes(b"")
    splits = read(tmp_path, split="lra")
    images = np.concatenate([part.inputs for part in splits[:3]]).reshape(-1, 32, 32)
    assert len(images) == 9
    assert np.array_equal(images[3], picture(4))


def test_more_empty_images_are_refused(level, tmp_path):
    for number in (1, 3, 4):
        (level / f"imgs/2/sample_{number}.png").write_bytes(b"")
    message = r"2/sample_1\.png must be an image, got an empty file, as are 2 more; unpack the archive anew"
    with pytest.raises(UserError, match=message) as caught:
        read(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_missing_image(level, tmp_path):
    (level / "imgs/10/sample_1.png").unlink()
    with pytest.raises(UserError, match=r"10\.npy, line 2: names the image .*10/sample_1\.png, which is not there"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("save", "message"),
    [
        (lambda path: Image.fromarray(picture(0, 64)).save(path), "must be 32 x 32 of mode L, got 64 x 64 of mode L"),
        (lambda path: Image.new("RGB", (32, 32)).save(path), "must be 32 x 32 of mode L, got 32 x 32 of mode RGB"),
        (lambda path: path.write_bytes(path.read_bytes()[:200]), "must be a PNG image"),
        (lambda path: path.write_text("<html>"), "must be a PNG image"),
    ],
)
def test_bad_images(level, tmp_path, save, message):
    path = level / "imgs/2/sample_0.png"
    save(path)
    with pytest.raises(UserError, match=rf"2/sample_0\.png.* {message}") as found:
        read(tmp_path)
    assert "\n" not in str(found.value)


def save_pickled(path):
    np.save(path, np.array([["imgs/2", None]], dtype=object))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_text("imgs/2 sample_0.png\n"), "line 1: folder, file, number and a label 0 or 1"),
        (lambda path: path.write_text("imgs/2 sample_0.png 0 7\n"), "line 1: .* got 'imgs/2 sample_0.png 0 7'"),
        (lambda path: path.write_text("<!DOCTYPE html>"), "line 1: .* got '<!DOCTYPE html>'"),
        (lambda path: path.write_bytes(b"\xff\x00"), "must be a table of text"),
        (lambda path: path.write_bytes(b"\x93NUMPY\x01\x00"), "must be a table of text"),
        (save_pickled, "must be a table of text"),
        (lambda path: path.write_text(LINE.format(folder=2, file=0, label=0)), "metadata must name 10 images, got 6"),
        (lambda path: np.save(path, np.array("text")), "must be a table of text"),
    ],
)
def test_bad_tables(level, tmp_path, spoil, message):
    spoil(level / "metadata/2.npy")
    with pytest.raises(UserError, match=message) as found:
        read(tmp_path)
    assert "\n" not in str(found.value)


def test_no_tables(level, tmp_path):
    for path in level.glob("metadata/*"):
        path.unlink()
    with pytest.raises(MissingDataError, match=r"no tables .*metadata"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"examples": 9}, "at least 10"), ({"level": "6"}, "unknown lra-pathfinder level '6'; known: 14, 9, baseline")],
)
def test_options_are_checked(options, message):
    with pytest.raises(UserError, match=message):
        Pathfinder(**options)


def test_published_files_have_no_draw(level, tmp_path):
    with pytest.raises(UserError, match="draw=2 is of generated data"):
        read(tmp_path, draw=2)


# Generated images: snakes (n, p, 3) of paddles (row, column, degrees), the first paddle told by its tail.

CASES = [(32, 14), (32, 6), (128, 6)]


@pytest.fixture(scope="module", params=CASES, ids=str)
def made(request):
    size, contour = request.param
    return STYLES[size], contour, scenes(np.random.default_rng(3), STYLES[size], contour, 60)


def axes(style, snakes):
    """Tails and heads (..., p, 2) in the order of growth."""
    ends = snakes[..., :2].astype(float)
    others = ends - style.length * unit(snakes[..., 2])
    tails, heads = others.copy(), ends.copy()
    tails[..., 0, :], heads[..., 0, :] = ends[..., 0, :], others[..., 0, :]
    return tails, heads


def samples(style, snakes):
    """Points along the paddles (n, points, 2), half a pixel apart."""
    tails, heads = axes(style, snakes)
    share = np.linspace(0, 1, 2 * style.length + 1)[:, None]
    points = tails[..., None, :] * (1 - share) + heads[..., None, :] * share
    return points.reshape(len(points), -1, 2)


def test_discs_lie_on_one_snake_where_the_label_says_so(made):
    _, _, scene = made
    tips = scene.targets[:, :, [0, -1], :2]
    for discs, ends, label in zip(scene.discs, tips, scene.labels, strict=True):
        begins = [snake for snake in (0, 1) if (ends[snake, 0] == discs[0]).all()]
        stops = [snake for snake in (0, 1) if (ends[snake, 1] == discs[1]).all()]
        assert len(begins) == len(stops) == 1
        assert (begins == stops) == (label == 1)


def test_snakes_go_on_smoothly(made):
    """From head to next tail it is about two margins; no turn reaches a right angle over continuity."""
    style, contour, scene = made
    assert scene.targets.shape == (60, 2, contour, 3)
    tails, heads = axes(style, scene.targets)
    gaps = np.linalg.norm(tails[..., 1:, :] - heads[..., :-1, :], axis=-1)
    assert gaps.max() <= 2 * max(style.margins) + 1
    assert gaps.min() >= np.sqrt(2) * min(style.margins) - 1
    degrees = np.degrees(np.arctan2(*np.moveaxis(heads - tails, -1, 0)))
    turns = np.abs((np.diff(degrees, axis=-1) + 180) % 360 - 180)
    assert turns.max() <= 90 / style.continuity + 1


def test_snakes_keep_their_distance(made):
    """Paddles of different snakes are never nearer than the pixels that they take allow."""
    style, _, scene = made
    snakes = [scene.targets[:, 0], scene.targets[:, 1], *np.moveaxis(scene.distractors, 1, 0)]
    points = [samples(style, snake) for snake in snakes]
    present = [(snake[:, 0, 0] > 0) for snake in snakes]
    assert present[0].all() and present[1].all() and np.mean(present[2:]) > 0.7
    least = 2 * (style.thickness / 2 + min(style.margins) - RIM) - np.sqrt(2)
    for one in range(len(snakes)):
        for two in range(one):
            both = present[one] & present[two]
            distance = np.linalg.norm(points[one][both][:, :, None] - points[two][both][:, None], axis=-1)
            assert distance.min(initial=np.inf) > max(least, 0.2)


def test_paddles_stay_inside(made):
    style, contour, scene = made
    expected = {(32, 14): (5, 4), (32, 6): (10, 2), (128, 6): (17, 2)}[style.size, contour]
    assert scene.distractors.shape[1:3] == expected
    for snakes in (scene.targets, scene.distractors):
        points = samples(style, snakes[snakes[..., 0, 0] > 0]) - style.edge
        assert points.min() >= style.padding - 0.5
        assert points.max() <= style.size - 1 - style.padding + 0.5


def test_images_show_the_scene(made):
    style, _, scene = made
    images = draw(style, scene)
    assert images.dtype == np.uint8 and images.shape == (60, style.size, style.size)
    rows = np.arange(60)[:, None]
    assert (images[rows, *np.moveaxis(scene.discs - style.edge, -1, 0)] == 255).all()
    tails, heads = axes(style, scene.targets)
    middles = np.rint((tails + heads) / 2).astype(int).reshape(60, -1, 2) - style.edge
    assert (images[rows, *np.moveaxis(middles, -1, 0)] > 40).all()
    assert 0.05 < (images > 0).mean() < 0.7


@pytest.mark.parametrize("size", STYLES)
def test_turns_follow_the_squared_cosine(size):
    """Free of all obstacles the mean of |x| under cos^2 x is (pi^2 - 4) / 4 pi, over continuity."""
    style = STYLES[size]
    candidates, weights = (table[0] for table in moves(style))
    turns = np.abs((candidates[..., 2] - np.arange(360)[:, None] + 180) % 360 - 180)
    expected = np.degrees((np.pi**2 - 4) / (4 * np.pi)) / style.continuity
    assert (turns * weights).sum() / weights.sum() == pytest.approx(expected, rel=0.05)


def test_straight_on_is_the_heaviest_move():
    """A paddle that points along its row ends at (0, 0): the pivot is (0, 1), and 3 beyond it lies (0, 4)."""
    candidates, weights = (table[0, 0, 0] for table in moves(STYLE))
    assert candidates[0].tolist() == [0, 4, 0] and weights[0] == 1
    places = {(row, column): weight for (row, column, _), weight in zip(candidates, weights, strict=True) if weight}
    assert places[3, 2] == pytest.approx(0.1)  # tan of the turn is 3
    assert (3, 1) not in places and (0, -2) not in places
    assert places == pytest.approx({(-row, column): weight for (row, column), weight in places.items()})


def test_stamps():
    assert shrink(np.ones((26, 26))) == pytest.approx(np.ones((13, 13)))
    for style in STYLES.values():
        stamps, disc = paddle_stamps(style) / 255, disc_stamp(style) / 255
        assert disc.sum() == pytest.approx(np.pi * style.marker_radius**2, rel=0.05)
        assert disc[len(disc) // 2, len(disc) // 2] == 1
        share = stamps.sum((1, 2)) / (style.contrast * style.length * style.thickness)
        assert ((share > 0.95) & (share < 1.45)).all()
        assert np.array_equal(stamps[0], stamps[180][:, ::-1]) and np.array_equal(stamps[0], stamps[90].T)


def test_chunks_hang_on_their_number_alone():
    later, earlier = chunk(32, 9, 1, 5), chunk(32, 9, 1, 2)
    assert np.array_equal(chunk(32, 9, 1, 5)[0], later[0])
    assert not np.array_equal(earlier[0], later[0])
    assert not np.array_equal(chunk(32, 9, 2, 5)[0], later[0])
    assert len(np.unique(later[0].reshape(CHUNK, -1), axis=0)) == CHUNK


def test_images_are_balanced():
    labels = np.concatenate([chunk(32, 6, 1, index)[1] for index in range(6)])
    assert abs(labels.mean() - 0.5) < 3.3 * 0.5 / np.sqrt(len(labels))


def test_generated_splits():
    told = []
    options = {"level": "baseline", "examples": CHUNK + 50}
    splits = Pathfinder(split="lra", **options).load("generated", tell=lambda *a: told.append(a))
    assert told == [(250, 300), (300, 300)]
    assert [part.inputs.shape for part in splits[:3]] == [(240, 1024, 1), (30, 1024, 1), (30, 1024, 1)]
    images = np.concatenate([part.inputs for part in splits[:3]]).reshape(-1, 32, 32)
    labels = np.concatenate([part.labels for part in splits[:3]])
    for index, part in ((0, slice(CHUNK)), (1, slice(CHUNK, None))):
        made, answers = chunk(32, 6, 1, index)
        assert np.array_equal(images[part], made[: len(images[part])])
        assert np.array_equal(labels[part], answers[: len(labels[part])])
    shuffled = Pathfinder(**options).load("generated")
    drawn = order(300, "s4")
    assert np.array_equal(shuffled.train.inputs[:, :, 0], images.reshape(300, -1)[drawn[:240]])
    assert np.array_equal(shuffled.test.labels, labels[drawn[270:]])


@pytest.mark.full
def test_generated_path_x():
    splits = PathX(examples=10).load("generated")
    assert splits.train.inputs.shape == (8, 16384, 1)
    assert splits.train.inputs.max() == 255
