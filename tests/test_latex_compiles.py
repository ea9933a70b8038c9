r"""LaTeX: how wide tables get, and what pdflatex says of a whole report.

The second half runs where there is a pdflatex: ``python -m pytest -n 0 -m full tests/test_latex_compiles.py``.
"""

import re
import shutil
import subprocess

import many_rows
import pytest
from test_store import row

from benchmark.reports import report
from benchmark.reports.answers import answers, published_tables
from benchmark.reports.latex import escaped, to_latex
from benchmark.reports.latex_width import FITS, fitting, lines
from benchmark.reports.tables import Table, condensed

PDFLATEX = shutil.which("pdflatex")
ODD = "100 % of a_b & c # $1 ^2 ~ \\x {y} <z> [0.9] \"q\" `k` 'l' -- --- | é ﬁ 漢 ½ → ▁█ \N{MULTIPLICATION SIGN} ± µ"

compiles = [
    pytest.mark.full,
    pytest.mark.skipif(PDFLATEX is None, reason="no pdflatex on the path; install texlive-latex-recommended"),
]


def wide(columns, characters, rows=3):
    names = [f"c{i}" for i in range(columns)]
    lines = [[f"{r}{i}".ljust(characters, "x") for i in range(columns)] for r in range(rows)]
    return Table("t", names, lines, frozenset(names))


def test_a_table_is_set_as_large_as_it_fits():
    assert [fitting(wide(columns, 10)) for columns in (7, 9, 10, 12, 16)] == list(FITS)
    assert fitting(wide(100, 10)) == FITS[-1]
    text = to_latex(wide(11, 10))
    assert text.startswith("\\begin{landscape}\n") and text.endswith("\n\\end{landscape}")
    assert r"\scriptsize\setlength{\tabcolsep}{3pt}" in text


def test_headings_are_broken_and_count_by_their_longest_word():
    table = Table("t", ["FLOPs a call"] * 12, [["1"] * 12] * 2, frozenset({"FLOPs a call"}))
    assert fitting(table) is FITS[0]
    assert r"\shortstack[r]{FLOPs \\ a \\ call}" in to_latex(table)


def test_long_texts_are_broken_and_make_a_table_longer():
    table = Table("t", ["where"], [["word " * 12], ["word"]])
    assert lines(table) == 4
    assert r">{\raggedright\arraybackslash}p{13.5em}" in to_latex(table)


def test_what_all_lines_of_a_wide_table_share_is_told_once():
    table = Table("t", ["layer", "device"], [["lru", "cpu"], ["s5", "cpu"]], notes=["n"])
    assert condensed(table) == Table("t", ["layer"], [["lru"], ["s5"]], notes=["In all rows: device cpu.", "n"])
    assert condensed(Table("t", ["a"], [["1"]])) == Table("t", ["a"], [["1"]])


def test_two_hyphens_stay_two():
    assert escaped("speed --layer lru") == "speed -{}-layer lru"
    assert escaped("---") == "-{}-{}-"


def compiled(folder):
    """What pdflatex prints of report.tex."""
    done = subprocess.run(
        [PDFLATEX, "-interaction=nonstopmode", "-halt-on-error", "report.tex"],
        cwd=folder, capture_output=True, text=True, errors="replace", timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def mixed_rows():
    """Lines of every table, names of all kinds, and cells without a result."""
    odd = row(cell_id="odd", status="failed", reason=ODD, median_ms=None, environment={"cpu": ODD})
    return [*many_rows.speeds(170), *many_rows.trainings(), odd, row(cell_id="m", metric="memory", rss_delta_bytes=9)]


class TestInLatex:
    pytestmark = compiles

    def test_a_report_compiles_without_a_complaint(self, tmp_path):
        rows = mixed_rows()
        made = report.build(rows, answers=answers(rows), published=published_tables(rows))
        report.write(made, tmp_path, ["latex"])
        compiled(tmp_path)
        compiled(tmp_path)
        assert re.findall(r"(?:Overfull|Underfull|Warning|undefined).*", compiled(tmp_path)) == []

    @pytest.mark.parametrize("rows", [2, 60])
    def test_odd_characters_compile_in_every_place(self, tmp_path, rows):
        table = Table(ODD, ["layer", ODD], [["lru", ODD]] * rows, notes=[ODD])
        reply = many_rows.Reply("Q1", ODD, "yes", [ODD, "[0.9 to 1] first"], table, missing=[ODD], again=[ODD])
        report.write(report.build([], answers=[reply], published=[table]), tmp_path, ["latex"])
        assert "Overfull" not in compiled(tmp_path)
