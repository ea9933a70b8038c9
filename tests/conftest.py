"""Fixtures that several files share."""

import pytest


@pytest.fixture
def tiny_sources(monkeypatch):
    """A small source of one archive and one of two files among the registered ones."""
    from tiny_data import PAIR, TINY

    from benchmark.data.sources import SOURCES

    monkeypatch.setitem(SOURCES, "tiny", TINY)
    monkeypatch.setitem(SOURCES, "pair", PAIR)
