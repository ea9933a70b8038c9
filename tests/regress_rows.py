"""Rows of invented measurements for the tests of comparing and gating, and the two commands in this process."""

import sys
from datetime import UTC, date, datetime, timedelta
from functools import partial

import gate_on_real_code
import typer
from test_sweeps import cell

from benchmark.commands.compare import compare
from benchmark.commands.gate import gate
from benchmark.console import ExitError
from benchmark.metrics.environment import git_state
from benchmark.regress import gating
from benchmark.regress.pairing import pair
from benchmark.regress.quantities import quantities
from benchmark.regress.settings import GateSettings
from benchmark.regress.verdicts import changes
from benchmark.spec.errors import UserError
from benchmark.store import files
from benchmark.store.row import Row

MACHINE = {"cpu": "Z80", "cpus": 2, "system": "Linux x86_64", "python": "3.11.9", "start": "fork", "dirty": False}
VERSIONS = {"rotbench": "0.1.0", "torch": "2.5", "jax": "0.4.38", "numpy": "2.0"}
NOISE = (1.0, 1.001, 0.999)
TODAY = date(2026, 6, 1)
COMMIT = {"before": "a" * 40, "after": "b" * 40}


def measured(ms=(1.0, 1.01, 0.99), side="after", environment=None, values=None, **axes):
    """A row of a cell; ``values`` are columns that were found."""
    own = cell(**axes)
    told = MACHINE | {"versions": VERSIONS, "commit": COMMIT[side]} | (environment or {})
    found = {
        "cell_id": own.id,
        "status": "ok",
        "created_at": datetime(2026, 1, 2, tzinfo=UTC) + timedelta(hours=side == "after"),
        "environment": told,
        "detail": {"device_name": "Z80", "source_hash": side},
    }
    times = {"median_ms": sorted(ms)[len(ms) // 2], "process_medians_ms": list(ms)} if ms else {}
    return Row(**(own.cell_values() | found | times | (values or {})))


def trained(scores, side="after", measure="accuracy"):
    """Rows of trainings, one a seed."""
    return [
        measured(
            None,
            side,
            metric="train",
            task="digits",
            direction=None,
            seq_len=None,
            seed=seed,
            values={"detail": {"history": {"measure": measure, "test_score": score}}},
        )
        for seed, score in enumerate(scores)
    ]


def stored(folder, *rows):
    """A results folder."""
    files.prepare_folder(folder)
    for row in rows:
        files.write(folder, row)
    return folder


def run(*words):
    """The commands as the tool runs them; returns the exit code, a known error is one line on stderr."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(compare)
    app.command()(gate)
    try:
        return app([str(word) for word in words], standalone_mode=False) or 0
    except ExitError as error:
        return error.code
    except UserError as error:
        print(f"rotbench: {error}", file=sys.stderr)
        return error.exit_code


def times(factor, ms=NOISE):
    """Process medians that are all longer by a factor."""
    return [factor * value for value in ms]


def decided(*sides, strict=False, again=None, **settings):
    """The gate's decision on cells of which both sides' process medians are given."""
    before = [measured(ms, "before", seq_len=i + 1) for i, (ms, _) in enumerate(sides)]
    after = [measured(ms, seq_len=i + 1) for i, (_, ms) in enumerate(sides)]
    pairing = pair(before, after)
    found = changes(pairing.pairs, quantities())
    return gating.gate(found, pairing, GateSettings.model_validate(settings), TODAY, strict, again)


def repository(folder, hook="exit 0"):
    """A checkout with one commit, whose hook runs after each checkout; the commit."""
    folder.mkdir()
    git = partial(gate_on_real_code.git, folder)
    git("init", "-q")
    (folder / "cli.py").write_text("")
    git("add", ".")
    git("commit", "-qm", "first")
    path = folder / ".git/hooks/post-checkout"
    path.write_text(f"#!/bin/sh\n{hook}\n")
    path.chmod(0o755)
    return git_state(folder)[0]
