"""Tables for LaTeX."""

import pytest
from answer_rows import mixed, pair_of_times

from benchmark.reports.answers import (
    answers,
)
from benchmark.reports.latex import LONG, escaped, to_latex
from benchmark.reports.tables import Table


@pytest.mark.parametrize(
    ("text", "set_"),
    [
        ("5 % of d_model", r"5 \% of d\_model"),
        ("a & b # $1 {x}", r"a \& b \# \$1 \{x\}"),
        ("\\x ~ ^", r"\textbackslash{}x \textasciitilde{} \textasciicircum{}"),
        (
            "1\N{EN DASH}2 \N{EM DASH} 3\N{MULTIPLICATION SIGN}4 \N{LESS-THAN OR EQUAL TO} 5 \N{MICRO SIGN}s",
            r"1--2 --- 3$\times$4 $\leq$ 5 $\mu$s",
        ),
        ("é ﬁ", "e fi"),
        ("漢", "?"),
        ("two\nlines", "two lines"),
    ],
)
def test_escapes(text, set_):
    assert escaped(text) == set_


def test_a_latex_table():
    table = Table("A_b", ["layer", "ms"], [["lru", "1.0"], ["[0.9 to 1]", "2 %"]], frozenset({"ms"}), ["50 % more."])
    assert to_latex(table, "tab:a").split("\n") == [
        r"\begin{table}[htbp]",
        r"\centering\small",
        r"\caption{A\_b}\label{tab:a}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"layer & ms \\",
        r"\midrule",
        r"lru & 1.0 \\",
        r"{[0.9 to 1]} & 2 \% \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip\footnotesize 50 \% more.",
        r"\end{table}",
    ]


def test_long_tables_run_over_pages():
    text = to_latex(Table("t", ["a"], [["x" * 40]] * (LONG + 1)))
    assert r"\begin{longtable}{" in text and "em}}" in text and r"\endhead" in text


def test_every_answer_can_be_set():
    for entry in answers([*mixed(), *pair_of_times(0.5)]):
        if entry.table:
            text = to_latex(entry.table)
            assert r"\textbf" not in text
            assert text.count("{") == text.count("}")
            assert len({line.count(" & ") for line in text.split("\n") if line.endswith(r" \\")}) == 1
