r"""Matrices by name or typed in: the $Q$, $K$ and $V$ of a simulation that comes from flags or from the page.

A preset says both what it is and how a program writes it, for a user who copies one. Random ones belong to the seed of
the run, and $Q$, $K$, $V$ differ. Nothing that was typed is ever evaluated: entries are read as numbers.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .errors import InputError, shown


class Preset(NamedTuple):
    """A matrix of dimension d, and the expression in `jax` and `jnp` that makes it."""

    make: Callable[[int, Any], Any]
    program: str


def _identity(d: int, key: Any) -> Any:
    import jax.numpy as jnp

    return jnp.eye(d)


def _rotation(d: int, key: Any) -> Any:
    """Quarter turns in the planes (1, 2), (3, 4), ...; a coordinate that is left over stays."""
    import jax
    import jax.numpy as jnp

    return jax.scipy.linalg.block_diag(*[jnp.array([[0.0, -1.0], [1.0, 0.0]])] * (d // 2), jnp.eye(d % 2))


def _shear(d: int, key: Any) -> Any:
    import jax.numpy as jnp

    return jnp.eye(d) + jnp.eye(d, k=1)


def _normal(d: int, key: Any) -> Any:
    import jax

    return jax.random.normal(key, (d, d))


def _symmetric(d: int, key: Any) -> Any:
    G = _normal(d, key)
    return (G + G.T) / (2 * d) ** 0.5


PRESETS = {
    "identity": Preset(_identity, "jnp.eye({d})"),
    "minus-identity": Preset(lambda d, key: -_identity(d, key), "-jnp.eye({d})"),
    "rotation": Preset(
        _rotation,
        "jax.scipy.linalg.block_diag(*[jnp.array([[0.0, -1.0], [1.0, 0.0]])] * {half}, jnp.eye({odd}))",
    ),
    "shear": Preset(_shear, "jnp.eye({d}) + jnp.eye({d}, k=1)"),
    "gaussian": Preset(lambda d, key: _normal(d, key) / d**0.5, "jax.random.normal({key}, ({d}, {d})) / {d} ** 0.5"),
    "symmetric": Preset(_symmetric, "(lambda G: (G + G.T) / (2 * {d}) ** 0.5)(jax.random.normal({key}, ({d}, {d})))"),
}

CHOICES = f"{', '.join(PRESETS)}, or typed by rows as '1 0; 0 -1'"
MATRICES = ("Q", "K", "V")


def matrices(settings: Mapping[str, Any], factory: Callable[..., Any]) -> dict[str, Any]:
    """The matrices that an attention map is made with, as far as the settings name some; refused if it takes none."""
    import jax
    import jax.numpy as jnp

    def made(name: str, text: str) -> Any:
        if text not in PRESETS:
            return jnp.array(typed(name, text, settings["d"]))
        key = jax.random.fold_in(jax.random.key(settings["seed"]), 1 + MATRICES.index(name))
        return PRESETS[text].make(settings["d"], key)

    return {name: made(name, text) for name, text in _chosen(settings, factory).items()}


def programs(settings: Mapping[str, Any], factory: Callable[..., Any]) -> dict[str, str]:
    """The same as expressions in `jax` and `jnp`."""
    d, seed = settings["d"], settings["seed"]

    def written(name: str, text: str) -> str:
        if text not in PRESETS:
            return f"jnp.array({typed(name, text, d)!r})"
        key = f"jax.random.fold_in(jax.random.key({seed}), {1 + MATRICES.index(name)})"
        return PRESETS[text].program.format(d=d, half=d // 2, odd=d % 2, key=key)

    return {name: written(name, text) for name, text in _chosen(settings, factory).items()}


def _chosen(settings: Mapping[str, Any], factory: Callable[..., Any]) -> dict[str, str]:
    """The setting of each matrix; Q and K come together, and identities are left out."""
    texts = {name: settings.get(name) or "identity" for name in MATRICES}
    for name, text in texts.items():
        _check_text(name, text)
    chosen = {name: text.strip() for name, text in texts.items()}
    chosen = {name: text for name, text in chosen.items() if text != "identity"}
    if "Q" in chosen or "K" in chosen:
        chosen = {"Q": "identity", "K": "identity", **chosen}
    for name in chosen:
        if not takes(factory, name):
            raise InputError(f"this attention map takes no {name}; choose the identity for it.")
    return chosen


def typed(name: str, text: str, d: int) -> list[list[float]]:
    """A matrix from text: rows end with `;` or a new line, entries are apart by spaces or commas."""
    _check_text(name, text)
    rows = [row.replace(",", " ").split() for row in text.replace("\n", ";").split(";") if row.strip()]
    try:
        values = [[float(entry) for entry in row] for row in rows]
    except ValueError as error:
        wrong = str(error).split(":")[-1].strip()
        raise InputError(f"{name} has the entry {wrong}, which is no number; there are: {CHOICES}.") from None
    if len(values) != d or any(len(row) != d for row in values):
        widths = sorted({len(row) for row in values})
        shape = f"{len(values)} rows of {'/'.join(map(str, widths)) or 'no'} entries"
        raise InputError(f"{name} has {shape}; in dimension {d} type {d} rows of {d} numbers, as '1 0; 0 -1'.")
    if not all(math.isfinite(entry) for row in values for entry in row):
        raise InputError(f"{name} has an entry that is not finite; type numbers.")
    return values


def _check_text(name: str, text: Any) -> None:
    if not isinstance(text, str):
        raise InputError(f"{name} = {shown(text)} is no text; there are: {CHOICES}.")


def takes(factory: Callable[..., Any], name: str) -> bool:
    """Whether a factory can be called with an argument of this name."""
    arguments = inspect.signature(factory).parameters
    return name in arguments or any(p.kind is p.VAR_KEYWORD for p in arguments.values())
