"""The front door: every public name is there, typed, documented, and costs nothing before it is used."""

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import attnflow as af

SOURCE = Path(af.__file__).parent
MODULES = ["attnflow", *(m.name for m in pkgutil.walk_packages([str(SOURCE)], "attnflow.") if "__main__" not in m.name)]


def stub_names():
    """Names that the stub exports: `from .x import y as y`."""
    tree = ast.parse((SOURCE / "__init__.pyi").read_text())
    aliases = [alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    return [alias.asname for alias in aliases if alias.asname is not None]


@pytest.mark.parametrize("name", af.__all__)
def test_every_public_name_resolves_and_is_documented(name):
    thing = getattr(af, name)
    assert thing is getattr(af, name)
    assert thing.__doc__, name
    assert name in dir(af)


def test_the_stub_and_the_package_agree():
    stub = stub_names()
    assert sorted(stub) == sorted(af.__all__)
    assert len(set(stub)) == len(stub) and len(set(af.__all__)) == len(af.__all__)


def test_the_stub_names_the_same_objects():
    """A type checker and Python see the same thing under a name."""
    tree = ast.parse((SOURCE / "__init__.pyi").read_text())
    for node in (n for n in tree.body if isinstance(n, ast.ImportFrom)):
        home = importlib.import_module("attnflow" + (f".{node.module}" if node.module else ""))
        for alias in node.names:
            seen = getattr(home, alias.name, None)
            seen = importlib.import_module(f"{home.__name__}.{alias.name}") if seen is None else seen
            assert seen is getattr(af, alias.asname), alias.asname


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'transformer'"):
        _ = af.transformer
    assert not hasattr(af, "_private")


def test_importing_does_not_import_jax():
    heavy = "{'jax', 'diffrax', 'equinox', 'scipy', 'xarray', 'matplotlib', 'numpy'}"
    code = f"import sys, attnflow, attnflow.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_documented_and_their_examples_run(name):
    module = importlib.import_module(name)
    assert module.__doc__, name
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):  # as users run them
        failed, _ = doctest.testmod(module)
    assert failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    examples = [t for name in MODULES for t in finder.find(importlib.import_module(name)) if t.examples]
    assert len(examples) >= 2
