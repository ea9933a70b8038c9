"""ListOps: random trees against exact laws and a plain evaluator, and the published files."""

import itertools
import statistics
import time

import numpy as np
import pytest

from benchmark.spec import UserError
from benchmark.tasks.base import MissingDataError
from benchmark.tasks.listops import ListOps
from benchmark.tasks.listops_tokens import OPERATORS, VOCABULARY, Level, evaluate, write
from benchmark.tasks.listops_trees import BATCH, Bounds, draw_level, generate, grow, keep
from benchmark.tasks.listops_tsv import nest, read_tsv, write_tsv

PUBLISHED = Bounds(500, 2000, 10, 10)
SHORT = Bounds(31, 129, 6, 10)
TOKEN = {word: token for token, word in enumerate(VOCABULARY)}


def words(tokens, length):
    return [VOCABULARY[token] for token in tokens[:length]]


def value_of(text):
    """The plain evaluator: of a list of words, consumed from the front."""
    word = text.pop(0)
    if word.isdigit():
        return int(word)
    values = []
    while text[0] != "]":
        values.append(value_of(text))
    text.pop(0)
    assert 2 <= len(values) <= 10
    return {"[MIN": min, "[MAX": max, "[MED": median, "[SM": lambda v: sum(v) % 10}[word](values)


def median(values):
    return int(statistics.median(values))


def depth_of(text):
    open_now = np.cumsum([word in OPERATORS for word in text]) - np.cumsum([word == "]" for word in text])
    return open_now.max() + 1


def length_law(max_depth, max_args, cut):
    """Probability of each length below ``cut``: lists are sums, so laws are convolved, from the deepest level up."""
    leaf = np.zeros(cut)
    leaf[1] = 1
    law = leaf
    for _ in range(max_depth - 1):
        power, lists = law, np.zeros(cut)
        for _ in range(2, max_args + 1):
            power = np.convolve(power, law)[:cut]
            lists[2:] += power[:-2] / (max_args - 1)
        law = 0.75 * leaf + 0.25 * lists
    return law


def test_lengths_follow_the_exact_law():
    """Of the published sizes 8.3 % are kept, 1,035 tokens long on average; 5 % are below 538, 5 % above 1,799."""
    law = length_law(10, 10, 2000)
    kept = law[501:] / law[501:].sum()
    length = np.arange(501, 2000)
    assert law[501:].sum() == pytest.approx(0.0855, abs=0.003)
    assert kept @ length == pytest.approx(1048, rel=0.02)
    assert length[np.searchsorted(kept.cumsum(), (0.05, 0.5, 0.95))].tolist() == [538, 954, 1799]

    batches = [grow(np.random.default_rng(seed), BATCH, PUBLISHED)[1] for seed in range(5)]
    lengths = np.concatenate(batches)
    found = np.bincount(lengths[lengths < 2000], minlength=2000) / len(lengths)
    assert np.abs(found.cumsum() - law.cumsum()).max() < 1.63 / np.sqrt(len(lengths))  # Kolmogorov at 1 %


def test_nodes_are_drawn_uniformly():
    level = draw_level(np.random.default_rng(0), np.zeros(200_000, int), True, 10)
    branching = level.children > 0
    assert branching.mean() == pytest.approx(0.25, abs=0.005)
    for drawn, size in ((level.children[branching] - 2, 9), (level.kind[branching], 4), (level.digit[~branching], 10)):
        assert np.bincount(drawn) / len(drawn) == pytest.approx(np.full(size, 1 / size), abs=0.01)


@pytest.mark.parametrize("bounds", [PUBLISHED, SHORT, Bounds(3, 40, 3, 4)])
def test_values_are_those_of_a_plain_evaluator(bounds):
    trees = generate(60, bounds, 1)
    for tokens, length, value in zip(*trees, strict=True):
        text = words(tokens, length)
        assert bounds.min_length < length < bounds.max_length
        assert depth_of(text) <= bounds.max_depth
        assert not tokens[length:].any()
        rest = list(text)
        assert value_of(rest) == value
        assert rest == []


