"""The front door: every public name is there, lazily, for people and for type checkers; examples in docstrings run."""

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import attnflow as af

SOURCE = Path(af.__file__).parent


def stub_names() -> set[str]:
    tree = ast.parse((SOURCE / "__init__.pyi").read_text())
    imported = {a.asname for node in tree.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assigned = {t.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets}
    return {name for name in imported | assigned if name and not name.startswith("_")}


@pytest.mark.parametrize("name", af.__all__)
def test_public_names_resolve(name: str) -> None:
    assert getattr(af, name) is not None


def test_the_stub_has_the_same_names() -> None:
    assert stub_names() == set(af.__all__)


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        af.no_such_name  # noqa: B018


def test_importing_the_package_is_light() -> None:
    code = "import sys, attnflow; print(sorted({'jax', 'numpy', 'diffrax', 'matplotlib'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_precision_is_the_function_whatever_was_imported_before() -> None:
    code = "import attnflow.cli, attnflow._precision, attnflow as af; print(af.precision('float64'))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "float64"


def modules_with_examples() -> list[str]:
    names = [m.name for m in pkgutil.walk_packages([str(SOURCE)], "attnflow.")]
    return [n for n in names if ">>> " in Path(importlib.util.find_spec(n).origin).read_text()]


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
