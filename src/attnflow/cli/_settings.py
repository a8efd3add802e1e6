"""The settings of one simulation: from flags, a TOML file or an earlier run, checked, and turned into objects."""

import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError


@dataclass(frozen=True)
class Setting:
    """One setting: its type, its default (None: decided by the library), and a line of help."""

    type: type
    default: Any
    help: str


SETTINGS = {
    "attention": Setting(str, "softmax", "Attention map"),
    "space": Setting(str, "sphere", "Where the tokens live: sphere or euclidean"),
    "init": Setting(str, "uniform", "Law of the initial tokens"),
    "n": Setting(int, 64, "Number of tokens"),
    "d": Setting(int, 3, "Dimension"),
    "t1": Setting(float, 30.0, "Final time"),
    "save": Setting(int, 201, "How many equispaced times to keep"),
    "solver": Setting(str, "tsit5", "tsit5, dopri8 (adaptive), rk4, euler, euler-retract (with --dt)"),
    "dt": Setting(float, None, "Step of the solvers with a fixed step"),
    "rtol": Setting(float, None, "Relative tolerance of the adaptive solvers"),
    "atol": Setting(float, None, "Absolute tolerance of the adaptive solvers"),
    "max_steps": Setting(int, 100_000, "Steps after which to give up"),
    "seed": Setting(int, 0, "Seed of the random draws"),
    "dtype": Setting(str, "float64", "float64 or float32"),
}


def parameters() -> dict[str, dict[str, Any]]:
    """`{parameter: {entry: Param}}` over all attention maps and initial laws, those of other packages included."""
    from .. import registry

    found: dict[str, dict[str, Any]] = {}
    for kind in ("attention", "law"):
        for entry in registry.entries(kind).values():
            for name, param in entry.params.items():
                found.setdefault(name, {})[entry.name] = param
    return found


def read_toml(path: Path) -> dict[str, Any]:
    """Settings from a TOML file; its keys are the names of the flags."""
    try:
        with open(path, "rb") as f:
            values = tomllib.load(f)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from error
    return {name.replace("-", "_"): value for name, value in values.items()}


def complete(given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings: those given, checked, and the defaults of the others."""
    extra = parameters()
    unknown = sorted(set(given) - set(SETTINGS) - set(extra))
    if unknown:
        raise InputError(f"setting {unknown[0]!r} is unknown; there are: {', '.join([*SETTINGS, *extra])}.")
    settings = {name: s.default for name, s in SETTINGS.items()}
    for name, value in given.items():
        settings[name] = _typed(name, value, SETTINGS[name].type) if name in SETTINGS else value
    return settings


def _typed(name: str, value: Any, kind: type) -> Any:
    good = isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
    if not good:
        word = {str: "a word", int: "a whole number", float: "a number"}[kind]
        raise InputError(f"{name} = {value!r} should be {word}.")
    return kind(value)


def build(settings: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """`(model, x0, options)` for `attnflow.simulate`."""
    import jax

    from .. import registry, spaces
    from .._precision import precision
    from ..models import SelfAttention

    s = dict(settings)
    if s["dtype"] not in ("float32", "float64"):
        raise InputError(f"dtype {s['dtype']!r} is unknown; choose float64 or float32.")
    precision(s["dtype"])
    if s["space"] not in spaces.SPACES:
        raise InputError(f"space {s['space']!r} is unknown; there are: {', '.join(spaces.SPACES)}.")
    attention, law = registry.get("attention", s["attention"]), registry.get("law", s["init"])
    for entry in (attention, law):
        if s["space"] not in entry.spaces:
            there = ", ".join(entry.spaces)
            raise InputError(f"{entry.kind} {entry.name!r} is not for space {s['space']!r}; it is for: {there}.")
    own = {name: value for name, value in s.items() if name not in SETTINGS}
    for name in own:
        if name not in attention.params and name not in law.params:
            attention.build(**{name: own[name]})  # refuses it, naming the parameters there are
    map_ = attention.build(**{k: v for k, v in own.items() if k in attention.params})
    model = SelfAttention(map_, space=spaces.SPACES[s["space"]]())
    values = {k: p.check(k, own.get(k, p.default)) for k, p in law.params.items()}
    if "key" in inspect.signature(law.factory).parameters:  # laws without chance take no key
        if s["seed"] < 0:
            raise InputError(f"seed = {s['seed']} is negative; choose a whole number from 0.")
        values["key"] = jax.random.key(s["seed"])
    x0 = law.factory(n=s["n"], d=s["d"], **values)
    options = {k: s[k] for k in ("t1", "save", "solver", "dt", "rtol", "atol", "max_steps")}
    return model, x0, options
