"""Relations that hold over the whole table. Each takes a row and fails with an assertion that names the argument."""

import dataclasses
import enum
import inspect
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray

from attnflow.errors import AttnflowError, InputError
from witness import rotation

from .table import Call

# What a call returns, as numbers --------------------------------------------------------------------------------------


def numbers(result: Any) -> list[np.ndarray]:
    """All numbers of a result, array by array: of arrays, containers, modules and result objects."""
    return [np.asarray(leaf) for leaf in _leaves(result, set())]


def _leaves(thing: Any, seen: set[int]) -> Iterator[Any]:
    if thing is None or isinstance(thing, str | bytes | enum.Enum | type) or id(thing) in seen:
        return
    if isinstance(thing, bool | int | float | complex | np.generic | np.ndarray) or eqx.is_array(thing):
        dtype = jnp.result_type(thing) if not isinstance(thing, np.ndarray) else thing.dtype
        if not jnp.issubdtype(dtype, jax.dtypes.prng_key) and np.dtype(dtype).kind in "biufc":
            yield thing
        return
    seen = seen | {id(thing)}
    if isinstance(thing, xarray.DataArray):
        yield thing.values
    elif isinstance(thing, Mapping):  # a dictionary, or an xarray.Dataset
        for value in thing.values():
            yield from _leaves(value, seen)
    elif hasattr(thing, "_asdict"):
        yield from _leaves({name: value for name, value in thing._asdict().items() if name != "stats"}, seen)
    elif isinstance(thing, list | tuple | set | frozenset):
        for value in thing:
            yield from _leaves(value, seen)
    elif dataclasses.is_dataclass(thing):
        for f in dataclasses.fields(thing):
            if f.name not in ("stats", "provenance"):  # seconds and dates
                yield from _leaves(getattr(thing, f.name), seen)


def not_finite(result: Any) -> int:
    """How many numbers of a result are no plain numbers."""
    return sum(int((~np.isfinite(a)).sum()) for a in numbers(result) if a.dtype.kind in "fc")


def some_finite(result: Any) -> bool:
    """Whether there is a number other than zero: of infinities, NaN and zeros most relations would hold for nothing."""
    return any(bool(np.any(np.isfinite(a) & (a != 0))) for a in numbers(result))


def close(actual: Any, expected: Any, tolerance: float, what: str) -> None:
    """The same numbers, up to a fraction of the largest of each array."""
    actual, expected = numbers(actual), numbers(expected)
    assert len(actual) == len(expected) > 0, f"{what}: {len(actual)} arrays in place of {len(expected)}"
    for a, b in zip(actual, expected, strict=True):
        assert a.shape == b.shape, f"{what}: shape {a.shape} in place of {b.shape}"
        assert np.array_equal(np.isfinite(a), np.isfinite(b)), f"{what}: other entries are finite: {a} and {b}"
        finite = np.isfinite(b)
        if b.dtype.kind in "biu":
            assert np.array_equal(a, b), f"{what}: {a} in place of {b}"
        else:
            size = np.abs(b[finite]).max(initial=0.0)
            apart = np.abs(a[finite].astype(b.dtype) - b[finite]).max(initial=0.0)
            assert apart <= tolerance * size, f"{what}: off by {apart:.3g}, of {size:.3g}"


# Bad input ------------------------------------------------------------------------------------------------------------


def arrays_and_numbers(row: Call) -> tuple[dict[str, np.ndarray], dict[str, float | int], dict[str, Any]]:
    """The arguments of a row by what they are: arrays of floats, plain numbers, and everything else."""
    arrays, plain, others = {}, {}, {}
    for name, value in row.arguments().items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            arrays[name] = value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            plain[name] = value
        elif value is not None and not isinstance(value, bool):
            others[name] = value
    return arrays, plain, others


BAD_NUMBERS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def check_nonfinite(row: Call) -> None:
    """NaN or infinity in: refused in a sentence, or NaN out; never a plain number."""
    arrays, plain, _ = arrays_and_numbers(row)
    defects = []
    for name, value in {**arrays, **plain}.items():
        for kind, bad in BAD_NUMBERS.items():
            if row.applies("nonfinite", name, kind):
                argument = _with_entry(value, bad) if name in arrays else bad
                defects += _defects(row, name, kind, argument, AttnflowError, nan_allowed=True)
    assert not defects, "\n".join(defects)


