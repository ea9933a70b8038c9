"""What tables say of trainings: throughput, further test sets, and the time to targets of either measure."""

from many_rows import training
from result_rows import recipe

from benchmark.reports import numbers as n
from benchmark.reports.hours import hours_tables, reached, time_to
from benchmark.reports.results import failure_table
from benchmark.reports.trained import evaluation_table, training_table
from benchmark.sweeps.evaluate import Evaluation


def trained(cell_id="t", tokens_per_s=None, **history):
    return training(
        cell_id=cell_id, detail={"history": {"measure": "accuracy"} | history, "tokens_per_s": tokens_per_s}
    )


def column(table, name):
    return [line[table.columns.index(name)] for line in table.rows]


def test_throughput_stands_in_the_table():
    table = training_table([trained(tokens_per_s=123_456.0), trained("u")])
    assert column(table, "tokens/s") == ["123 k", n.MISSING]


def test_further_test_sets_have_columns_where_there_are_any():
    assert not [name for name in training_table([trained()]).columns if name.startswith("test ") and "khz" in name]
    rows = [trained("a", extra={"8khz": 0.5}), trained("b", extra={"8khz": "gru has no step"}), trained("c")]
    table = training_table(rows)
    assert table.columns.index("test 8khz") == table.columns.index("test score") + 1
    assert column(table, "test 8khz") == ["50.0 %", n.MISSING, n.MISSING]
    assert "gru has no step." in table.notes
    assert any(note.startswith("test 8khz: the test set at that rate") for note in table.notes)


def test_an_evaluation_shows_them_too():
    found = Evaluation("w", "speech-commands", "s5", "torch", "jax", "accuracy", 0.9, 0.9, {"8khz": 0.7})
    plain = found._replace(extra={})
    assert column(evaluation_table([found, plain]), "test 8khz") == ["70.0 %", n.MISSING]
    assert evaluation_table([plain]).columns[-2:] == ["test score", "weights"]


def adding(**history):
    scores = {"epoch_validation_score": [0.2, 0.05, 0.03, 0.001], "epoch_end_s": [1.0, 2.0, 3.0, 4.0]}
    detail = {"history": {"measure": "mse"} | scores | history}
    return training(cell_id="a", task="adding", test_accuracy=None, detail=detail)


def test_a_squared_error_reaches_its_target_from_above():
    assert reached(adding(), 0.05) == (2.0, 2) and time_to(adding(), 0.02) == 4.0
    assert reached(adding(), 0.0001) is None
    assert reached(training(), 0.95) == (2.0, 2)


def test_each_measure_has_a_table_of_its_own_targets():
    hours, accuracy, error = hours_tables([training(), adding()], None)
    assert (accuracy.title, error.title) == ("Time to accuracy", "Time to mean squared error")
    assert error.columns[7:-1] == ["MSE 0.100", "MSE 0.0200", "MSE 0.00500"]
    assert error.rows[0][7:-1] == ["2.00 s (2)", "4.00 s (4)", "4.00 s (4)"]
    assert "validation mean squared error was first reached" in error.notes[0]
    assert len(accuracy.rows) == len(error.rows) == 1 and len(hours.rows) == 2


def test_hours_and_times_to_a_target_say_what_was_trained_on():
    made = recipe("stand-in", task_options={"validation": "test"})
    rows = [training(cell_id="r", recipe=recipe()), training(cell_id="s", recipe=made, seed=7)]
    for table in hours_tables(rows, None):
        assert column(table, "data") == ["real", "STAND-IN"], table.title
        assert [text.split("; ")[1:] for text in column(table, "recipe")] == [[], ["task.validation=test"]]
        assert column(table, "seed")[1] == "7" and len(set(column(table, "seed"))) == 2
        assert any(note.startswith("STAND-IN: ") for note in table.notes)


def test_a_report_traces_the_lines_of_each():
    from benchmark.reports.traced import result_tables

    tables = {table.title: table for table in result_tables([training(), adding()])}
    assert tables["Time to accuracy"].cells == [["t1"]] and tables["Time to mean squared error"].cells == [["a"]]


def test_failures_say_what_the_same_command_does():
    goes_on = "a training that left a checkpoint goes on"
    assert any(goes_on in note for note in failure_table([training(status="failed", reason="no")]).notes)
    assert not any(goes_on in note for note in failure_table([training(status="diverged", reason="no")]).notes)
