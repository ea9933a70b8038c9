"""Leaves out what the installed frameworks cannot import, and checks shapes and types while tests run."""

import os
import tempfile

import pytest

from benchmark import backends

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side, so each keeps to one processor

INSTALLED = backends.installed()

collect_ignore_glob = [f"layers_{name}/*" for name in backends.FRAMEWORKS if name not in INSTALLED]

if INSTALLED:
    from jaxtyping import install_import_hook

    install_import_hook([f"layers_{name}" for name in INSTALLED], "beartype.beartype")


@pytest.fixture(autouse=True, scope="session")
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of locks of devices, as a sweep that runs on this machine meanwhile is none of the tests', and of data sets."""
    os.environ["TMPDIR"] = tempfile.tempdir = str(tmp_path_factory.mktemp("tmp"))
    os.environ["ROTBENCH_DATA"] = str(tmp_path_factory.mktemp("data"))
