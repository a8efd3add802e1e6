"""The front door: every public name is there, typed, documented, and costs nothing before it is used."""

import ast
import doctest
import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import attnflow as af

SOURCE = Path(af.__file__).parent
MODULES = ["attnflow", *(m.name for m in pkgutil.walk_packages([str(SOURCE)], "attnflow.") if "__main__" not in m.name)]


def stub():
    """What the stub exports, by name: `from .x import y as y`, and `y = z` for another name of it."""
    found = {}
    for node in ast.parse((SOURCE / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            home = "attnflow" + (f".{node.module}" if node.module else "")
            for alias in node.names:
                assert alias.asname not in found
                found[alias.asname] = (home, alias.name)
        elif isinstance(node, ast.Assign):
            found[node.targets[0].id] = found[node.value.id]
    return {name: source for name, source in found.items() if not name.startswith("_")}


@pytest.mark.parametrize("name", af.__all__)
def test_every_public_name_resolves_and_is_documented(name):
    thing = getattr(af, name)
    assert thing is getattr(af, name)
    assert thing.__doc__, name
    assert name in dir(af)


def test_the_stub_and_the_package_agree():
    assert sorted(stub()) == sorted(af.__all__)
    assert len(set(af.__all__)) == len(af.__all__)


def test_the_stub_names_the_same_objects():
    """A type checker and Python see the same thing under a name."""
    for name, (home, original) in stub().items():
        module = importlib.import_module(home)
        seen = getattr(module, original, None) if home != "attnflow" else importlib.import_module(f"{home}.{original}")
        assert seen is getattr(af, name), name


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


def private_imports(name):
    """What a module imports, also inside functions, that is private to another room: a module or a name with `_`."""
    spec = importlib.util.find_spec(name)
    here = name if spec.submodule_search_locations else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            home = importlib.util.resolve_name(relative, here)
            targets = [f"{home}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            package, *path = target.split(".")
            own = name.split(".")[1:2]
            if package == "attnflow" and path[:1] != own and any(part.startswith("_") for part in path):
                yield target


@pytest.mark.parametrize("name", MODULES)
def test_no_room_imports_what_is_private_to_another(name):
    assert not list(private_imports(name))
