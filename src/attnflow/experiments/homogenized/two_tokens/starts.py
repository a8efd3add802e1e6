"""Starts of two tokens, and the statistics kept; imported only by computations."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import attnflow as af


def pair(q: float | int, d: int) -> np.ndarray:
    """Two unit tokens with inner product `q` in dimension `d`."""
    x = np.zeros((2, d))
    x[:, 0], x[1, 1] = (1.0, q), np.sqrt((1 - q) * (1 + q))
    return x


def nearly(side: int, gap: float | int, d: int) -> np.ndarray:
    """Two tokens with 1 - |q| = `gap`, nearly equal (`side` = 1) or nearly opposite (-1), without loss of digits."""
    angle = 2 * np.arcsin(np.sqrt(gap / 2))
    x = np.zeros((2, d))
    x[:, 0], x[1, 1] = (1.0, side * np.cos(angle)), side * np.sin(angle)
    return x


def _there(x: Any, key: Any) -> Any:
    return x


def at(x: Any) -> Any:
    """A sampler that always starts from `x`; the tokens are inputs of one compiled program for all starts."""
    return jax.tree_util.Partial(_there, jnp.asarray(x))


def _inner(t: Any, x: Any, w: Any) -> Any:
    """Powers of q; log(1 - q) and log(1 + q), by differences; whether it is near 1 or -1; whether tokens coincide."""
    apart, against = jnp.sum((x[0] - x[1]) ** 2) / 2, jnp.sum((x[0] + x[1]) ** 2) / 2
    q = jnp.sum(x[0] * x[1])
    near = [(gap < NEAR).astype(x.dtype) for gap in (apart, against)]
    return jnp.stack([q, q**2, q**3, q**4, jnp.log(apart), jnp.log(against), *near, jnp.sqrt(apart)])


NEAR = 0.05
KEPT = ("mean", "square", "cube", "fourth", "log_apart", "log_against", "near_plus", "near_minus", "distance")
INNER = af.flows.Mean(_inner)


def inner_products(model: Any, x0: Any, T: float | int, replicas: int, key: Any) -> dict[str, Any]:
    """Means over replicas at time `T`, `{name: value}`, and standard errors, `{name + "_stderr": value}`."""
    means = af.ensemble(model, at(x0), realizations=replicas, ts=[T], solver="layers", reduce=INNER, key=key).values
    values, errors = np.asarray(means.mean[0]), np.asarray(means.stderr[0])
    kept = {name: float(v) for name, v in zip(KEPT, values, strict=True)}
    m = kept["mean"]
    variance = max(kept["square"] - m**2, 0.0)
    around = kept["fourth"] - 4 * m * kept["cube"] + 6 * m**2 * kept["square"] - 3 * m**4  # the fourth central moment
    return {
        **kept,
        **{f"{name}_stderr": float(e) for name, e in zip(KEPT, errors, strict=True)},
        "sd": np.sqrt(variance),
        "sd_stderr": sd_error(variance, around, replicas),
    }


def sd_error(variance: float, around: float, replicas: int) -> float:
    """The standard error of a standard deviation, from the fourth central moment `around`."""
    return np.sqrt(max(around - variance**2, 0.0) / (4 * max(variance, 1e-300) * replicas))


def last_states(model: Any, x0: Any, T: float | int, replicas: int, key: Any) -> np.ndarray:
    """The tokens of all replicas at time `T`."""
    result = af.ensemble(
        model, at(x0), realizations=replicas, ts=[T], solver="layers", reduce=af.flows.LastState(), key=key
    )
    return np.asarray(result.values)


def seeded(cell: dict[str, Any], *labels: int) -> Any:
    """A different key for every computation of a cell."""
    key = jax.random.key(cell["seed"])
    for label in labels:
        key = jax.random.fold_in(key, label)
    return key
