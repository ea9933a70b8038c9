"""Lines of the tables of studies: what they take together, what tells them apart, and which cells stand behind them."""

import pytest
from answer_rows import norms, period, studied
from result_rows import MACHINE, recipe, trained

from benchmark.reports.study_cells import course_table, errors_table, norms_table, period_table
from benchmark.reports.study_trainings import arms_table, spread_table
from benchmark.reports.tables import column
from benchmark.reports.traced import result_tables

OTHER = MACHINE | {"cpu": "other"}


def again(rows, **changes):
    """The same rows as other cells."""
    return [row.model_copy(update={"cell_id": f"{row.cell_id}{sorted(changes)}"} | changes) for row in rows]


def norms_of(seeds=2, layer="lru"):
    found = [norms(layer, 0.5, seed, gradient=[1.0, 0.5, 0.1], limit=1.0) for seed in range(seeds)]
    return [row.model_copy(update={"detail": row.detail | {"lags": [0, 1, 1000]}}) for row in found]


def periods(seeds=2):
    return [period("rotrnn", "learned", 0.3, 0.1, 0.2, seed, nearest_error=0.1) for seed in range(seeds)]


TABLES = {
    "norms": (norms_table, norms_of),
    "period": (period_table, periods),
    "arms": (arms_table, lambda: trained("rotrnn", [0.9, 0.91])),
    "spread": (spread_table, lambda: trained("rotrnn", [0.9, 0.91])),
}
SIZES = [
    {"real_state_size": 64, "d_state": 64},
    {"d_model": 32},
    {"options": {"heads": 2}},
    {"environment": OTHER},
    {"threads": 5},
]


@pytest.mark.parametrize("changes", SIZES)
@pytest.mark.parametrize("name", TABLES)
def test_what_differs_in_more_than_its_seed_is_a_line_of_its_own(name, changes):
    make, rows = TABLES[name]
    one, other = rows(), again(rows(), **changes)
    if name in {"arms", "spread"} and "d_model" in changes:
        other = [row.model_copy(update={"task": "adding"}) for row in other]  # a recipe tells of its width alone
    table = make([*one, *other])
    assert sorted(table.cells) == sorted([[row.cell_id for row in part] for part in (one, other)])
    told = [name for name in ("layer", "variant", "framework", "state", "task") if name in table.columns]
    assert len({tuple(column(table, name)[i] for name in told) for i in range(2)}) == 2, "lines read alike"


@pytest.mark.parametrize("changes", [{"batch": 3}, {"dtype": "float64"}, {"seq_len": 9}])
def test_norms_of_other_calls_are_lines_of_their_own(changes):
    table = norms_table([*norms_of(), *again(norms_of(), **changes)])
    assert column(table, "seeds") == ["2", "2"] and len({*column(table, "variant")}) == 2


def test_norms_after_trainings_by_two_recipes_are_two_lines():
    rows = [
        row.model_copy(
            update={"task": f"norms/white@{i}{row.seed}", "recipe": recipe(lr=lr), "cell_id": f"{i}{row.seed}"}
        )
        for i, lr in enumerate((0.1, 0.2))
        for row in norms_of()
    ]
    assert column(norms_table(rows), "variant") == ["recipe lr 0.1", "recipe lr 0.2"]


def test_norms_of_a_course_stand_by_step_in_a_table_of_their_own():
    rows = [
        row.model_copy(update={"task": f"norms/white@{row.seed}:{step}", "cell_id": f"{step}@{row.seed}"})
        for step in (1000, 0, 200)
        for row in norms_of()
    ]
    assert not norms_table(rows).rows and not course_table(norms_of()).rows
    table = course_table(rows)
    assert column(table, "trained") == ["0", "200", "1,000"] and column(table, "seeds") == ["2"] * 3
    assert table.cells[1] == ["200@0", "200@1"]


@pytest.mark.parametrize("make", [arms_table, spread_table])
def test_recipes_are_never_pooled(make):
    table = make([*trained("rotrnn", [0.9] * 8), *trained("rotrnn", [0.5] * 8, made=recipe(epochs=99))])
    assert len(table.rows) == 2 and [len(cells) for cells in table.cells] == [8, 8]
    assert column(table, "variant") == ["recipe epochs 3", "recipe epochs 99"]


def test_runs_that_diverged_are_counted_with_those_they_belong_to():
    ok = trained("rotrnn", [0.9, 0.91])
    ok = [row.model_copy(update={"detail": row.detail | {"source_hash": "f", "device_name": "H200"}}) for row in ok]
    lost = [row.model_copy(update={"status": "diverged", "detail": {}, "cell_id": "lost", "seed": 2}) for row in ok[:1]]
    assert column(arms_table([*ok, *lost]), "diverged") == ["1 of 3"]
    two = [*ok, *again(ok, detail=ok[0].detail | {"device_name": "T4"}), *lost]
    assert sorted(column(arms_table(two), "diverged")) == ["0 of 2", "0 of 2", "1 of 1"], "it may be of either"


def test_layers_of_one_range_and_of_several():
    rows = [
        row
        for value in (0.1, 0.5)
        for heads in (2, 4)
        for row in trained("rotrnn", [0.9, 0.9], options={"gamma_min": value, "heads": heads})
    ]
    table = spread_table(rows)
    assert column(table, "variant") == ["heads=2", "heads=4"] and column(table, "ranges") == ["2", "2"]


def test_lines_of_a_report_name_their_own_cells():
    rows = [*norms_of(), *norms_of(layer="s5"), *periods()]
    found = {table.title: table for table in result_tables(rows)}
    cells = found["Norms of states and gradients"].cells
    assert cells == [[row.cell_id for row in part] for part in (rows[:2], rows[2:4])]
    assert found["A known period"].cells == [[row.cell_id for row in rows[4:]]]


def test_conversions_name_the_cells_that_have_them():
    shared = {"books": [], "conjugate_pairs": 0.0}
    rows = [
        studied("lru", "equivalence", {"errors": errors} | shared, seed)
        for seed, errors in enumerate(({"there, oracle": 1e-16}, {"there, oracle": 1e-15, "back, jax": 0.0}))
    ]
    table = errors_table(rows)
    by_name = dict(zip(column(table, "conversion"), table.cells, strict=True))
    assert by_name["back"] == [rows[1].cell_id] and by_name["there"] == [row.cell_id for row in rows]
    assert dict(zip(column(table, "conversion"), column(table, "error"), strict=True))["there"] == "1.0e-15"
