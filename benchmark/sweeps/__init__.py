"""Cells as data: which to measure, and a fresh process for each."""
