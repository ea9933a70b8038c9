"""How results move from commit to commit on one machine: series, the steps in them, and the commit of a step."""
