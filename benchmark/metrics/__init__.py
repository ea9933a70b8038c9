"""HOW MUCH: timing, statistics, environment. Pure functions; clock and synchroniser are given to them."""
