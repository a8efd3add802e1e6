r"""Single linkage: the connected components of the graph that joins tokens at distance at most `eps`.

Two ways to the same answer. `components` is JAX, for one cloud of some hundred tokens, and can be compiled, vmapped
and used inside an ensemble. `large_components` runs on the host, in memory linear in the number of tokens.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree


def components(x: Float[Array, "n d"], eps: ArrayLike) -> Int[Array, " n"]:
    """For every token the least index in its component; tokens that are not finite are alone.

    Labels spread to neighbours and along themselves, so that the number of rounds grows like the logarithm of the
    longest chain.
    """
    near = _near(x, jnp.asarray(eps, x.dtype))
    own = jnp.arange(x.shape[0])

    def spread(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        labels, _ = carry
        least = jnp.min(jnp.where(near, labels[None, :], labels.size), axis=1)
        least = jnp.minimum(least, labels)
        # What a neighbour knows better, the root of my tree learns, too.
        roots = labels.at[labels].min(least)
        new = jnp.minimum(least, roots[roots])
        return new[new], jnp.any(new[new] != labels)

    labels, _ = jax.lax.while_loop(lambda carry: carry[1], spread, (own, jnp.asarray(True)))
    return labels


def _near(x: Float[Array, "n d"], eps: Float[Array, ""]) -> Bool[Array, "n n"]:
    if x.shape[1] <= 16:  # by differences: exact for any eps
        columns = [(x[:, k][:, None] - x[:, k][None, :]) ** 2 for k in range(x.shape[1])]
        square = sum(columns[1:], start=columns[0])
    else:
        x = x - jnp.mean(x, axis=0, keepdims=True)
        norm = jnp.sum(x * x, axis=1)
        square = norm[:, None] + norm[None, :] - 2 * x @ x.T
    return square <= eps**2


def large_components(x: np.ndarray, eps: float) -> np.ndarray:
    r"""The same labels for many tokens, without a list of pairs: tokens that have met are neighbours all to all.

    First, tokens in one cell of a grid with diagonal `eps` are joined. Then, as in Borůvka's algorithm, every component
    looks for a neighbour outside itself: two components differ in some binary digit of their numbers, so for each
    digit those with a one look among those with a zero, and the other way round. It ends when none finds any.
    """
    n, d = x.shape
    finite = np.isfinite(x).all(axis=1)
    labels = np.arange(n)
    if eps > 0:
        cells = np.floor(x[finite] / (eps / np.sqrt(d) * (1 - 1e-9)))
    else:
        cells = x[finite]
    _, component = np.unique(cells, axis=0, return_inverse=True)
    component = component.reshape(-1)
    points = x[finite]
    while component.size:
        count = int(component.max()) + 1
        edges = [_found(points, component, digit, eps) for digit in range((count - 1).bit_length())]
        pairs = np.concatenate([np.zeros((0, 2), int), *edges])
        if not len(pairs):
            break
        graph = coo_array((np.ones(len(pairs), bool), pairs.T), shape=(count, count))
        component = connected_components(graph, directed=False)[1][component]
    _, first = np.unique(component, return_index=True)
    labels[finite] = np.flatnonzero(finite)[first][component]
    return labels


def _found(points: np.ndarray, component: np.ndarray, digit: int, eps: float) -> np.ndarray:
    """Pairs of neighbouring components whose numbers differ in a binary digit."""
    one = (component >> digit & 1).astype(bool)
    pairs = []
    for side in (one, ~one):
        tree = KDTree(points[~side])
        # The bound is exclusive, and eps itself belongs to it.
        distance, nearest = tree.query(points[side], distance_upper_bound=np.nextafter(eps, np.inf))
        near = distance <= eps
        pairs.append(np.stack([component[side][near], component[~side][nearest[near]]], axis=1))
    return np.unique(np.concatenate(pairs), axis=0)
