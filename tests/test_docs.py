"""Documentation is held to the code."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli_page import page
from frameworks import INSTALLED

from benchmark.spec import LAYERS
from benchmark.tasks import TASKS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^\$ (.+)$", README, flags=re.MULTILINE)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_page_of_commands_is_up_to_date():
    assert (ROOT / "docs/cli.md").read_text() == page(), "run make docs"


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("rotbench")])
def test_commands_in_the_readme_parse(command):
    import typer

    from cli import app

    group, words = typer.main.get_command(app), shlex.split(command)[1:]
    while hasattr(group, "commands"):
        name, *words = words
        group = group.commands[name]
    group.make_context(name, words)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make")])
def test_make_targets_exist(command):
    assert re.search(rf"^{command.split()[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.mark.skipif("torch" not in INSTALLED, reason="the example is in torch")
def test_the_python_example_runs():
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_and_paths_lead_somewhere(path):
    text = path.read_text()
    for target in re.findall(r"\]\(([^)#]+)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if "://" not in target:
            assert (path.parent / target).exists(), target
    for name in re.findall(r"`((?:benchmark|layers_torch|layers_jax|tests|docs|requirements)/[\w./]+)[`:]", text):
        if "NAME" not in name:
            assert (ROOT / name).exists(), name


@pytest.mark.parametrize("name", [*LAYERS, *TASKS])
def test_everything_that_can_be_asked_for_is_documented(name):
    assert name in README.lower()


def test_ci_runs_the_readmes_test_command():
    assert "make test" in (ROOT / ".ci/run").read_text()
    assert "make test" in COMMANDS


def test_a_ci_job_runs_the_slow_tests_of_reports_as_contributors_do():
    """All files of the command are there, and among them the one that skips itself without a Chromium."""
    (command,) = re.findall(r"python -m pytest -n 0 -m full [^`\n]*", (ROOT / "CONTRIBUTING.md").read_text())
    assert f"run: {command}\n" in (ROOT / ".github/workflows/tests.yml").read_text()
    named = re.findall(r"tests/\S+", command)
    assert "tests/test_html.py" in named and all("mark.full" in (ROOT / name).read_text() for name in named)


@pytest.mark.full
@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("rotbench")])
def test_commands_in_the_readme_run(command, tmp_path_factory):
    """In the README's order and one folder, so that `report` finds what the others left."""
    folder = tmp_path_factory.getbasetemp() / "readme"
    folder.mkdir(exist_ok=True)
    words = shlex.split(command)[1:]
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv = ['rotbench', *{words!r}]; import cli; cli.main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
