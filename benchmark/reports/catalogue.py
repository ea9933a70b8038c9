"""What there is: layers, tasks, and what can run on this machine."""

from typing import Any, get_args, get_type_hints

from benchmark import backends
from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.reports.trained import score_text
from benchmark.spec import LAYERS
from benchmark.spec.algorithms import SCANS, VANDERMONDE
from benchmark.sweeps.config import Resolved
from benchmark.tasks import TASKS, Task
from benchmark.training.scoring import measure_of


def layer_table() -> Table:
    """Every layer, where it was published, and how it can be run."""
    rows = [
        [name, spec.source, ", ".join((*SCANS, VANDERMONDE) if spec.per_channel else SCANS)]
        for name, spec in LAYERS.items()
    ]
    return Table("Layers", ["layer", "source", "algorithms"], rows)


def option_table() -> Table:
    """Every option of every layer, for ``--set``."""
    rows = []
    for name, spec in LAYERS.items():
        hints = get_type_hints(spec)
        for option in spec.option_names():
            rows.append([name, option, _default(getattr(spec, option)), ", ".join(get_args(hints[option]))])
    return Table("Options of the layers, for --set", ["layer", "option", "default", "choices"], rows)


def _default(value: Any) -> str:
    return n.significant(value) if isinstance(value, float) else str(value)


def task_table() -> Table:
    """Every task."""
    rows = [
        [t.name, n.count(t.seq_len), str(t.outputs), _chance(t), ", ".join(t.kinds), (t.__doc__ or "").splitlines()[0]]
        for t in (made() for made in TASKS.values())
    ]
    return Table(
        "Tasks",
        ["task", "length", "classes", "chance", "data", "what it asks"],
        rows,
        frozenset({"length", "classes", "chance"}),
    )


def task_option_table() -> Table:
    """Every option of every task, for ``--set task.NAME``."""
    rows = []
    for name, made in TASKS.items():
        hints = get_type_hints(made)
        for option, value in made().options.items():
            rows.append([name, f"task.{option}", _default(value), ", ".join(get_args(hints[option]))])
    return Table("Options of the tasks, for --set", ["task", "option", "default", "choices"], rows)


def _chance(made: Task) -> str:
    return score_text(measure_of(made.target), made.chance)


def framework_table() -> Table:
    """Every framework, and whether it is installed here."""
    here = backends.installed()
    rows = [[name, "yes" if name in here else f"no: pip install 'rotbench[{name}]'"] for name in backends.FRAMEWORKS]
    return Table("Frameworks", ["framework", "installed"], rows)


def settings_table(resolved: Resolved) -> Table:
    """Every setting of a sweep with its value and where that comes from."""
    values = resolved.sweep.model_dump(by_alias=True)
    rows = [
        [name, ", ".join(map(str, v)) if isinstance(v, list) else str(v), resolved.origins[name]]
        for name, v in values.items()
    ]
    return Table("Settings of a sweep", ["setting", "value", "from"], rows)


def doctor_table(found: dict[str, Any]) -> Table:
    """What ``sweeps.inspect`` found, one line a thing."""
    machine = found["machine"]
    rows = [
        ["rotbench", machine["versions"].get("rotbench", "not installed as a package")],
        ["Python", machine["python"]],
        ["system", machine["system"]],
        ["processor", f"{machine['cpu']}, {machine['cpus']} CPUs, {found['threads']} usable here"],
        ["memory", n.scaled(machine["memory_bytes"], "B")],
    ]
    for framework, outcome in found["frameworks"].items():
        if isinstance(outcome, str):
            rows.append([framework, outcome])
            continue
        rows.append([framework, f"{outcome['version']}, runs on {', '.join(outcome['kinds'])}"])
        rows.append([f"{framework}, algorithm fused", f"compiled recurrence on the CPU: {outcome['fused']}"])
    return Table("What can run here", ["thing", "found"], rows)