@pytest.mark.parametrize(
    ("operator", "values", "result"),
    [
        ("[MIN", [4, 2, 9], 2),
        ("[MAX", [4, 2, 9], 9),
        ("[MED", [4, 2, 9], 4),
        ("[MED", [9, 3, 4, 0], 3),  # 3.5, truncated
        ("[MED", [0, 9], 4),
        ("[SM", [4, 2, 9], 5),
    ],
)
def test_operators(operator, values, result):
    kind = np.array([OPERATORS.index(operator)])
    assert evaluate(kind, np.array([len(values)]), np.array(values)).tolist() == [result]


def test_a_tree_written_by_hand():
    """[MED 2 [SM 7 8 ] 4 9 ]: the sum is 5, and the median of 2 5 4 9 is 4.5."""
    root = Level(*(np.array([x]) for x in (0, OPERATORS.index("[MED"), 4, 0)))
    middle = Level(np.zeros(4, int), np.array([0, 3, 0, 0]), np.array([0, 2, 0, 0]), np.array([2, 0, 4, 9]))
    bottom = Level(np.zeros(2, int), np.zeros(2, int), np.zeros(2, int), np.array([7, 8]))
    trees = write([root, middle, bottom], np.array([9]), 11)
    assert words(trees.tokens[0], 9) == ["[MED", "2", "[SM", "7", "8", "]", "4", "9", "]"]
    assert trees.values.tolist() == [4]
    nested = "( ( ( ( ( [MED 2 ) ( ( ( [SM 7 ) 8 ) ] ) ) 4 ) 9 ) ] )"
    assert nest(trees.tokens[0][:9]) == nested


def test_trees_are_distinct_and_the_same_every_time():
    trees = generate(3000, SHORT, 1)
    assert len({row.tobytes() for row in trees.tokens}) == 3000
    fewer = generate(50, SHORT, 1)
    assert all(np.array_equal(a[:50], b) for a, b in zip(trees, fewer, strict=True))
    assert not np.array_equal(generate(50, SHORT, 2).tokens, fewer.tokens)


def test_small_worlds_run_out():
    """Of 4 tokens there are 4 operators on 10 x 10 digits."""
    assert len(generate(400, Bounds(3, 5, 2, 10), 1).values) == 400
    with pytest.raises(UserError, match=r"401 distinct .* were asked for, but only 400 were found with 3 <"):
        generate(401, Bounds(3, 5, 2, 10), 1)


def test_growth_of_wide_lists_is_abandoned():
    assert generate(5, Bounds(3, 200, 3, 10_000), 1).lengths.max() < 200


def test_generated_splits():
    told = []
    task = ListOps(min_length=31, max_length=129, max_depth=6, examples=500, held_out=40)
    splits = task.load("generated", tell=lambda *a: told.append(a))
    assert [len(part.labels) for part in splits[:3]] == [500, 40, 40]
    for part in splits[:3]:
        assert part.inputs.dtype == np.uint8 and part.lengths.dtype == np.int32 and part.labels.dtype == np.int64
        assert part.inputs.shape[1] == task.seq_len == 129
        assert (part.inputs[np.arange(len(part.labels)), part.lengths - 1] == TOKEN["<eos>"]).all()
        assert ((part.inputs > 0).sum(1) == part.lengths).all()
        assert part.lengths.min() > 32 and part.lengths.max() <= 129
    assert told[-1] == (580, 580)
    plain = ListOps(eos=False, min_length=31, max_length=129, max_depth=6, examples=500, held_out=40).load("generated")
    assert (plain.test.lengths == splits.test.lengths - 1).all()
    assert (plain.train.inputs == np.where(splits.train.inputs == TOKEN["<eos>"], 0, splits.train.inputs)).all()


@pytest.fixture(scope="module")
def trees():
    return generate(12, PUBLISHED, 1)


@pytest.fixture
def release(tmp_path, trees):
    """The three files in the published layout, of 6, 3 and 3 expressions."""
    (tmp_path / "listops-1000").mkdir()
    for name, rows in (("train", slice(6)), ("val", slice(6, 9)), ("test", slice(9, 12))):
        write_tsv(tmp_path / f"listops-1000/basic_{name}.tsv", type(trees)(*(part[rows] for part in trees)))
    return tmp_path


def test_published_files_are_read_as_they_were_written(release):
    options = {"examples": 6, "held_out": 3}
    told = []
    real = ListOps(**options).load("real", release, lambda *a: told.append(a))
    made = ListOps(**options).load("generated")
    for mine, theirs in zip(real[:3], made[:3], strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))
    assert told[-1] == (12, 12)
    text = (release / "listops-1000/basic_train.tsv").read_bytes()
    assert text.startswith(b"Source\tTarget\r\n( ( ")
    assert text.count(b"\r\n") == text.count(b"\n") == 7


