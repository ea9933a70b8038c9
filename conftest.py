"""Leaves out what the installed frameworks cannot import, and checks shapes and types while tests run."""

from benchmark import backends

INSTALLED = backends.installed()

collect_ignore_glob = [f"layers_{name}/*" for name in backends.FRAMEWORKS if name not in INSTALLED]

if INSTALLED:
    from jaxtyping import install_import_hook

    install_import_hook([f"layers_{name}" for name in INSTALLED], "beartype.beartype")
