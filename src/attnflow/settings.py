"""The settings of one simulation: from flags, a TOML file, an earlier run or the page, checked, turned into objects."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import FileError, InputError
from .matrices import CHOICES, MATRICES, matrices, takes


@dataclass(frozen=True)
class Setting:
    """One setting: its type, its default (None: decided by the library), and a line of help."""

    type: type
    default: Any
    help: str


KINDS: dict[str, Any] = {"model": "model", "attention": "attention", "init": "law"}  # settings that name an entry
# Pairs by name, and how a program writes them; those with a slope take it per token.
PAIRS = {
    "full": "af.pairsums.Full()",
    "causal": "af.Causal()",
    "alibi": "af.Causal(slope={slope!r})",
    "strict": "af.Causal(strict=True)",
    "positional": "af.Causal(strict=True, slope={slope!r}, normalized=True)",
}
SLOPED = ("alibi", "positional")
# Weights by name, and how a program writes them.
WEIGHTS = {
    "equal": "None",
    "random": "jax.random.dirichlet(jax.random.fold_in(jax.random.key({seed}), 4), jnp.ones({n}))",
    "leader": "jnp.full({n}, 0.5 / ({n} - 1)).at[0].set(0.5)",
}

SETTINGS = {
    "model": Setting(str, "self-attention", "Dynamical system"),
    "attention": Setting(str, "softmax", "Attention map"),
    "pairs": Setting(
        str,
        "full",
        "Which keys a token sees: full, causal (the past only), alibi (the past, fading by --slope), strict (the past "
        "without oneself), positional (the same, fading by --slope, with positional weights that sum to one)",
    ),
    "slope": Setting(float, None, "Slope per token of --pairs alibi or positional"),
    "space": Setting(str, "sphere", "Where the tokens live: sphere or euclidean"),
    "Q": Setting(str, None, f"Query matrix: {CHOICES}"),
    "K": Setting(str, None, "Key matrix, likewise"),
    "V": Setting(str, None, "Value matrix, likewise"),
    "init": Setting(str, "uniform", "Law of the initial tokens"),
    "n": Setting(int, 64, "Number of tokens"),
    "d": Setting(int, 3, "Dimension"),
    "weights": Setting(str, "equal", f"Weights of the tokens: {', '.join(WEIGHTS)}"),
    "t1": Setting(float, 30.0, "Final time"),
    "save": Setting(int, 201, "How many equispaced times to keep"),
    "solver": Setting(
        str,
        "tsit5",
        "tsit5, dopri8 (adaptive), rk4, ifrk4, euler, euler-retract, layers (with --dt), exact (relu-flow)",
    ),
    "dt": Setting(float, None, "Step of the solvers with a fixed step"),
    "rtol": Setting(float, None, "Relative tolerance of the adaptive solvers"),
    "atol": Setting(float, None, "Absolute tolerance of the adaptive solvers"),
    "max_steps": Setting(int, 100_000, "Steps after which to give up"),
    "seed": Setting(int, 0, "Seed of the random draws"),
    "dtype": Setting(str, "float64", "float64 or float32"),
}


def parameters() -> dict[str, dict[str, Any]]:
    """`{parameter: {entry: Param}}` over all models, attention maps and initial laws, other packages' included."""
    from . import registry

    owners: dict[str, dict[str, Any]] = {}
    for kind in KINDS.values():
        for entry in registry.entries(kind).values():
            for name, param in entry.params.items():
                owners.setdefault(name, {})[entry.name] = param
    return owners


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


def complete(flags: Mapping[str, Any]) -> dict[str, Any]:
    """All settings: those given, checked, and the defaults of the others.

    Parameters of the model, the attention map and the law are there if they were given, as the values that are used.
    """
    extra = parameters()
    unknown = sorted(set(flags) - set(SETTINGS) - set(extra))
    if unknown:
        raise InputError(f"setting {unknown[0]!r} is unknown; there are: {', '.join([*SETTINGS, *extra])}.")
    settings = {name: s.default for name, s in SETTINGS.items()}
    settings |= {name: _typed(name, value, SETTINGS[name].type) for name, value in flags.items() if name in SETTINGS}
    chosen = _chosen(settings)
    for name in set(flags) - set(SETTINGS):
        owners = [entry for entry in chosen if name in entry.params]
        if not owners:
            _refuse(name, chosen)
        for entry in owners:
            settings[name] = entry.params[name].check(name, flags[name])
    return settings


def _chosen(settings: Mapping[str, Any]) -> list[Any]:
    """The entries that the settings name, as far as the model takes them: model, attention map, law."""
    from . import registry, spaces

    if settings["space"] not in spaces.SPACES:
        raise InputError(f"space {settings['space']!r} is unknown; there are: {', '.join(spaces.SPACES)}.")
    chosen = [registry.get(kind, settings[name]) for name, kind in KINDS.items()]
    for entry in chosen:
        if settings["space"] not in entry.spaces:
            there = ", ".join(entry.spaces)
            raise InputError(f"{entry.kind} {entry.name!r} is not for space {settings['space']!r}; it is for: {there}.")
    model, attention, law = chosen
    if takes(model.factory, "attention"):
        return chosen
    if attention.name != SETTINGS["attention"].default:
        raise InputError(f"model {model.name!r} takes no attention map; drop --attention.")
    return [model, law]


