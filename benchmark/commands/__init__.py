"""The commands of the command line that do not fit on one page. Light to import."""
