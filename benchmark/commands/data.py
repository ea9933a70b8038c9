"""Commands on data sets: what there is, what is here, and how it gets here."""

from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.options import DataDir, Json, Settings, Words
from benchmark.console import CHECK_FAILED, NOTHING_MEASURED, OK, Progress, leave, say, show, show_json, warn

if TYPE_CHECKING:
    from benchmark.tasks import Task

data_app = typer.Typer(help="Data sets: get them, look at them, check them.", no_args_is_help=True)

Names = Annotated[Words, typer.Argument(help="Data sets such as imdb, or parts such as lra/listops; all if left out.")]


@data_app.command("list")
def data_list() -> None:
    """List the data sets, their parts, and the tasks that read them."""
    from benchmark.reports.datasets import source_table

    show(source_table())


@data_app.command("status")
def data_status(names: Names = [], data_dir: DataDir = None, json: Json = False) -> None:
    """Say what of the data is here, exactly which files are missing, and what to do."""
    from benchmark.data import folder
    from benchmark.data.cache import cache_root
    from benchmark.data.examine import addresses
    from benchmark.data.files import size_bytes
    from benchmark.reports.datasets import state_json, state_table

    place = folder.data_dir(data_dir)
    states = [folder.state(address, place) for address in addresses(names)]
    if json:
        show_json([state_json(state) for state in states])
    else:
        show(state_table(states, place, size_bytes(cache_root(place))))


@data_app.command("get")
def data_get(
    names: Annotated[Words, typer.Argument(help="Data sets such as imdb, or parts such as lra/listops.")],
    url: Annotated[
        str | None,
        typer.Option("--url", help="A mirror: https://, http://, file:// or a path; a folder if it ends with /."),
    ] = None,
    data_dir: DataDir = None,
    keep_archive: Annotated[bool, typer.Option("--keep-archive", help="Keep the archive once it is unpacked.")] = False,
) -> None:
    """Download, verify and unpack data sets; what was interrupted goes on from where it stopped."""
    from benchmark.data.folder import data_dir as folder
    from benchmark.data.get import get, refuse_one_address_for_many

    refuse_one_address_for_many(names, url)
    with Progress("getting data") as progress:
        for name in names:
            root = get(name, folder(data_dir), url, keep_archive, progress.advance, progress.say)
            say(str(root))


@data_app.command("make")
def data_make(
    task: Annotated[str, typer.Argument(help="A task; see rotbench list.")],
    settings: Settings = [],
    data: Annotated[str, typer.Option("--data", help="auto, real, generated, stand-in.")] = "auto",
    data_dir: DataDir = None,
) -> None:
    """Read or draw the data of a task, and keep them where training reads them at once."""
    from benchmark.data import cache
    from benchmark.data.files import size_bytes
    from benchmark.data.folder import data_dir as folder
    from benchmark.reports.datasets import made_line

    made, place = _task_with(task, settings), folder(data_dir)
    with Progress(f"making {task}") as progress:
        kind = cache.choose(made, data, place, progress.advance, progress.say)
        if kind == "stand-in":
            warn(f"{task}: the real data are not here; this is a stand-in, another and easier task")
        splits = cache.load(made, kind, place, progress.advance, progress.say)
    kept = cache.cached_at(made, kind, place)
    say(made_line(task, kind, splits, kept, size_bytes(kept) if kept else 0))


@data_app.command("check")
def data_check(names: Names = [], data_dir: DataDir = None) -> None:
    """Check sums of archives, counts of files and sums of caches; exit 1 if one is wrong, 3 if none is here.

    With names, caches of the tasks that read these data sets alone. A damaged cache is deleted: it is made again.
    """
    from benchmark.data.examine import addresses, examine, examine_caches
    from benchmark.data.folder import data_dir as folder
    from benchmark.reports.datasets import finding_table
    from benchmark.tasks import readers

    place, listed = folder(data_dir), addresses(names)
    with Progress("checking") as progress:
        findings = examine(listed, place, progress.advance)
        findings += examine_caches(place, readers(listed) if names else None, progress.advance)
    if not findings:
        warn(f"nothing to check in {place}: get data with `rotbench data get NAME`, or name another --data-dir")
        leave(NOTHING_MEASURED)
    show(finding_table(findings))
    leave(OK if all(finding.good for finding in findings) else CHECK_FAILED)


def _task_with(name: str, settings: Words) -> "Task":
    """The task of that name, with ``--set`` words such as level=9 for its options."""
    from benchmark.spec.errors import unknown
    from benchmark.sweeps.grid import options
    from benchmark.tasks import TASKS, task

    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return task(name, options([name], {name: TASKS[name].option_names()}, settings)[name])
