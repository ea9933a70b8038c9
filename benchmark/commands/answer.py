"""The command that answers questions from results."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmark.commands.options import RUNS, Json
from benchmark.commands.results import read_results
from benchmark.console import NOTHING_MEASURED, leave, say, show_json, use_color, warn

if TYPE_CHECKING:
    from benchmark.reports.answers import Answer, Question


def answer(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[QUESTION|RESULTS]",
            help="Questions, such as Q3, and results folders or files; all questions if none.",
        ),
    ] = [],
    json: Json = False,
) -> None:
    """Answer what reviewers ask, from results: all in brief, named ones in full; exit 3 if nothing could be judged."""
    from benchmark.reports.answers import answers, questions
    from benchmark.reports.environments import environment_lines
    from benchmark.reports.results import latest

    known = questions()
    asked, results = split(words, known)
    rows, _ = read_results(results or [RUNS] * RUNS.exists(), needed=False)
    if not rows:
        warn(f"no results in {', '.join(map(str, results or [RUNS]))}: only formulas can be judged")
    found = answers(rows, [known[name] for name in asked] or None)
    if json:
        show_json([_values(entry, known[entry.id]) for entry in found])
    else:
        _show(found, in_full=bool(asked), machines=environment_lines(latest(rows)))
    if all(entry.verdict == "not measured" for entry in found):
        warn("none of it could be judged: the commands above measure what is missing")
        leave(NOTHING_MEASURED)


def split(words: Sequence[str], known: "dict[str, Question]") -> tuple[list[str], list[Path]]:
    """Ids of questions, whatever their case, and paths.

    Raises:
        UserError: naming the known ones, for a word like a question's id that is neither.
    """
    from benchmark.spec.errors import unknown

    ids = {name.lower(): name for name in known}
    asked, results = [], []
    for word in words:
        if word.lower() in ids:
            asked.append(ids[word.lower()])
        elif word[:1] in "qQ" and word[1:].isdigit() and not Path(word).exists():
            raise unknown("question", word, known)
        else:
            results.append(Path(word))
    return list(dict.fromkeys(asked)), results


def _show(found: "Sequence[Answer]", in_full: bool, machines: "Sequence[str]") -> None:
    """As wide as the terminal, or unfolded where there is none; with what E1, E2, ... are if there are several."""
    from benchmark.reports.answers.text import brief, full

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if in_full:
        texts = [full(entry, width, use_color(sys.stdout), sys.stdout.encoding) for entry in found]
    else:
        texts = [brief(entry, width) for entry in found]
        texts.append(f"`rotbench answer {found[0].id}` shows one with its table, caveats, cells and commands.")
    say("\n\n".join([*texts, *(["\n".join(machines)] if len(machines) > 1 else [])]))


def _values(entry: "Answer", question: "Question") -> dict[str, Any]:
    """An answer with how it was made."""
    from benchmark.reports.as_json import answer_values

    how = {"needs": question.needs, "statistic": question.statistic, "rule": question.rule}
    return answer_values(entry) | {"how": how}
