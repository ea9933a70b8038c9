"""Text and retrieval: small fixtures in the published formats, and what the stand-ins give away."""

import numpy as np
import pytest

from benchmark.spec import UserError
from benchmark.tasks import invented
from benchmark.tasks.base import MissingDataError
from benchmark.tasks.pairs import decoded, survey
from benchmark.tasks.retrieval import FILES, Retrieval
from benchmark.tasks.text import Text, hold_out
from benchmark.tasks.vocabulary import END, UNKNOWN, byte_tokens, vocabulary


def as_bytes(tokens, length):
    return bytes((tokens[:length] - 1).astype(np.uint8))


def test_bytes_are_tokens_from_1_to_256():
    assert byte_tokens(bytes(range(256))).tolist() == list(range(1, 257))


def test_a_vocabulary_counts_by_frequency_then_code_point():
    found = vocabulary(["aab", "bcé", "\U0001f600"], capacity=8, owner="x")
    assert found.size == 8
    assert found.encode("abcé\U0001f600z", 7).tolist() == [3, 4, 5, 6, 7, UNKNOWN, END]
    assert found.encode("abc", 3).tolist() == [3, 4, END]


def test_rare_characters_are_unknown_and_a_small_capacity_is_refused():
    found = vocabulary(["aab"], capacity=4, owner="x", min_count=2)
    assert found.size == 4 and found.encode("ab", 9).tolist() == [3, UNKNOWN, END]
    with pytest.raises(UserError, match=r"x: the vocabulary must fit 4 tokens, got 5; .*tokens=bytes"):
        vocabulary(["aab"], capacity=4, owner="x")


def write_reviews(folder, train=20, test=4):
    """Reviews t0g, t1g, ...: the part's letter, a number, g or b for the class."""
    for part, count in (("train", train), ("test", test)):
        for name in ("pos", "neg"):
            place = folder / part / name
            place.mkdir(parents=True)
            for i in range(count):
                (place / f"{i}_{7 if name == 'pos' else 2}.txt").write_bytes(f"{part[1]}{i}{name[0]}é".encode())
    (folder / "train" / "unsup").mkdir()
    (folder / "train" / "unsup" / "0_0.txt").write_text("no label")
    return folder


def test_reviews_become_bytes(tmp_path):
    told = []
    splits = Text(max_length=6).load("real", write_reviews(tmp_path), lambda *seen: told.append(seen))
    assert [len(part.labels) for part in splits[:3]] == [36, 4, 8]
    assert splits.train.inputs.dtype == np.uint16 and splits.train.labels.dtype == np.int64
    texts = [as_bytes(row, n) for row, n in zip(splits.test.inputs, splits.test.lengths, strict=True)]
    assert texts[:2] == ["e0né".encode(), "e1né".encode()] and texts[4] == "e0pé".encode()
    assert splits.test.labels.tolist() == [0] * 4 + [1] * 4
    assert splits.test.inputs[0].tolist() == [*(b + 1 for b in "e0né".encode()), 0]
    assert told[-1] == (48, 48)


def test_a_stratified_tenth_of_the_training_set_is_held_out(tmp_path):
    splits = Text(max_length=9).load("real", write_reviews(tmp_path))
    assert np.bincount(splits.validation.labels).tolist() == [2, 2]
    rows = {part: {row.tobytes() for row in getattr(splits, part).inputs} for part in ("train", "validation")}
    assert len(rows["train"] | rows["validation"]) == 40
    train, held = hold_out(np.repeat([0, 1], 12_500))
    assert len(held) == 2500 and len(train) == 22_500 and np.intersect1d(train, held).size == 0
    assert (held < 12_500).sum() == 1250 and (np.diff(held) > 0).all()


def test_the_test_set_validates_where_asked(tmp_path):
    splits = Text(max_length=9, validation="test").load("real", write_reviews(tmp_path))
    assert splits.validation is splits.test and len(splits.train.labels) == 40
    assert len(Text(max_length=9, validation="test", examples=6, held_out=2).load("stand-in").validation.labels) == 2


def test_characters_know_the_training_texts_alone(tmp_path):
    """``r`` and é occur in all 36 training texts, ``e`` in none of them."""
    task = Text(max_length=9, tokens="characters")
    splits = task.load("real", write_reviews(tmp_path))
    assert task.inputs == 135 and splits.test.inputs.dtype == np.uint8
    row = splits.test.inputs[0].tolist()  # e0né: e and 0 are unknown
    assert row[0] == UNKNOWN and row[4] == END and row[5:] == [0] * 4
    assert splits.train.inputs[0, 0] == 3  # r, before é of the same count


