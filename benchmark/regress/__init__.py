"""Is this slower than before? Two sources of results put beside each other, and what follows from it.

Pure functions of rows, except ``sources`` (reads them) and ``builds`` (measures them again). docs/regressions.md has
the tests, why they are these, and what they find.
"""