def _refuse(name: str, chosen: list[Any]) -> None:
    """Refuse a parameter that none of the chosen entries has, naming these entries."""
    from . import registry

    without_map = "attention" not in [entry.kind for entry in chosen]
    if without_map and any(name in other.params for other in registry.entries("attention").values()):
        raise InputError(f"model {chosen[0].name!r} takes no attention map; drop --{name.replace('_', '-')}.")
    for entry in chosen:
        if any(name in other.params for other in registry.entries(entry.kind).values()):
            entry.build(**{name: None})  # refuses it, naming the parameters there are


def _typed(name: str, value: Any, kind: type) -> Any:
    good = isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
    if not good:
        word = {str: "a word", int: "a whole number", float: "a number"}[kind]
        raise InputError(f"{name} = {value!r} should be {word}.")
    return kind(value)


def build(settings: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """`(model, x0, options)` for `attnflow.simulate`, from complete settings.

    Arrays are made as JAX makes them: whoever has the process to itself calls `precision(settings["dtype"])` before.
    """
    import jax

    from . import spaces
    from .models import AbstractRandomModel

    s = dict(settings)
    if s["dtype"] not in ("float32", "float64"):
        raise InputError(f"dtype {s['dtype']!r} is unknown; choose float64 or float32.")
    chosen = {entry.kind: (entry, _own(entry, s)) for entry in _chosen(s)}
    entry, values = chosen["model"]
    if any(s[name] != value for name, value in entry.needs.items()):
        needs = ", ".join(f"{name} = {value}" for name, value in entry.needs.items())
        raise InputError(f"model {entry.name!r} is made for {needs}; choose these.")
    parts = {"space": spaces.SPACES[s["space"]](), "pairs": _pairs(s), "d": s["d"]}
    if "attention" in chosen:
        attention, own = chosen["attention"]
        named = matrices(s, attention.factory)
        parts["attention"] = attention.factory(**own, **named) if named else attention.build(**own)
    elif any(s[name] for name in MATRICES):
        raise InputError(f"model {entry.name!r} takes no attention map, and so no Q, K or V; drop them.")
    if s["pairs"] != "full" and not takes(entry.factory, "pairs"):
        raise InputError(f"model {entry.name!r} has no pairs to choose; drop --pairs.")
    model = entry.factory(**{k: v for k, v in parts.items() if takes(entry.factory, k)}, **values)
    law, values = chosen["law"]
    if s["seed"] < 0:
        raise InputError(f"seed = {s['seed']} is negative; choose a whole number from 0.")
    if takes(law.factory, "key"):  # deterministic laws take no key
        values["key"] = jax.random.key(s["seed"])
    x0 = law.factory(n=s["n"], d=s["d"], **values)
    options = {k: s[k] for k in ("t1", "save", "solver", "dt", "rtol", "atol", "max_steps")}
    if isinstance(model, AbstractRandomModel):
        options["key"] = jax.random.fold_in(jax.random.key(s["seed"]), 5)
    return model, x0, {**options, "weights": _weights(s)}


def _weights(settings: Mapping[str, Any]) -> Any:
    import jax
    import jax.numpy as jnp

    name, n = settings["weights"], settings["n"]
    if name not in WEIGHTS:
        raise InputError(f"weights {name!r} are unknown; there are: {', '.join(WEIGHTS)}.")
    if name == "leader" and n < 2:
        raise InputError("a leader has half the weight, the others the rest; take n >= 2 tokens.")
    if name == "equal":
        return None
    if name == "leader":
        return jnp.full(n, 0.5 / (n - 1)).at[0].set(0.5)
    return jax.random.dirichlet(jax.random.fold_in(jax.random.key(settings["seed"]), 4), jnp.ones(n))


def _own(entry: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The entry's parameters: those given, and the defaults of the others."""
    return {name: param.check(name, settings.get(name, param.default)) for name, param in entry.params.items()}


def _pairs(settings: Mapping[str, Any]) -> Any:
    from .pairsums import Causal, Full

    name, slope = settings["pairs"], settings["slope"]
    if name not in PAIRS:
        raise InputError(f"pairs {name!r} is unknown; there are: {', '.join(PAIRS)}.")
    if slope is not None and name not in SLOPED:
        owners = " or ".join(SLOPED)
        raise InputError(f"--slope {slope:g} belongs to --pairs {owners}, not to {name}; drop one of them.")
    if name in SLOPED and slope is None:
        raise InputError(f"--pairs {name} needs --slope, how fast the past fades; give for example --slope 0.1.")
    if name == "full":
        return Full()
    return Causal(strict=name in ("strict", "positional"), slope=slope, normalized=name == "positional")