def test_texts_that_are_none(tmp_path):
    write_reviews(tmp_path)
    broken = tmp_path / "test" / "pos" / "0_7.txt"
    broken.write_bytes(b"\xff\xfe")
    assert Text(max_length=4).load("real", tmp_path).test.inputs[4].tolist() == [256, 255, 0, 0]
    with pytest.raises(UserError, match=r"0_7\.txt must be utf-8 for tokens=characters; choose tokens=bytes"):
        Text(tokens="characters").load("real", tmp_path)
    broken.write_bytes(b"")
    with pytest.raises(UserError, match=r"0_7\.txt must be a review, got an empty file"):
        Text().load("real", tmp_path)


def test_missing_reviews_are_named(tmp_path):
    with pytest.raises(MissingDataError, match="must hold train/neg, train/pos; `rotbench data status`"):
        Text().load("real", tmp_path)
    for name in ("neg", "pos"):
        (tmp_path / "train" / name).mkdir(parents=True)
    with pytest.raises(MissingDataError, match=r"train/neg must hold \*\.txt, got none"):
        Text().load("real", tmp_path)
    with pytest.raises(MissingDataError, match="the folder of the real data must be given"):
        Text().load("real")


ROWS = (
    rb"""1.0	P1	P2	b'a\nb\xc3\xa9'	b"it's" """.rstrip() + b"\n",
    b'0.0\tP3\tP4\tplain "text\tother\\n\r\n',
    b"1.0\tP5\tP6\t\tlost\n",
    b"0.0\tP7\tP8\tb''\tlost\n",
)


def write_pairs(folder, rows=ROWS):
    (folder / "tsv_data").mkdir()
    for name in FILES:
        (folder / name).write_bytes(b"".join(rows))
    return folder


def test_pairs_are_decoded_to_bytes(tmp_path):
    told = []
    splits = Retrieval(tokens="bytes", max_length=8).load("real", write_pairs(tmp_path), lambda *s: told.append(s))
    part = splits.validation
    assert part.inputs.shape == (2, 2, 8) and part.inputs.dtype == np.uint16
    assert part.labels.tolist() == [1, 0]
    assert part.lengths.tolist() == [[5, 4], [8, 7]]
    texts = [
        [as_bytes(row, n) for row, n in zip(*pair, strict=True)] for pair in zip(part.inputs, part.lengths, strict=True)
    ]
    assert texts == [["a\nbé".encode(), b"it's"], [b'plain "t', b"other\\n"]]
    assert (part.inputs[0, 0, 5:] == 0).all()
    assert told[-1] == (6, 6)


def test_rows_without_a_text_are_counted(tmp_path):
    assert survey(write_pairs(tmp_path) / FILES[0]) == (2, 2)


def test_raw_pairs_keep_the_literal(tmp_path):
    """Eighteen characters occur; the literal's b, quote and backslash are among them."""
    task = Retrieval(max_length=40)
    part = task.load("real", write_pairs(tmp_path)).train
    assert task.inputs == 101 and part.inputs.dtype == np.uint8
    assert part.lengths[0].tolist() == [len(r"b'a\nb\xc3\xa9'") + 1, len("""b"it's\"""") + 1]
    first, second = part.inputs[0]
    assert first[0] == first[5] == second[0]  # b
    assert first[1] == first[14] == second[4]  # '
    assert first[15] == second[7] == END
    assert UNKNOWN not in part.inputs


def test_no_more_is_decoded_than_is_read():
    text = b"b'" + rb"\xe9" * 1000 + b"'"
    assert decoded(text, 10) == b"\xe9" * 10
    assert decoded(rb"b'\\x41\''", 99) == rb"\x41'"
    assert decoded(b"b'", 9) == b"b'" and decoded(b"b'open", 9) == b"b'open"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((ROWS[0], b"1.0\tP\ttext\n"), r"train\.tsv must be rows of 5 columns between tabs, got 3 in line 2"),
        ((b"<!DOCTYPE html>\n",), r"train\.tsv must be rows of 5 columns between tabs, got a web page"),
        ((ROWS[0], b"yes\ta\tb\tc\td\n"), r"train\.tsv line 2: the label must be 0\.0 or 1\.0, got 'yes'"),
        ((b"2.0\ta\tb\tc\td\n",), r"line 1: the label must be 0\.0 or 1\.0, got '2\.0'"),
        ((b"nan\ta\tb\tc\td\n",), r"line 1: the label must be 0\.0 or 1\.0, got 'nan'"),
        ((b"1.0\ta\tb\tc\xff\td\n",), r"line 1 must be utf-8 for tokens=raw; choose tokens=bytes"),
        ((b"1.0\ta\tb\t" + "".join(map(chr, range(200, 400))).encode() + b"\td\n",), "must fit 101 tokens"),
    ],
)
def test_other_formats_are_refused_in_one_line(tmp_path, rows, message):
    with pytest.raises(UserError, match=message) as caught:
        Retrieval().load("real", write_pairs(tmp_path, rows))
    assert "\n" not in str(caught.value)


def test_missing_pairs_are_named(tmp_path):
    write_pairs(tmp_path)
    (tmp_path / FILES[1]).unlink()
    with pytest.raises(MissingDataError, match=r"must hold tsv_data/new_aan_pairs\.eval\.tsv; "):
        Retrieval().load("real", tmp_path)


