"""The report's page in a real browser, from a file and without a network.

Runs where there is a Chromium: ``python -m pytest -n 0 -m full tests/test_html.py``.
"""

import time
from itertools import pairwise

import pytest
from browser import CHROMIUM, Browser
from many_rows import replies, speeds, trainings

from benchmark.reports import report
from benchmark.reports.answers import answers
from benchmark.reports.page import SHOWN

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path; install one to test the page"),
]

DRAWN = "document.documentElement.dataset.charts === 'drawn'"
SPEED = "document.getElementById('table-1').closest('section')"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rows = [*speeds(120), *trainings()[:30]]
    made = report.build(rows, answers=replies(rows))
    return report.write(made, tmp_path_factory.mktemp("report"), ["html"])[0]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory, page):
    found = Browser(tmp_path_factory.mktemp("profile"))
    found.size(1200)
    found.prefer("light")
    found.open(page, DRAWN)
    yield found
    found.close()


@pytest.fixture
def browser(chromium):
    """The page, 1,200 pixels wide, for a reader who prefers light. A test that needs it fresh loads it anew."""
    chromium.size(1200)
    chromium.prefer("light")
    chromium.run("delete document.documentElement.dataset.theme")
    yield chromium
    chromium.run("localStorage.clear()")
    assert chromium.complaints == []
    assert chromium.requests() == []


def column(browser, name):
    """The texts of a column of the first table, in the order shown, without hidden rows."""
    return browser.run(
        f"""(() => {{ const table = {SPEED}.querySelector("table");
        const at = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent.trim() === {name!r});
        return [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[at].textContent); }})()"""
    )


def press_header(browser, name):
    header = f"[...{SPEED}.querySelectorAll('th')].find((cell) => cell.textContent.trim() === {name!r})"
    browser.run(f"{header}.querySelector('button').click()")
    return browser.run(f"{header}.getAttribute('aria-sort')")


def choose(browser, name, value):
    browser.run(
        f"""(() => {{ const select = document.querySelector("#explorer select[name='{name}']");
        select.value = {value!r}; select.dispatchEvent(new Event("change", {{ bubbles: true }})); }})()"""
    )


def test_every_chart_is_drawn(browser):
    places, drawn = browser.run("['.chart', '.chart svg.marks'].map((what) => document.querySelectorAll(what).length)")
    assert places == drawn == 1 + 1 + 4  # of an answer, over length, and two a kind of data


def test_the_chart_shows_what_is_chosen(browser):
    status = "document.querySelector('#explorer [role=status]').textContent"
    assert browser.run(status) == "12 lines, 56 cells"
    choose(browser, "metric", "tokens")
    browser.wait("document.querySelector('#explorer svg').textContent.includes('throughput, tokens/s')")
    choose(browser, "framework", "jax")
    browser.wait(f"{status} === '6 lines, 28 cells'")
    choose(browser, "direction", "forward+backward")
    choose(browser, "algorithm", "sequential")
    browser.wait(f"{status} === '2 lines, 8 cells'")


def test_columns_sort_by_number_both_ways(browser):
    assert press_header(browser, "median ms") == "ascending"
    up = [float(text.replace(",", "")) for text in column(browser, "median ms")]
    assert up == sorted(up) and len(up) == 112
    assert press_header(browser, "median ms") == "descending"
    assert [float(text.replace(",", "")) for text in column(browser, "median ms")] == up[::-1]
    assert press_header(browser, "layer") == "ascending"
    assert browser.run(f"{SPEED}.querySelectorAll('[aria-sort]').length") == 1
    assert column(browser, "layer") == sorted(column(browser, "layer"))


def test_a_table_is_filtered_by_words_and_says_how_many_are_left(browser):
    find = f"{SPEED}.querySelector('input')"
    browser.run(f"{find}.value = 'LRU jax 65,536'; {find}.dispatchEvent(new Event('input'))")
    assert set(column(browser, "layer")) == {"lru"}
    left = len(column(browser, "layer"))
    assert 0 < left < 112
    assert browser.run(f"{SPEED}.querySelector('[role=status]').textContent") == f"{left} of 112 rows"
    browser.run(f"{find}.value = ''; {find}.dispatchEvent(new Event('input'))")
    assert len(column(browser, "layer")) == 112


def test_the_theme_follows_the_reader_and_is_remembered(browser, page):
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('.chart svg .role-axis-label text')).fill"
    assert browser.run(ground) == "rgb(255, 255, 255)"
    assert browser.run(ink) == "rgb(27, 27, 31)"
    browser.run("document.getElementById('theme').click()")
    assert browser.run(ground) == "rgb(22, 22, 26)"
    assert browser.run(ink) == "rgb(236, 236, 241)"
    browser.open(page, DRAWN)
    assert browser.run(ground) == "rgb(22, 22, 26)"
    browser.run("localStorage.clear(); delete document.documentElement.dataset.theme")
    browser.prefer("dark")
    browser.wait("document.getElementById('theme').textContent === 'Light theme'")
    assert browser.run(ground) == "rgb(22, 22, 26)"


