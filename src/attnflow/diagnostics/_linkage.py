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
from ..spaces import Numbers, is_concrete
from ._clouds import linking_distance, real_tokens
from .hulls import to_order_one

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
    unit = to_order_one(x[finite])
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
