"""Writes docs/cli.md from the commands themselves: python tests/cli_page.py."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

HEADER = """# Commands

Made by `make docs` from the commands themselves; a test holds it to them.

Exit codes: 0 ok, 1 a check failed, 2 usage, 3 nothing measured or incomparable, 4 some cells failed, 130 interrupted.
"""


def page():
    import typer

    from cli import app

    group = typer.main.get_command(app)
    return "\n".join([HEADER, *(section(name, command) for name, command in leaves(group.commands))])


def leaves(commands, before=""):
    """Commands by their full names, those of groups after them."""
    for name, command in commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command.commands, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def section(name, command):
    usage = " ".join(
        [f"rotbench {name}", *(f"[{p.name.upper()}]" for p in command.params if not p.opts[0].startswith("-"))]
    )
    lines = [f"## {name}", f"`{usage}`", command.help.strip(), "", "| option | default | |", "|---|---|---|"]
    rows = [f"| `{', '.join(p.opts)}` | {default(p)} | {p.help or ''} |" for p in command.params if p.name != "help"]
    return "\n".join([lines[0], "", lines[1], "", lines[2], *(lines[3:] + rows if rows else []), ""])


def default(param):
    value = param.default
    if isinstance(getattr(param, "show_default", None), str):
        return f"`{param.show_default}`" if param.show_default else ""
    if value in (None, [], ()):
        return ""
    if isinstance(value, list | tuple):
        return f"`{','.join(map(str, value))}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    (ROOT / "docs" / "cli.md").write_text(page())