def test_a_browser_that_remembers_nothing_will_do(browser, page):
    forbid = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError') }})"
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=forbid)["identifier"]
    browser.open(page, DRAWN)
    browser.run("document.getElementById('theme').click()")
    assert browser.run("document.documentElement.dataset.theme") == "dark"
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    browser.open(page, DRAWN)  # where the fixture's own clean-up may remember again


def test_a_number_leads_to_its_cell_and_command_by_keyboard(browser):
    browser.run(f"{SPEED}.querySelector('tbody a.cell').focus()")
    browser.press("Enter")
    browser.wait("document.getElementById('trace').open")
    words = browser.run("document.getElementById('trace').textContent")
    cell = browser.run(f"{SPEED}.querySelector('tbody a.cell').dataset.cells")
    assert f"Cell {cell}: speed" in words and "rotbench speed --layer" in words
    browser.press("Escape")
    browser.wait("!document.getElementById('trace').open")


def test_the_first_stop_of_tab_skips_to_the_report(browser):
    browser.run("document.querySelector('a, button, input, select, [tabindex]').focus()")
    assert browser.run("document.activeElement.textContent") == "Skip to the report"
    browser.press("Enter")
    browser.wait("document.activeElement.id === 'main'")


def test_what_a_screen_reader_needs(browser):
    assert browser.run("['header', 'nav', 'main'].every((name) => document.querySelectorAll(name).length === 1)")
    assert browser.run("[...document.querySelectorAll('table')].every((table) => table.caption)")
    assert browser.run("[...document.querySelectorAll('th')].every((cell) => cell.scope === 'col')")
    assert browser.run("[...document.querySelectorAll('select, input')].every((field) => field.labels.length === 1)")
    assert browser.run("[...document.querySelectorAll('[role=img]')].every((chart) => chart.ariaLabel)")
    ids = browser.run(
        "[...document.querySelectorAll('[id]')].map((node) => node.id).filter((id) => !/^[a-f]?\\d/.test(id))"
    )
    named = browser.run(
        "[...document.querySelectorAll('[aria-labelledby]')].map((node) => node.getAttribute('aria-labelledby'))"
    )
    assert set(named) <= set(ids)
    levels = browser.run(
        "[...document.querySelectorAll('main h2, main h3, main h4')].map((node) => Number(node.tagName[1]))"
    )
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_a_phone_scrolls_in_one_direction(browser, page):
    browser.size(360, 740)
    browser.open(page, DRAWN)
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        assert browser.run("document.documentElement.scrollWidth") <= 360
        assert len(browser.screenshot(whole=False)) > 10_000


def test_paper_is_white_and_nothing_is_cut_off(browser):
    browser.prefer("dark", "print")
    assert (
        browser.run("getComputedStyle(document.querySelector('.chart svg .role-axis-label text')).fill")
        == "rgb(27, 27, 31)"
    )
    assert browser.run("getComputedStyle(document.querySelector('.scroll')).overflow") == "visible"
    assert browser.run("getComputedStyle(document.getElementById('theme')).display") == "none"
    browser.prefer("light")
    assert browser.printed().startswith(b"%PDF")


def test_paper_has_the_first_lines_of_a_table_and_the_cells_that_they_name(browser):
    assert press_header(browser, "median ms") == "ascending"
    browser.prefer("light", "print")
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    shown = f"[...{SPEED}.querySelectorAll('tbody tr')].filter((row) => row.checkVisibility())"
    assert browser.run(f"{shown}.length") == SHOWN["paper"]
    assert browser.run(f"{shown}[0].textContent") == browser.run(f"{SPEED}.querySelector('tbody tr').textContent")
    note = browser.run(f"{SPEED}.querySelector('.paper').innerText")
    assert note == f"{SHOWN['paper']} of 112 rows are printed, the first on screen."
    named = browser.run(
        "[...document.querySelectorAll('main a.cell')].filter((link) => link.checkVisibility()).map((link) => "
        "[link.hash, document.getElementById(link.hash.slice(1))]).filter(([hash, row]) => hash !== '#cells' && "
        "(row.classList.contains('unprinted') || !row.lastElementChild.textContent.startsWith('rotbench ')))"
    )
    assert named == []
    browser.prefer("light")
    assert browser.run(f"{shown}.length") == 112  # the screen has all


def test_a_thousand_cells_are_printed_in_seconds(tmp_path):
    rows = [*speeds(952), *trainings()]
    (page,) = report.write(report.build(rows, answers=answers(rows)), tmp_path, ["html"])
    (tmp_path / "profile").mkdir()
    found = Browser(tmp_path / "profile")
    try:
        found.open(page, DRAWN)
        begin = time.monotonic()
        assert found.printed().startswith(b"%PDF")
        assert time.monotonic() - begin < 20  # 3 s on a free core
        assert found.complaints == []
    finally:
        found.close()
