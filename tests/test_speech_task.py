"""Speech Commands: a small archive in the published layout, broken recordings, and the tones that stand in."""

import struct
import wave

import numpy as np
import pytest

from benchmark.spec import UserError
from benchmark.tasks.base import MissingDataError
from benchmark.tasks.clips import clips, read_clip
from benchmark.tasks.speech import EPSILON, WORDS, SpeechCommands, moments
from benchmark.tasks.tones import MANNERS, PITCHES_HZ, tones


def write_clip(path, samples, rate_hz=16_000, channels=1, width=2):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width, rate_hz, 0, "NONE", "not compressed"))
        file.writeframes(np.asarray(samples, "<i2").tobytes())
    return path


def write_archive(folder, words=("yes", "bed"), count=4):
    """Recording i of word w holds 100 w + i, 10 samples and more; numbers 2 and 3 are held out."""
    for w, word in enumerate(words):
        for i in range(count):
            write_clip(folder / word / f"0a_nohash_{i}.wav", np.full(10 + i, 100 * w + i))
    write_clip(folder / "_background_noise_" / "tap.wav", np.zeros(99))
    (folder / "validation_list.txt").write_text("".join(f"{word}/0a_nohash_2.wav\n" for word in words))
    (folder / "testing_list.txt").write_text("".join(f"{word}/0a_nohash_3.wav\n" for word in words))
    return folder


def test_lists_split_the_recordings(tmp_path):
    told = []
    task = SpeechCommands(words="yes,bed")
    splits = task.load("real", write_archive(tmp_path), lambda *seen: told.append(seen))
    assert task.classes == ("bed", "yes") and task.outputs == 2
    assert splits.train.inputs.shape == (4, 16_000, 1) and splits.train.inputs.dtype == np.int16
    assert splits.train.labels.tolist() == [0, 0, 1, 1] and splits.train.labels.dtype == np.int64
    assert splits.train.inputs[:, 0, 0].tolist() == [100, 101, 0, 1]
    assert splits.validation.inputs[:, 0, 0].tolist() == [2, 102] and splits.validation.labels.tolist() == [1, 0]
    assert splits.test.inputs[1, 12, 0] == 103 and (splits.test.inputs[1, 13:] == 0).all()
    assert told[-1] == (8, 8)


def test_every_position_is_standardised_by_the_training_set(tmp_path):
    splits = SpeechCommands(words="yes,bed").load("real", write_archive(tmp_path))
    mean, sd = splits.affine
    assert mean.shape == sd.shape == (16_000, 1) and mean.dtype == sd.dtype == np.float32
    values = [100, 101, 0, 1]
    assert mean[0, 0] == pytest.approx(np.mean(values)) and sd[0, 0] == pytest.approx(np.std(values) + EPSILON)
    assert mean[10, 0] == pytest.approx(np.mean([0, 101, 0, 1]))
    assert mean[11, 0] == 0 and sd[11, 0] == pytest.approx(EPSILON)


def test_or_all_positions_are_standardised_alike():
    inputs = np.random.default_rng(0).integers(-32_768, 32_768, (600, 50, 1)).astype(np.int16)
    mean, sd = moments(inputs, "global")
    assert mean.shape == sd.shape == (1, 1)
    assert mean[0, 0] == pytest.approx(inputs.mean(), rel=1e-6)
    assert sd[0, 0] == pytest.approx(inputs.std() + EPSILON, rel=1e-6)
    assert moments(inputs, "position").sd[7, 0] == pytest.approx(inputs[:, 7].std() + EPSILON, rel=1e-6)


def test_the_slower_test_set_is_every_second_sample(tmp_path):
    splits = SpeechCommands(words="yes,bed").load("real", write_archive(tmp_path))
    slower = splits.extra["8khz"]
    assert slower.step == 2.0
    assert np.array_equal(slower.split.inputs, splits.test.inputs[:, ::2])
    assert np.shares_memory(slower.split.inputs, splits.test.inputs)
    assert np.array_equal(slower.affine.mean, splits.affine.mean[::2])
    assert slower.affine.sd.shape == (8_000, 1)


def test_a_stride_keeps_some_samples(tmp_path):
    task = SpeechCommands(words="yes,bed", stride=3)
    splits = task.load("real", write_archive(tmp_path))
    assert splits.train.inputs.shape == (4, task.seq_len, 1) == (4, 5334, 1)
    assert splits.train.inputs[1, :5, 0].tolist() == [101] * 4 + [0]  # samples 0, 3, 6, 9 of 11
    assert list(SpeechCommands(stride=16, examples=35, held_out=35).load("stand-in").extra) == ["0.5khz"]


def test_missing_words_lists_and_files_are_named(tmp_path):
    write_archive(tmp_path)
    with pytest.raises(MissingDataError, match="must hold cat, down, five, forward, go and 28 more; "):
        SpeechCommands().load("real", tmp_path)
    (tmp_path / "bed" / "0a_nohash_2.wav").unlink()
    message = r"validation_list\.txt names must be there, 1 of 2 are missing: bed/0a_nohash_2\.wav; "
    with pytest.raises(MissingDataError, match=message):
        SpeechCommands(words="yes,bed").load("real", tmp_path)
    (tmp_path / "validation_list.txt").unlink()
    with pytest.raises(MissingDataError, match=r"must hold validation_list\.txt; "):
        SpeechCommands(words="yes,bed").load("real", tmp_path)


