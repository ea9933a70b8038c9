"""The twins hold the same files, and in them the same names, arguments and docstrings in the same order."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TWINS = ("layers_torch", "layers_jax")
KERNELS = {"native.py"}  # compiled code is called differently
ONE_SIDED = {"peers.py", "triton_kernels.py", "pallas_kernels.py", "autocast.py"}  # of one framework alone
DIFFERENT_METHODS = {"Layer", "Model"}  # a torch.nn.Module here, a frozen object there


def outline(path):
    found = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found.append(signature(node))
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            methods = [signature(m) for m in node.body if isinstance(m, ast.FunctionDef)]
            found.append((node.name, [] if node.name in DIFFERENT_METHODS else methods))
    return found


def signature(node):
    arguments = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
    defaults = [ast.unparse(d) for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None]
    return node.name, arguments, defaults, ast.get_docstring(node)


def module_docstring(path):
    return ast.get_docstring(ast.parse(path.read_text()))


def files(twin):
    return sorted({path.name for path in (ROOT / twin).glob("*.py")} - ONE_SIDED)


def test_same_files():
    assert files(TWINS[0]) == files(TWINS[1])


@pytest.mark.parametrize("name", sorted(set(files(TWINS[0])) - KERNELS))
def test_same_outline(name):
    ours, theirs = (outline(ROOT / twin / name) for twin in TWINS)
    assert ours == theirs


@pytest.mark.parametrize("name", sorted(set(files(TWINS[0])) - KERNELS - {"__init__.py"}))
def test_same_words(name):
    ours, theirs = (module_docstring(ROOT / twin / name) for twin in TWINS)
    assert ours and ours == theirs
