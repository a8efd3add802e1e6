r"""Named tokens and matrices for hardmax layers: the reference configurations of arXiv:2407.01602, and matrices beyond
its theorem.

The four clouds are rows of the paper's second figure, for $B = I$ and $\alpha = 1/2$:

- `"emerge"`: eight tokens; token 1 becomes a leader only at layer 1;
- `"triangle"`, `"square"`: three or four leaders, random tokens among them;
- `"faces"`: four corners, and tokens 4 and 5 that tie between two of them for ever, and end on two edges.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..checks import whole
from ..errors import InputError
from ..spaces import checked_key

FIXED: dict[str, Any] = {
    "emerge": [
        (1, 1 / 3),
        (-1 / 12, 1 / 12),
        (-1, -1),
        (0, 1 / 4),
        (-0.3, -0.7),
        (-0.6, -0.9),
        (0.8, 0.1),
        (0.6, 0.15),
    ],
    "triangle": [(1, 1), (0.5, -0.5), (-1, -1)],
    "square": [(1, 1), (1, -1), (-1, -1), (-1, 1)],
    "faces": [(1, 1), (1, -1), (-1, -1), (-1, 1), (-0.5, 0), (0.5, 0)],
}
INSIDE = {"triangle": 12, "square": 12, "faces": 2}  # random tokens by default
FACES_INSIDE = [(0.3, 0.1), (-0.2, -0.4)]  # without a key


def hardmax_cloud(name: Any, inside: int | None = None, *, key: PRNGKeyArray | None = None) -> Float[Array, "n 2"]:
    """The tokens `(n, 2)` of a reference configuration: `"emerge"`, `"triangle"`, `"square"` or `"faces"`.

    **Arguments:** `inside`, how many random tokens are added to the fixed ones, drawn with `key`: uniform in the
    triangle, or in [-1/2, 1/2]². `"emerge"` has none. `"faces"` without a key has the two tokens (.3, .1), (-.2, -.4).

    >>> hardmax_cloud("emerge").shape
    (8, 2)
    """
    if not isinstance(name, str) or name not in FIXED:
        raise InputError(f"cloud {name!r} is unknown; choose one of {', '.join(FIXED)}.")
    fixed = jnp.asarray(FIXED[name], jnp.result_type(float))
    if name == "emerge":
        if key is not None or inside:
            raise InputError("the cloud 'emerge' is eight fixed tokens; leave out inside and key.")
        return fixed
    inside = None if inside is None else whole("inside", inside, least=0)
    key = None if key is None else checked_key(key)
    if key is None:
        if name == "faces" and inside is None:
            return jnp.concatenate([fixed, jnp.asarray(FACES_INSIDE, fixed.dtype)])
        if inside != 0:
            raise InputError(f"the tokens inside {name!r} are random; give key=jax.random.key(0), or inside=0.")
        return fixed
    count = INSIDE[name] if inside is None else inside
    if name == "triangle":
        u, v = jax.random.uniform(key, (2, count), fixed.dtype)
        root = jnp.sqrt(u)  # so that the area between the first corner and a line opposite to it is uniform
        drawn = jnp.stack([1 - root, root * (1 - v), root * v], axis=1) @ fixed
    else:
        drawn = jax.random.uniform(key, (count, 2), fixed.dtype, -0.5, 0.5)
    return jnp.concatenate([fixed, drawn])


def _turn(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


# The paper's A; the library's B is its transpose.
BEYOND: dict[str, np.ndarray] = {
    "minus": -np.eye(2),
    "quarter-turn": _turn(np.pi / 2),
    "saddle": np.diag([1.0, -1.0]),
    "rank-one": np.diag([1.0, 0.0]),
    "shear": np.array([[1.0, 1.0], [0.0, 1.0]]),
    "eighth-turn": _turn(np.pi / 4),
}


def hardmax_matrix(name: Any) -> Float[Array, "2 2"]:
    r"""A matrix `B` that is not symmetric and positive definite, in the plane; the paper's $A$ is $B^\top$.

    `"minus"` ($-I$), `"quarter-turn"` and `"eighth-turn"` ($A$ rotates by 90 and 45 degrees), `"saddle"`
    (diag(1, -1)), `"rank-one"` (diag(1, 0)), `"shear"` ($A$ = [[1, 1], [0, 1]]).

    >>> hardmax_matrix("shear").tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    if not isinstance(name, str) or name not in BEYOND:
        raise InputError(f"matrix {name!r} is unknown; choose one of {', '.join(BEYOND)}.")
    return jnp.asarray(BEYOND[name].T, jnp.result_type(float))