def test_line_ends_may_be_plain(release):
    path = release / "listops-1000/basic_val.tsv"
    before = read_tsv(path, 3, 1999)
    path.write_bytes(path.read_bytes().replace(b"\r", b""))
    assert all(np.array_equal(a, b) for a, b in zip(before, read_tsv(path, 3, 1999), strict=True))


ROW = b"( ( ( [MAX 2 ) 9 ) ] )\t9\r\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE html><html>no such file</html>", "line 1: the file is a web page"),
        (b"a\tb\tc\r\n", "line 1: the header must be Source, tab, Target, got 'a"),
        (b"", "line 1: the header must be Source"),
        (
            b"Source\tTarget\r\n" + ROW + b"( ( [MAX 2 )\r\n",
            "line 3: there must be 2 columns, Source and Target, got 1",
        ),
        (b"Source\tTarget\r\n( ( ( [MAX 2 ) 9 ) ] )\t9\t1\r\n", "line 2: there must be 2 columns.* got 3"),
        (b"Source\tTarget\r\n( ( ( [AVG 2 ) 9 ) ] )\t9\r\n", r"line 2: unknown token '\[AVG'; known: 0 1"),
        (b"Source\tTarget\r\n( ( ( [MAX 2 ) 9 ) ] )\t10\r\n", "line 2: the target must be one of 0..9, got '10'"),
        (b"Source\tTarget\r\n\t1\r\n", "line 2: an expression must have 1..1,999 tokens, got 0"),
        (
            b"Source\tTarget\r\n" + b"1 " * 2000 + b"\t1\r\n",
            "line 2: an expression must have 1..1,999 tokens, got 2,000",
        ),
        (b"Source\tTarget\r\n" + ROW + ROW[:-2], "line 3: the last line must end with a line break"),
        (b"Source\tTarget\r\n" + ROW, "must hold 6 expressions, got 1"),
        (b"Source\tTarget\r\n" + ROW * 7, "must hold 6 expressions, got 7"),
        (b"Source\tTarget\r\n\xff\xfe\t1\r\n", "line 2: unknown token"),
    ],
)
def test_bad_files_are_named_with_the_line(release, content, message):
    path = release / "listops-1000/basic_train.tsv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"basic_train.tsv.*{message}") as found:
        ListOps(examples=6, held_out=3).load("real", release)
    assert "\n" not in str(found.value)


def test_missing_files(release):
    (release / "listops-1000/basic_val.tsv").unlink()
    with pytest.raises(MissingDataError, match=r"basic_val\.tsv, which is not there"):
        ListOps().load("real", release)
    with pytest.raises(MissingDataError, match=r"basic_train\.tsv"):
        ListOps().load("real")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_length": 128, "max_length": 129}, "strictly between min_length and max_length, got 128 and 129"),
        ({"max_depth": 1}, "max_depth and max_args must be at least 2, got 1 and 10"),
        ({"max_depth": 3}, "give at most 122 tokens, so min_length must be below that, got 500"),
        ({"examples": 0}, "examples must be a positive integer"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(UserError, match=message):
        ListOps(**options)


@pytest.mark.parametrize("name", ["min_length", "max_length", "max_args", "draw"])
def test_published_files_have_no_other_sizes(name, release):
    value = {"min_length": 400, "max_length": 1000, "max_args": 9, "draw": 2}[name]
    with pytest.raises(UserError, match=f"the published files have {name}=.*, got {value}"):
        ListOps(**{name: value}).load("real", release)


def test_kept_trees_are_renumbered():
    levels, lengths = keep(*grow(np.random.default_rng(0), 500, SHORT), SHORT)
    assert np.unique(levels[0].tree).tolist() == list(range(len(lengths)))
    assert all(len(below.tree) == above.children.sum() for above, below in itertools.pairwise(levels))


@pytest.mark.full
def test_the_published_number_of_trees_takes_minutes():
    start = time.process_time()
    assert generate(100_000, PUBLISHED, 1).lengths.mean() == pytest.approx(1035, abs=5)
    assert time.process_time() - start < 300