SMALL = [
    Text(max_length=128, examples=400, held_out=100),
    Text(max_length=128, examples=400, held_out=100, tokens="characters"),
    Retrieval(max_length=128, examples=400, held_out=100),
    Retrieval(max_length=128, examples=400, held_out=100, tokens="bytes"),
]


@pytest.mark.parametrize("task", SMALL, ids=lambda task: f"{task.name}-{task.tokens}")
def test_stand_ins_fit_what_the_task_says(task):
    splits, again = task.load("stand-in"), task.load("stand-in")
    for part, same in zip(splits[:3], again[:3], strict=True):
        assert np.array_equal(part.inputs, same.inputs)
        assert part.inputs.shape[-1] == task.seq_len and part.inputs.max() < task.inputs
        assert np.bincount(part.labels).tolist() == [len(part.labels) // 2] * 2
        assert part.lengths.min() >= 64 and part.lengths.max() <= 128
        padding = np.arange(128) >= part.lengths[..., None]
        assert (part.inputs[padding] == 0).all() and (part.inputs[~padding] > 0).all()
    documents = [row.tobytes() for part in splits[:3] for row in part.inputs.reshape(-1, 128)]
    assert len(set(documents)) == len(documents)


def bigrams(rows):
    """Pairs of letters two places apart, which is how syllables follow each other: counts of 27 x 27."""
    letters = np.where(rows > 96, rows - 96, 0)
    both = np.where((letters[:, :-2] > 0) & (letters[:, 2:] > 0), 27 * letters[:, :-2] + letters[:, 2:], 0)
    return np.array([np.bincount(row, minlength=729) for row in both])[:, 1:]


def separated(counts, labels):
    """Share of right answers of naive Bayes on the second half, having seen the first."""
    half = len(labels) // 2
    seen = [1 + counts[:half][labels[:half] == c].sum(0) for c in (0, 1)]
    scores = [counts[half:] @ np.log(total / total.sum()) for total in seen]
    return ((scores[1] > scores[0]) == labels[half:]).mean()


def text_rows(count, length):
    texts, labels = invented.opinions(count, length, seed=0)
    rows = np.array([np.frombuffer(text.ljust(length, b" "), np.uint8) for text in texts], np.int64)
    return rows, labels


def test_single_bytes_do_not_tell_the_kinds_of_text_apart_but_their_order_does():
    rows, labels = text_rows(4000, 256)
    counts = np.array([np.bincount(row, minlength=128) for row in rows])
    assert abs(separated(counts, labels) - 0.5) < 0.05
    assert separated(bigrams(rows), labels) > 0.85


def test_lengths_and_places_do_not_tell_labels():
    for part in (SMALL[0].load("stand-in").train, SMALL[3].load("stand-in").train):
        lengths = part.lengths.reshape(len(part.labels), -1).mean(1)
        assert abs(np.corrcoef(lengths, part.labels)[0, 1]) < 0.15
        assert abs(np.corrcoef(np.arange(len(lengths)), part.labels)[0, 1]) < 0.15


def test_with_shuffled_labels_even_the_right_features_stay_at_chance():
    rows, labels = text_rows(4000, 256)
    shuffled = np.random.default_rng(0).permutation(labels)
    assert abs(separated(bigrams(rows), shuffled) - 0.5) < 0.05


def test_texts_of_one_source_are_more_alike():
    pairs, labels = invented.source_pairs(600, 512, seed=0)
    assert labels.sum() == 300
    counts = np.array([[np.bincount(np.frombuffer(t, np.uint8), minlength=128) for t in pair] for pair in pairs])
    shares = counts / counts.sum(2, keepdims=True)
    distance = np.abs(shares[:, 0] - shares[:, 1]).sum(1)
    right = ((distance < np.median(distance)) == labels).mean()
    assert right > 0.8


def test_opinions_of_both_kinds_have_the_same_letters():
    letters = invented.opinion_lexicon().letters
    n, k = invented.NEUTRAL_WORDS, invented.OPINION_WORDS
    assert len({row.tobytes() for row in letters}) == len(letters) == n + 2 * k
    assert np.array_equal(np.sort(letters[n : n + k]), np.sort(letters[n + k :]))


@pytest.mark.parametrize("task", [Text, Retrieval])
def test_sizes_are_checked(task):
    assert task(max_length=1, examples=2, held_out=2).load("stand-in").train.lengths.max() == 1
    with pytest.raises(UserError, match=r"examples x steps must be at most 1,073,741,824 to be drawn, got "):
        task(examples=10**9)
    with pytest.raises(UserError, match=f"{task.name}: max_length must be a positive integer"):
        task(max_length=0)
    with pytest.raises(UserError, match=f"unknown {task.name} tokens 'words'; known: "):
        task(tokens="words")
