"""Results in the forms of other tools: read into rows, and written from them.

A foreign result becomes a row only if it says which cell it measured. What says so: a record that
rotbench itself has put there, or parameters with the names of the cell's fields.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from benchmark.spec import LAYERS
from benchmark.spec.errors import UserError, unknown
from benchmark.store.row import Row
from benchmark.store.soundness import fault_of
from benchmark.sweeps.cell import Cell

FORMS = ("pytest-benchmark", "action-json")
KEY = "rotbench"
"""Under which rotbench's own record stands in another tool's file."""

Better = Literal["smaller", "bigger"]


class NothingImportedError(UserError):
    """The file is sound and has nothing for us."""

    exit_code = 3


class Imported(NamedTuple):
    """Rows, and the names of what is no row, each with the reason."""

    rows: list[Row]
    passed_over: list[tuple[str, str]]


def imported(path: Path, form: str) -> Imported:
    """The rows of another tool's file.

    Args:
        path: the file.
        form: one of FORMS.

    Raises:
        UserError: if it cannot be read, or is not of that form.
        NothingImportedError: if it holds no result, or none that says which cell it measured.
    """
    from benchmark.store import interchange_action, interchange_pytest

    known = {"pytest-benchmark": interchange_pytest.rows_of, "action-json": interchange_action.rows_of}
    if form not in known:
        raise unknown("format", form, FORMS)
    found = known[form](read_json(path), str(path))
    if not found.rows:
        why = f"; the first: {': '.join(found.passed_over[0])}" if found.passed_over else ""
        raise NothingImportedError(f"{path} holds {len(found.passed_over)} results and no row of a cell{why}")
    return found


def exported(rows: Sequence[Row], form: str, better: Better = "smaller") -> str:
    """Rows as another tool's file.

    Args:
        rows: the newest of each cell is written.
        form: one of FORMS.
        better: for action-json, whose files hold figures of one direction only.

    Raises:
        UserError: for an unknown form, or rows that cannot stand in one file.
    """
    from benchmark.store import interchange_action, interchange_pytest

    newest = list({row.cell_id: row for row in sorted(rows, key=lambda row: row.created_at)}.values())
    match form:
        case "pytest-benchmark":
            value: Any = interchange_pytest.document(newest)
        case "action-json":
            value = interchange_action.entries(newest, better)
        case _:
            raise unknown("format", form, FORMS)
    return json.dumps(value, allow_nan=False, indent=1) + "\n"


def read_json(path: Path) -> Any:
    """The value of a JSON file. Raises UserError if it cannot be read, NothingImportedError if it is empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise UserError(f"cannot read {path}: {why}; name a JSON file") from None
    if not text.strip():
        raise NothingImportedError(f"{path} is empty: it must be JSON; let the tool that writes it end first")
    try:
        return json.loads(text)
    except RecursionError:
        raise UserError(f"{path} must be JSON of results; it is nested too deeply") from None
    except ValueError as error:
        raise UserError(f"{path} must be JSON; line {getattr(error, 'lineno', 1)} is not: {error}") from None


def cell_from(values: Mapping[str, Any]) -> Cell | str:
    """The cell that some named values describe, other names passed over; or why there is none.

    What a cell must have and a test seldom varies is filled in: batch 1, all processors, the layer's own options,
    direction forward.
    """
    named = {name: value for name, value in values.items() if name in Cell.model_fields and value is not None}
    layer = named.get("layer")
    if not isinstance(layer, str) or layer not in LAYERS:
        return f"it names no layer of {', '.join(LAYERS)}" if layer is None else f"unknown layer {layer!r}"
    own = {f.name: f.default for f in fields(LAYERS[layer]) if f.name in LAYERS[layer].option_names()}
    usual = {"metric": "speed", "batch": 1, "threads": 0, "direction": "forward"}
    try:
        return Cell.model_validate(usual | named | {"options": own | dict(named.get("options", {}))})
    except (ValidationError, TypeError, ValueError) as error:
        return _first_words(error)


def row_from(record: Any) -> Row | str:
    """The row that a record stands for, as rotbench wrote it or as it was put together; or why it is none."""
    try:
        row = Row.model_validate(record)
    except ValidationError as error:
        return _first_words(error)
    return fault_of(row) or row


def _first_words(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "its options are no table"
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}"


def words_of(row: Row) -> str:
    """A name that no other cell has, and that stays the same from run to run."""
    size = row.task or (str(row.seq_len) if row.seq_len else "step")
    parts = [row.layer, row.framework, row.algorithm, row.direction, size, f"b{row.batch}", row.device, row.cell_id[:8]]
    return "-".join(part for part in parts if part)
