r"""Single linkage: the connected components of the graph that joins tokens at distance at most `eps`.

Two ways to the same answer, both in memory linear in the number of tokens. `components` looks at all pairs; it is JAX,
so it can be compiled, vmapped and used inside an ensemble. `tree_components` runs on the host and is much faster for
many tokens in few dimensions.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from ..errors import InputError
from ..spaces import AbstractSpace, Numbers, is_concrete, order_one, safe_norm
from .clouds import Clouds, along, linking_distance, masses, real_tokens

DELTA = 1e-3
# A tree of neighbours pays from so many tokens on, up to that dimension.
TREE_TOKENS, TREE_DIMENSION = 1024, 8
# Up to so many tokens the matrix of neighbours is kept; for more it is computed again in tiles of so many rows.
DENSE_TOKENS, TILE = 1024, 256


def components(x: Numbers, eps: Numbers) -> Int[Array, " n"]:
    """For every token the least index in its component; tokens that are not finite are alone.

    **Arguments:** tokens `x (n, d)`; the distance `eps` within which two of them are linked, at least 0.

    Labels spread to neighbours and along themselves, so that the number of rounds grows like the logarithm of the
    longest chain.
    """
    x = real_tokens(x)
    if x.ndim != 2:
        raise InputError(f"tokens have shape {x.shape}; give one cloud (n, d), tokens as rows (batches by jax.vmap).")
    eps = jnp.asarray(linking_distance(eps) if is_concrete(eps) else eps, x.dtype)
    if eps.ndim:
        raise InputError(f"eps has shape {eps.shape}; give one number (batches by jax.vmap).")
    n = x.shape[0]
    x = x - x[:1]
    near = _near(x, x, eps) if n <= DENSE_TOKENS else None
    rows = jnp.minimum(jnp.arange(-(-n // TILE) * TILE), n - 1).reshape(-1, TILE)

    def least(labels: Int[Array, " n"]) -> Int[Array, " n"]:
        if near is not None:
            return jnp.min(jnp.where(near, labels[None, :], n), axis=1)
        of_rows = jax.lax.map(lambda i: jnp.min(jnp.where(_near(x[i], x, eps), labels[None, :], n), axis=1), rows)
        return of_rows.reshape(-1)[:n]

    def spread(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        labels, _ = carry
        lower = jnp.minimum(labels, least(labels))
        # A label that reaches a token is passed to the root of its tree.
        roots = labels.at[labels].min(lower)
        lower = jnp.minimum(lower, roots[labels])
        lower = lower[lower]
        return lower, jnp.any(lower != labels)

    return jax.lax.while_loop(lambda carry: carry[1], spread, (jnp.arange(n), jnp.asarray(True)))[0]


def _near(x: Float[Array, "n d"], y: Float[Array, "m d"], eps: Float[Array, ""]) -> Bool[Array, "n m"]:
    if x.shape[1] <= 16:  # by differences, which lose no digit
        unit = _power(eps)
        columns = [((x[:, k][:, None] - y[:, k][None, :]) * unit) ** 2 for k in range(x.shape[1])]
        return sum(columns[1:], start=columns[0]) <= (eps * unit) ** 2
    # The square expanded, which is fast; tokens that coincide do so up to its round-off.
    unit = _power(jnp.maximum(jnp.max(jnp.abs(x)), jnp.max(jnp.abs(y))))
    x, y, eps = x * unit, y * unit, jnp.minimum(eps * unit, x.shape[1])
    norms = jnp.sum(x * x, axis=1)[:, None] + jnp.sum(y * y, axis=1)[None, :]
    return norms - 2 * x @ y.T <= eps**2 + 8 * jnp.finfo(x.dtype).eps * norms


def _power(length: Float[Array, ""]) -> Float[Array, ""]:
    """The power of two that brings a length to order one, so that its square stays in range; for 0 the largest."""
    kind = jnp.finfo(length.dtype)
    up = jnp.where(length > 0, -jnp.frexp(length)[1], kind.maxexp)
    up = jnp.where(jnp.isfinite(length), jnp.clip(up, kind.minexp, kind.maxexp - 1), 0)
    return jnp.ldexp(jnp.ones_like(length), up)


def tree_components(x: np.ndarray, eps: float) -> np.ndarray:
    r"""The same labels for many tokens, without a list of pairs: tokens that have met are neighbours all to all.

    First, tokens in one cell of a grid with diagonal `eps` are joined. Then, as in Borůvka's algorithm, every component
    looks for a neighbour outside itself: two components differ in some binary digit of their numbers, so for each
    digit those with a one look among those with a zero, and the other way round. It ends when none finds any.
    """
    labels = np.arange(x.shape[0])
    finite = np.isfinite(x).all(axis=1)
    unit = order_one(x[finite])
    points, eps = x[finite] * unit, eps * unit
    side = (1 - 1e-9) * eps / np.sqrt(x.shape[1])
    cells = points if eps == 0 else np.floor(points / side + 0.382)  # no cell ends at zero
    component = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
    while component.size:
        count = int(component.max()) + 1
        edges = [_neighbour_pairs(points, component, digit, eps) for digit in range((count - 1).bit_length())]
        pairs = np.concatenate([np.zeros((0, 2), int), *edges])
        if not len(pairs):
            break
        graph = coo_array((np.ones(len(pairs), bool), pairs.T), shape=(count, count))
        _, joined = connected_components(graph, directed=False)
        component = np.asarray(joined)[component]
    _, first = np.unique(component, return_index=True)
    labels[finite] = np.flatnonzero(finite)[first][component]
    return labels


def _neighbour_pairs(points: np.ndarray, component: np.ndarray, digit: int, eps: float) -> np.ndarray:
    """Pairs of neighbouring components whose numbers differ in a binary digit."""
    one = (component >> digit & 1).astype(bool)
    pairs = []
    for side in (one, ~one):
        tree = KDTree(points[~side])
        # The bound is exclusive, and eps itself belongs to it.
        answer = tree.query(points[side], distance_upper_bound=np.nextafter(eps, np.inf))
        distance, nearest = (np.asarray(a) for a in answer)
        near = distance <= eps
        pairs.append(np.stack([component[side][near], component[~side][nearest[near]]], axis=1))
    return np.unique(np.concatenate(pairs), axis=0)


def default_eps(
    xs: Float[Array, "*T n d"], w: Float[Array, " n"] | None, space: AbstractSpace, start: float | np.ndarray = 0.0
) -> np.ndarray:
    """The default `eps` of every cloud; `start` is the spread of the first cloud of the run, if there is a run."""
    if space.unit:
        return np.full(xs.shape[:-2], np.sqrt(2 * DELTA))
    return np.asarray(np.sqrt(2 * DELTA) * np.fmax(np.asarray(along(spread, xs, w), float), start))


def spread(x: Float[Array, "n d"], w: Float[Array, " n"] | None) -> Float[Array, ""]:
    """The root mean square distance of the tokens from their mean."""
    w = masses(x, w)
    return safe_norm(jnp.ravel(jnp.sqrt(w)[:, None] * (x - (w @ x)[None, :])))


def usual_eps(cloud: Clouds, space: AbstractSpace) -> np.ndarray:
    """The default `eps` of every cloud, of a run with the spread of its first one."""
    start = 0.0 if cloud.run is None else float(along(spread, cloud.run.xs[0], cloud.w)) * np.exp(-cloud.log_scale())
    return default_eps(cloud.xs, cloud.w, space, start)


def linked(xs: Float[Array, "*T n d"], eps: np.ndarray) -> np.ndarray:
    """For every token the first of its cluster."""
    if xs.shape[-2] <= TREE_TOKENS or xs.shape[-1] > TREE_DIMENSION:
        return np.asarray(along(components, (xs, jnp.asarray(eps, xs.dtype))))
    flat = np.asarray(xs).reshape(-1, *xs.shape[-2:])
    labels = [tree_components(x, float(e)) for x, e in zip(flat, eps.reshape(-1), strict=True)]
    return np.stack(labels).reshape(xs.shape[:-1])
