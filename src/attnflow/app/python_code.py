"""A program that does what the page does: same tokens, same solver, same step, same numbers."""

import importlib
from typing import Any

import attnflow

from .. import registry
from ..matrices import programs as matrix_programs
from ..settings import PAIRS, WEIGHTS
from .state import State


def program(state: State, dt: float) -> str:
    """Python for the run up to the step of the state."""
    s = state.settings
    lines = ["import jax", "import jax.numpy as jnp", "", "import attnflow as af", "", 'af.precision("float64")']
    law = registry.get("law", s["init"])
    lines.append(f"x0 = {_tokens(law, s)}" + ('.astype("float32")' if s["dtype"] == "float32" else ""))
    weights = ""
    if s["weights"] != "equal":
        lines.append(f"weights = {WEIGHTS[s['weights']].format(n=s['n'], seed=s['seed'])}")
        weights = ", weights=weights"
    lines.append(f"model = {_model(s)}")
    if state.view["long"]:
        lines.append(f"run = af.long_time(model, x0{weights}, points=48)")
        lines.append(f"x = run.xs[{state.step}]  # at log t = run.log_ts[{state.step}]")
    elif state.step:
        time = f't1={state.step} * {dt!r}, solver="rk4", dt={dt!r}, max_steps={max(100_000, state.step + 1)}'
        lines.append(f"run = af.simulate(model, x0{weights}, {time})")
        lines.append("x = run.final")
    else:
        lines.append("x = x0")
    text = "\n".join(lines)
    if "jnp." not in text.replace("import jax.numpy as jnp", ""):
        text = text.replace("import jax.numpy as jnp\n", "")
    if "jax." not in text.replace("import jax", ""):
        text = text.replace("import jax\n\n", "")
    return text + "\n\nprint(x)\n"


def _tokens(law: Any, s: dict[str, Any]) -> str:
    from ..matrices import takes

    arguments = {"n": s["n"], "d": s["d"]} | {k: s.get(k, p.default) for k, p in law.params.items()}
    text = _arguments(arguments) + (f", key=jax.random.key({s['seed']})" if takes(law.factory, "key") else "")
    return f"{_name(law)}({text})"


def _model(s: dict[str, Any]) -> str:
    from ..matrices import takes

    entry = registry.get("model", s["model"])
    parts = []
    if takes(entry.factory, "attention"):
        attention = registry.get("attention", s["attention"])
        own = _arguments({k: s.get(k, p.default) for k, p in attention.params.items()})
        matrices = [f"{name}={text}" for name, text in matrix_programs(s, attention.factory).items()]
        parts.append(f"attention={_name(attention)}({', '.join(filter(None, [own, *matrices]))})")
    if takes(entry.factory, "space"):
        parts.append(f"space={'af.Sphere()' if s['space'] == 'sphere' else 'af.Euclidean()'}")
    if takes(entry.factory, "pairs") and s["pairs"] != "full":
        parts.append("pairs=" + PAIRS[s["pairs"]].format(slope=s["slope"]))
    if takes(entry.factory, "d"):
        parts.append(f"d={s['d']}")
    own = _arguments({k: s.get(k, p.default) for k, p in entry.params.items()})
    return f"{_name(entry)}({', '.join(filter(None, [*parts, own]))})"


def _arguments(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _name(entry: Any) -> str:
    """How a program calls the factory: by its public name, or through the registry."""
    name = getattr(entry.factory, "__name__", "")
    if name in dir(attnflow) and getattr(attnflow, name) is entry.factory:
        return f"af.{name}"
    if entry.kind == "law" and hasattr(entry.factory, "__module__"):
        home = entry.factory.__module__.split(".")[-1]
        if home in dir(attnflow) and getattr(importlib.import_module(entry.factory.__module__), name, None):
            return f"af.{home}.{name}"
    return f'af.registry.get("{entry.kind}", "{entry.name}").factory'
