"""Studies behind the answers: what the layers are, beyond how fast they run."""
