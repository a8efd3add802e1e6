"""The front door: every public name is there, typed, documented, and costs nothing before it is used."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import attnflow as af
from surface.public import public_names

SOURCE = Path(af.__file__).parent
MODULES = ["attnflow", *(m.name for m in pkgutil.walk_packages([str(SOURCE)], "attnflow.") if "__main__" not in m.name)]


def stub():
    """What the stub exports, by name: `from .x import y as y`, and `y = z` for another name of it."""
    names = {}
    for node in ast.parse((SOURCE / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            home = "attnflow" + (f".{node.module}" if node.module else "")
            for alias in node.names:
                assert alias.asname not in names
                names[alias.asname] = (home, alias.name)
        elif isinstance(node, ast.Assign):
            names[node.targets[0].id] = names[node.value.id]
    return {name: source for name, source in names.items() if not name.startswith("_")}


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


# The vocabulary of arguments -----------------------------------------------------------------------------------------

INSTEAD = {"w": "weights", "wx": "weights", "wy": "weights", "masses": "weights", "p": "weights", "seed": "key"}
INSTEAD["kind"] = "clock"

# What is called so in the field, and means something else than the word of the vocabulary.
EXCEPTIONS = {
    **{
        f"{name}(w)": "the output weights of a neuron, a vector beside a and b, as in the papers"
        for name in ("constructions.ReluPiece", "constructions.ShearProfile", "models.ReluFlow")
    },
    "diagnostics.Clusters(masses)": "the masses of clusters, in a result",
    "diagnostics.Plateau(masses)": "likewise",
    "reductions.LowTemperatureRates(p)": "the dimension of an eigenspace",
    "reductions.MeanField(masses)": "the masses of the cells of a grid, in a result",
    "reductions.localization.Certificate(masses)": "the masses of atoms, in a result",
    "registry.Entry(kind)": "of entries: attention maps, experiments, ...; there is no clock",
    "registry.entries(kind)": "likewise",
    "registry.get(kind)": "likewise",
    "reductions.low_temperature_rates(p)": "the dimension of an eigenspace",
    **{
        f"measures.{name}(p)": "the exponent of the Wasserstein distance W_p"
        for name in (
            *("conditional_wasserstein", "sliced", "synchronous", "two_diracs"),
            *("wasserstein", "wasserstein_1d", "wasserstein_circle"),
        )
    },
}


def arguments():
    """`name(argument)` of every public function, class and method; results are made by the library, not by users."""
    for name, thing in public_names().items():
        callables = {name: thing}
        if inspect.isclass(thing):
            methods = {k: v for k, v in vars(thing).items() if inspect.isfunction(v) and not k.startswith("_")}
            callables = {f"{name}.{k}": v for k, v in methods.items()}
            if not issubclass(thing, tuple):
                callables[name] = thing
        for label, one in callables.items():
            try:
                parameters = inspect.signature(one).parameters if callable(one) else {}
            except ValueError:  # of a class without a signature
                continue
            yield from ((label, parameter) for parameter in parameters.values())


def test_arguments_are_named_by_one_vocabulary():
    other = {f"{name}({p.name})" for name, p in arguments() if p.name in INSTEAD}
    assert not sorted(other - EXCEPTIONS.keys()), "rename these, see INSTEAD"
    assert not sorted(EXCEPTIONS.keys() - other), "these are gone: take them out of the table"


def test_the_time_of_a_diagnostic_is_given_by_keyword():
    homes = {name: getattr(thing, "__module__", "") for name, thing in public_names().items()}
    at = [(name, p) for name, p in arguments() if p.name == "at" and homes.get(name, "").startswith("attnflow.diagn")]
    assert len(at) > 10
    assert not [name for name, p in at if p.kind is not p.KEYWORD_ONLY]


def test_the_value_matrix_comes_before_the_score_matrix():
    order = {}
    for name, p in arguments():
        if p.name in ("V", "B"):
            order.setdefault(name, []).append(p.name)
    assert not [name for name, names in order.items() if names == ["B", "V"]]
