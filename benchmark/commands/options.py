"""Options that commands share, and the settings of a sweep as options. Light to import."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer
from pydantic.fields import FieldInfo

from benchmark.sweeps.config import PRESETS, Sweep, resolve
from benchmark.sweeps.recipe import Recipe

Words = list[str]
Layer = Annotated[Words, typer.Option("--layer", help="A layer, several by commas, or all; see rotbench list.")]
Framework = Annotated[Words, typer.Option("--framework", help="torch, jax, or all that are installed.")]
Settings = Annotated[Words, typer.Option("--set", help="A layer option, as in heads=16 or s5.blocks=4; repeat it.")]
Folder = Annotated[Path, typer.Option("--out", help="Folder for the results.")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout instead of a table.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for another sweep on the device to end.")]
Inline = Annotated[bool, typer.Option("--inline", help="Measure in this very process, for a debugger.")]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Stop at the first cell that fails.")]
NoSkip = Annotated[bool, typer.Option("--no-skip", help="Measure larger cells too after one ran out of memory.")]
Again = Annotated[
    bool, typer.Option("--again", help="Measure again what has a row already; trainings that were broken off go on.")
]
Retry = Annotated[Words, typer.Option("--retry", help="Measure again rows of these statuses: oom, failed, ...")]
First = Annotated[
    Words, typer.Option("--framework", help="torch, jax or all; the first that is installed if left out.")
]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1.")]
Threads = Annotated[int, typer.Option("--threads", help="Processors that a process may use; 0 for all.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder of data sets; else ROTBENCH_DATA, else the user's own.")
]
RUNS = Path("results/runs")

Command = Callable[..., None]


EFFORT = ("threads", "processes", "budget_s", "target", "timeout_s", "memory_limit", "start")
"""Settings that say how hard to try, not what to measure."""


def with_settings(only: Iterable[str] = (), without: Iterable[str] = (), **base: Any) -> Callable[[Command], Command]:
    """Give a command every setting of a sweep as an option, with --preset and --config.

    The function gets them as ``resolved``; ``base`` holds defaults of its own. ``only`` names the
    settings that the command heeds, all if empty, and ``without`` those that it does not.
    """
    heeded = [name for name in Sweep.model_fields if (not only or name in only) and name not in without]
    options = {name: option for name, option in _setting_options(base).items() if name in heeded}
    added = {"preset": _preset_option(), "config": _config_option(), **options}

    def register(function: Command) -> Command:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            preset, file = given.pop("preset"), given.pop("config")
            named = [(Sweep.model_fields[name].alias or name, given.pop(name)) for name in heeded]
            overrides = {name: value for name, value in named if value not in (None, [])}
            function(resolved=resolve(overrides, preset, file, base), **given)

        own = [p for p in inspect.signature(function).parameters.values() if p.name != "resolved"]
        command.__signature__ = inspect.Signature([*own, *added.values()])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in (*own, *added.values())}
        return command

    return register


def _setting_options(base: Mapping[str, Any]) -> dict[str, inspect.Parameter]:
    """Each setting of a sweep as an option that is None unless given; ``base`` holds other defaults."""
    found = {}
    for name, field in Sweep.model_fields.items():
        flag = "--" + (field.alias or name).replace("_", "-")
        value = base.get(name, field.default)
        default = ",".join(value) if isinstance(value, list) else str(value)
        option = typer.Option(flag, help=field.description, show_default=default)
        hint = field.annotation
        kind: Any = hint if hint in (int, float) else Words if get_origin(hint) is list else str
        found[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
        )
    return found


def with_recipe(function: Command) -> Command:
    """Give a command the values of a recipe as options; the function gets those that were given as ``overrides``."""
    fields = {name: field for name, field in Recipe.model_fields.items() if field.description}
    added = {name: _recipe_option(name, field) for name, field in fields.items()}
    for name, text in (("d_model", "Features."), ("d_state", "State size in each paper's own meaning.")):
        added[name] = _optional(name, int, text)

    @functools.wraps(function)
    def command(**given: Any) -> None:
        overrides = {name: given.pop(name) for name in added}
        function(overrides={name: value for name, value in overrides.items() if value is not None}, **given)

    own = [p for p in inspect.signature(function).parameters.values() if p.name != "overrides"]
    command.__signature__ = inspect.Signature([*own, *added.values()])  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in (*own, *added.values())}
    return command


def _recipe_option(name: str, field: FieldInfo) -> inspect.Parameter:
    kinds = [kind for kind in (bool, int, float) if field.annotation in (kind, kind | None)]
    return _optional(name, kinds[0] if kinds else str, field.description or "")


def _optional(name: str, kind: Any, text: str) -> inspect.Parameter:
    """An option that is None unless given."""
    flag = "--" + name.replace("_", "-")
    option = typer.Option(f"{flag}/--no-{flag[2:]}" if kind is bool else flag, help=text, show_default="preset's")
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _preset_option() -> inspect.Parameter:
    option = typer.Option("--preset", help=f"Settings that ship with the tool: {', '.join(PRESETS)}.")
    return inspect.Parameter(
        "preset", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


def _config_option() -> inspect.Parameter:
    option = typer.Option("--config", help="TOML file with a table named sweep; rotbench.toml here is read anyway.")
    return inspect.Parameter(
        "config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[Path | None, option]
    )