def test_a_split_without_recordings_is_refused(tmp_path):
    write_archive(tmp_path, count=4)
    (tmp_path / "testing_list.txt").write_text("")
    with pytest.raises(MissingDataError, match="must hold recordings for test, got none"):
        clips("speech-commands", tmp_path, ("bed", "yes"))


@pytest.mark.parametrize("line", ["<!DOCTYPE html>", "bed/../x.wav", "./bed/0a.wav", "bed"])
def test_a_list_must_be_one(tmp_path, line):
    write_archive(tmp_path)
    (tmp_path / "testing_list.txt").write_text(f"bed/0a_nohash_3.wav\n{line}\n")
    with pytest.raises(UserError, match=r"testing_list\.txt must be a list of WORD/FILE\.wav, got line 2: "):
        SpeechCommands(words="yes,bed").load("real", tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate_hz": 8_000}, "must be a recording of 16,000 samples a second, got 8,000"),
        ({"channels": 2}, "must be a recording of 1 channel, got 2"),
        ({"width": 1}, "must be a recording of 16 bits a sample, got 8"),
        ({"samples": np.zeros(16_001)}, "must be a recording of 1 to 16,000 samples, got 16,001"),
        ({"samples": []}, "must be a recording of 1 to 16,000 samples, got 0"),
    ],
)
def test_other_recordings_are_refused_in_one_line(tmp_path, options, message):
    path = write_clip(tmp_path / "a.wav", **{"samples": np.zeros(100), **options})
    with pytest.raises(UserError, match=rf"a\.wav {message}; get the archive again"):
        read_clip(path)


def test_cut_and_foreign_files_are_refused_in_one_line(tmp_path):
    path = write_clip(tmp_path / "a.wav", np.arange(100))
    whole = path.read_bytes()
    assert len(whole) == 44 + 200 and read_clip(path).tolist() == list(range(100))
    as_float = whole[:20] + struct.pack("<h", 3) + whole[22:]
    for raw, message in (
        (whole[:-51], "must be whole, with 100 samples, got 74"),
        (whole[:30], "must be a RIFF wave file, got one that is not"),
        (b"", "must be a RIFF wave file, got one that is not \\(it ends early\\)"),
        (b"<html></html>", "must be a RIFF wave file, got one that is not"),
        (as_float, "must be a RIFF wave file, got one that is not"),
    ):
        path.write_bytes(raw)
        with pytest.raises(UserError, match=rf"a\.wav {message}") as caught:
            read_clip(path)
        assert "\n" not in str(caught.value)


def test_tones_of_one_word_differ_and_are_repeatable():
    task = SpeechCommands(stride=16, examples=70, held_out=35)
    splits, again = task.load("stand-in"), task.load("stand-in")
    assert np.bincount(splits.train.labels).tolist() == [2] * 35 == [2 * n for n in np.bincount(splits.test.labels)]
    sounds = np.concatenate([part.inputs for part in splits[:3]])
    assert sounds.dtype == np.int16 and sounds.shape == (140, 1000, 1) and len({s.tobytes() for s in sounds}) == 140
    assert np.array_equal(splits.test.inputs, again.test.inputs)


def test_a_tone_has_the_pitch_of_its_word():
    """The strongest frequency lies within 6 % of a steady word's pitch, and goes up by half where it is broken."""
    times_s = np.arange(16_000) / 16_000
    steady, broken = tones(np.array([4, 4 + 7 * MANNERS.index("broken")]), times_s, np.random.default_rng(0))
    pitch_hz = PITCHES_HZ[4]
    assert np.abs(np.fft.rfft(steady)).argmax() == pytest.approx(pitch_hz, rel=0.065)
    halves = [2 * np.abs(np.fft.rfft(half)).argmax() for half in (broken[:8000], broken[8000:])]
    assert halves[0] == pytest.approx(pitch_hz, rel=0.075) and halves[1] == pytest.approx(1.5 * pitch_hz, rel=0.075)


def test_a_stand_in_of_some_words_is_made_of_their_tones():
    task = SpeechCommands(words="zero,bed", stride=4, examples=10, held_out=4)
    splits = task.load("stand-in")
    assert sorted(splits.train.labels.tolist()) == [0] * 5 + [1] * 5
    strongest = [np.abs(np.fft.rfft(s[:2000, 0])).argmax() * 2 for s in splits.train.inputs]
    pitches = {0: PITCHES_HZ[0], 1: PITCHES_HZ[6]}  # bed is the first steady word, zero the last broken one
    assert all(f == pytest.approx(pitches[c], rel=0.075) for f, c in zip(strongest, splits.train.labels, strict=True))


def test_there_are_35_words():
    assert len(set(WORDS)) == 35 == SpeechCommands().outputs
    assert SpeechCommands.chance == 1 / 35


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": "yes,maybe"}, "unknown speech-commands word 'maybe'; known: all, bed, cat, "),
        ({"words": "yes"}, "words must be two or more, got yes; or say all"),
        ({"words": 3}, "words must be all, or names with commas between, got 3"),
        ({"stride": 16_000}, "stride must be at most 8,000, got 16,000"),
        ({"examples": 100_000}, "examples x steps must be at most 1,073,741,824 to be drawn, got 1,600,000,000"),
        ({"standardise": "clip"}, "unknown speech-commands standardise 'clip'; known: position, global"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(UserError, match=message):
        SpeechCommands(**options)
