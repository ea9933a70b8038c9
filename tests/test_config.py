"""Settings: which source wins, and what no source may say."""

import pytest

from benchmark.spec import UserError
from benchmark.sweeps.config import PRESETS, Sweep, read_preset, resolve


def test_later_sources_win(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rotbench.toml").write_text('[sweep]\nbatch = 3\nd_model = 5\nset = ["heads=2"]\n')
    sweep, origins = resolve({"d_model": ["6"]}, preset="quick", base={"direction": ["step"]})
    assert (sweep.batch, sweep.d_model, sweep.d_state) == (["3"], ["6"], ["64"])
    assert sweep.settings == ["heads=2"]
    assert origins["batch"] == "rotbench.toml"
    assert origins["d_model"] == "command line"
    assert origins["d_state"] == "preset quick"
    assert origins["direction"] == "preset quick"
    assert origins["dtype"] == "default"


def test_a_named_file_takes_the_place_of_the_usual_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rotbench.toml").write_text("[sweep]\nbatch = 3\n")
    (tmp_path / "other.toml").write_text("[sweep]\nthreads = 1\n")
    sweep, _ = resolve({}, file=tmp_path / "other.toml")
    assert (sweep.batch, sweep.threads) == (["8"], 1)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid_and_say_what_they_are(name):
    assert Sweep.model_validate(read_preset(name))
    from importlib import resources

    text = resources.files("benchmark.sweeps").joinpath(f"presets/{name}.toml").read_text()
    assert text.startswith("# ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sweep\n", "is not TOML"),
        ("[sweep]\nlayers = 'lru'\n", "unknown setting in .*bad.toml 'layers'; known: layer, framework"),
        ("[sweep]\nthreads = 'many'\n", "threads in .*bad.toml: input should be a valid integer"),
        ("[sweep]\nmatch = 'size'\n", "match in .*bad.toml: input should be 'none', 'state'"),
        ("sweep = 3\n", "must be a table"),
    ],
)
def test_a_bad_file_is_named(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        resolve({}, file=path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_an_unknown_preset(tmp_path):
    with pytest.raises(UserError, match="no configuration at"):
        resolve({}, file=tmp_path / "nowhere.toml")
    with pytest.raises(UserError, match="unknown preset 'huge'; known: quick, cpu, gpu, paper"):
        resolve({}, preset="huge")