def _with_entry(value: np.ndarray, bad: float) -> np.ndarray:
    """One entry is bad, neither the first nor the last where there are others."""
    value = value.copy()
    value.reshape(-1)[value.size // 2] = bad
    return value


def check_junk(row: Call) -> None:
    """Empty, without axes, of a wrong shape or type, text, truth values: `InputError`, one sentence."""
    arrays, plain, others = arrays_and_numbers(row)
    junk = {name: _junk_for_array(value, name in row.elementwise) for name, value in arrays.items()}
    junk |= {name: _junk_for_number(name in row.elementwise) for name in plain}
    junk |= {name: {"text": "magic"} for name in others}
    defects = []
    for name, kinds in junk.items():
        for kind, value in kinds.items():
            if row.applies("junk", name, kind):
                defects += _defects(row, name, kind, value, InputError)
    assert not defects, "\n".join(defects)


def check_switches(row: Call) -> None:
    """What is True or False, named in the table or not, is no text: "no" would count as true."""
    parameters = inspect.signature(row.object).parameters.values()
    switches = [p.name for p in parameters if isinstance(p.default, bool) or str(p.annotation) == "bool | None"]
    defects = [d for name in switches for d in _defects(row, name, "text", "no", InputError)]
    assert not defects, "\n".join(defects)


def _junk_for_array(value: np.ndarray, elementwise: bool) -> dict[str, Any]:
    junk = {
        "text": "warm",
        "words": ["warm", "cold"],
        "bool": value > 0,
        "complex": value + 0j,
        "object": object(),
        "ragged": [[1.0, 2.0], [3.0]],
    }
    if elementwise:
        return junk
    shape = value[:, None, None, None] if value.ndim == 1 else value[0]  # too many axes, or one too few
    return {**junk, "empty": np.zeros((0,) * value.ndim), "0-d": 1.0, "shape": shape}


def _junk_for_number(elementwise: bool) -> dict[str, Any]:
    junk = {"text": "warm", "bool": True, "complex": 1j, "object": object()}
    return junk if elementwise else {**junk, "array": np.array([1.0, 2.0]), "empty": np.zeros(0)}


def _defects(
    row: Call, name: str, kind: str, value: Any, error: type[Exception], nan_allowed: bool = False
) -> list[str]:
    """What is wrong with the answer to a bad value: nothing, if it is refused in one sentence (or comes out)."""
    what = f"{row.label}({name} = {kind})"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = row(**{name: value})
    except error as caught:
        sentence = str(caught)
        good = sentence.endswith(".") and "\n" not in sentence
        return [] if good else [f"{what} is not refused in one sentence: {sentence}"]
    except Exception as caught:
        return [f"{what} raised {type(caught).__name__}: {' '.join(str(caught).split())[:150]}"]
    if nan_allowed and not_finite(result) > not_finite(row.result):
        return []
    return [f"{what} gave {_short(result)}"]


def _short(result: Any) -> str:
    return " ".join(repr(result).split())[:200]


# Precision and transformations ----------------------------------------------------------------------------------------


def check_float32(row: Call) -> None:
    """In a program that computes with 32 bits: the same numbers, to the digits these have."""
    expected = row.unchanged
    with jax.enable_x64(False):
        arrays, _, _ = arrays_and_numbers(row)
        actual = row.numbers(**{name: value.astype(np.float32) for name, value in arrays.items()})
    close(actual, expected, row.float32_tolerance, f"{row.label} in float32")


def check_transformations(row: Call) -> None:
    """`jit` gives what the call gives, `vmap` what a loop gives; forward, reverse and differences agree.

    All of it is one compiled program, evaluated at the arguments and on either side of them.
    """
    values = tuple(jnp.asarray(row.arguments()[name], float) for name in row.traced)
    rng = np.random.default_rng(0)
    directions = tuple(jnp.asarray(rng.normal(size=v.shape) * np.maximum(np.abs(v), 0.1)) for v in values)

    def function(*traced: Any) -> list[Any]:
        out = row.numbers(**dict(zip(row.traced, traced, strict=True)))
        return [jnp.asarray(leaf) for leaf in _leaves(out, set()) if _inexact(leaf)]

    def total(*traced: Any) -> Any:
        leaves = [jnp.ravel(leaf) for leaf in function(*traced)]
        return sum(jnp.sum(leaf * jnp.arange(1, leaf.size + 1)) for leaf in leaves)  # no symmetry hides an entry

    def program(values: Any, directions: Any) -> dict[str, Any]:
        out: dict[str, Any] = {"value": function(*values), "total": total(*values)}
        if row.applies("vmap"):
            aside = [v + 1e-3 * u for v, u in zip(values, directions, strict=True)]
            out["aside"] = function(*aside)
            out["batch"] = jax.vmap(function)(*(jnp.stack(pair) for pair in zip(values, aside, strict=True)))
        if row.differentiable and row.applies("jvp"):
            out["forward mode"] = jax.jvp(total, values, directions)[1]
        if row.differentiable and row.applies("vjp"):
            gradients = jax.grad(total, tuple(range(len(values))))(*values)
            out["reverse mode"] = sum(jnp.vdot(g, u) for g, u in zip(gradients, directions, strict=True))
        return out

    compiled = jax.jit(program)
    here = compiled(values, directions)
    close(
        here["value"],
        [leaf for leaf in _leaves(row.unchanged, set()) if _inexact(leaf)],
        row.tolerance,
        f"{row.label} in jit",
    )
    if "batch" in here:
        loop = [jnp.stack(pair) for pair in zip(here["value"], here["aside"], strict=True)]
        close(here["batch"], loop, row.tolerance, f"{row.label} inside vmap")
    if row.differentiable:
        h = 1e-5
        ahead, behind = (
            compiled(tuple(v + s * u for v, u in zip(values, directions, strict=True)), directions)["total"]
            for s in (h, -h)
        )
        difference = float(ahead - behind) / (2 * h)
        for mode in ("forward mode", "reverse mode"):
            if mode in here:
                apart = abs(float(here[mode]) - difference)
                assert apart <= 1e-4 * max(abs(difference), 1e-3), f"{row.label}: {mode} off by {apart} of {difference}"


def _inexact(leaf: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)


# Symmetries of points -------------------------------------------------------------------------------------------------


def check_permutation(row: Call, draw: list[int]) -> None:
    """The order of the tokens does not matter, or comes out again."""
    x, w = _points_and_weights(row)
    order = np.argsort(draw[: len(x)])
    changed = {row.points[0]: x[order], **({} if w is None else {row.weights: w[order]})}
    _compare(row, "permuted", row.numbers(**changed), row.permutation, order)


def check_rotation(row: Call, seed: int) -> None:
    """Points that are rotated together."""
    x, _ = _points_and_weights(row)
    turn = rotation(x.shape[-1], seed)
    _compare(row, "rotated", row.numbers(**_moved(row, lambda points: points @ turn.T)), row.rotation, turn)


def check_translation(row: Call, seed: int) -> None:
    """Points that are translated together."""
    x, _ = _points_and_weights(row)
    vector = np.random.default_rng(seed).normal(size=x.shape[1:])
    _compare(row, "translated", row.numbers(**_moved(row, lambda points: points + vector)), row.translation, vector)


def check_scale(row: Call, exponent: float) -> None:
    """Points that are scaled together, by a power of two, which is exact: the result is homogeneous."""
    factor = 2.0 ** round(exponent * np.log2(10))
    actual = row.numbers(**_moved(row, lambda points: points * factor))
    _compare(row, f"scaled by {factor:.3g}", actual, lambda out, _: out * factor**row.scale, factor)


def check_splitting(row: Call) -> None:
    """A token that is two tokens at one place, which share its weight, changes nothing."""
    x, w = _points_and_weights(row)
    w = np.full(len(x), 1 / len(x)) if w is None else w
    changed = {
        row.points[0]: np.concatenate([x, x[:1]]),
        row.weights: np.concatenate([[w[0] / 4], w[1:], [0.75 * w[0]]]),
    }
    after = [row.splitting(a, len(x)) for a in numbers(row.numbers(**changed))]
    close(after, row.unchanged, row.tolerance, f"{row.label} with a weight that is split")


def _points_and_weights(row: Call) -> tuple[np.ndarray, np.ndarray | None]:
    arguments = row.arguments()
    return arguments[row.points[0]], arguments.get(row.weights)


def _moved(row: Call, move: Any) -> dict[str, np.ndarray]:
    arguments = row.arguments()
    return {name: move(arguments[name]) for name in row.points}


def _compare(row: Call, how: str, actual: Any, expected: Any, change: Any) -> None:
    close(actual, [expected(a, change) for a in numbers(row.unchanged)], row.tolerance, f"{row.label} {how}")


# A run or its array ---------------------------------------------------------------------------------------------------


def check_run(row: Call) -> None:
    """A run, or its states and weights, give the same answer."""
    run = row.arguments()[row.run]
    weights = {} if run.weights is None else {"weights": np.asarray(run.weights)}
    states = {row.run: np.asarray(run.xs), **weights}
    close(row.numbers(**states), row.unchanged, row.tolerance, f"{row.label} of an array")
