"""The public names of the package, found by walking it."""

import ast
import importlib
import inspect
import pkgutil
import types
from typing import Any, get_origin

import attnflow as af

# Public modules that hold nothing for a user's program.
LEFT_OUT = {
    "app": "the server of the page, started by `attnflow explore`",
    "checks": "how the rooms check arguments",
    "cli": "the command line, tested as commands",
    "doctor": "a command",
    "experiments": "folders of experiments, found by the registry; claims are tested by themselves",
    "files": "how the library writes files",
    "floating_point": "the home of `af.precision`",
    "json_values": "how the library writes JSON",
    "linear_algebra": "matrix functions that rooms share",
    "matrices": "choices of the command line and of the page",
    "parameters": "how attention maps and models check their parameters",
    "palette": "colours that figures and the page share",
    "report": "the report of `attnflow reproduce`",
    "settings": "choices of the command line and of the page",
    "threads": "how the library uses cores",
    "versions": "the versions of installed distributions, for provenance and the doctor",
}


def public_names() -> dict[str, Any]:
    """Every public object, by its shortest name below `attnflow`; a second home of the same object does not count."""
    names: dict[str, Any] = {}
    homes: set[int] = set()
    for prefix, module in _modules():
        for name in getattr(module, "__all__", None) or vars(module):
            thing = getattr(module, name)
            alias = get_origin(thing) is not None  # of types, for annotations
            if name.startswith("_") or alias or isinstance(thing, types.ModuleType) or not _ours(thing, module):
                continue
            # Small constants may be one object by accident; functions and classes are not.
            if id(thing) in homes and callable(thing):
                continue
            homes.add(id(thing))
            names[prefix + name] = thing
    return names


def _modules() -> list[tuple[str, types.ModuleType]]:
    """The namespaces: the package, the modules it exports, then its rooms and their packages."""
    modules: dict[str, tuple[str, types.ModuleType]] = {"attnflow": ("", af)}
    exported = [(f"{name}.", getattr(af, name)) for name in af.__all__ if name not in LEFT_OUT]
    for prefix, module in exported:
        if isinstance(module, types.ModuleType):
            modules.setdefault(module.__name__, (prefix, module))
    for info in pkgutil.iter_modules(af.__path__):
        if not info.name.startswith("_") and info.name not in LEFT_OUT:
            module = importlib.import_module(f"attnflow.{info.name}")
            modules.setdefault(module.__name__, (f"{info.name}.", module))
    for prefix, module in list(modules.values())[1:]:
        for name in _namespaces(module):
            inner = getattr(module, name)
            modules.setdefault(inner.__name__, (f"{prefix}{name}.", inner))
    return list(modules.values())


def _namespaces(module: types.ModuleType) -> list[str]:
    """Modules that a package exports as such: packages inside it, and what it imports by `from . import x as x`."""
    if not hasattr(module, "__path__"):
        return []
    packages = {info.name for info in pkgutil.iter_modules(module.__path__) if info.ispkg}
    names = _exported_again(module) | packages
    return sorted(n for n in names if isinstance(getattr(module, n, None), types.ModuleType))


def _exported_again(module: types.ModuleType) -> set[str]:
    """What a module imports as `from .y import x as x`, which is how a name is exported again."""
    return {
        alias.name
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ImportFrom) and node.level > 0
        for alias in node.names
        if alias.asname == alias.name
    }


def _ours(thing: Any, module: types.ModuleType) -> bool:
    """Whether an object belongs to the namespace: what a plain module imports for itself does not."""
    home = getattr(thing, "__module__", None)
    if home is None or not (isinstance(thing, type) or callable(thing)):
        return hasattr(module, "__path__") or module.__name__.startswith("attnflow.")
    if hasattr(module, "__path__"):
        return home.startswith("attnflow")
    return home == module.__name__ or getattr(thing, "__name__", "") in _exported_again(module)
