"""The initial tokens of the experiments on metastability, all deterministic (docs/theory/metastability.md)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

ANIMATION = (0.06219714, 0.21432297, 1.81912262, 2.91107101, -3.09524835)
PREPARED = (0.0, 0.1, 0.3, 0.7, 1.5)


def angles(name: str) -> "numpy.ndarray":
    """Angles of tokens on the circle, by the name of the data."""
    import numpy as np

    if name == "W32":
        return 2 * np.pi * np.mod(np.arange(1, 33) ** 2 * np.sqrt(2), 1)
    if name == "figure":
        return 0.5 * np.array([0, 0.5, 2, 4, 7]) * np.log(2000) / np.sqrt(2000)
    return np.array({"animation": ANIMATION, "prepared": PREPARED}[name])


def tokens(name: str) -> "numpy.ndarray":
    """Tokens as rows, by the name of the data."""
    import numpy as np

    if name == "caps":
        return _in_caps()
    if name == "S2":
        i = np.arange(1, 25)
        z, phi = 1 - 2 * np.mod(i**2 * np.sqrt(2), 1), 2 * np.pi * np.mod(i**2 * np.sqrt(3), 1)
        return np.stack([np.sqrt(1 - z**2) * np.cos(phi), np.sqrt(1 - z**2) * np.sin(phi), z], axis=1)
    return np.stack([np.cos(angles(name)), np.sin(angles(name))], axis=1)


def attention(kind: str, beta: Any) -> Any:
    """SA or shifted USA."""
    import attnflow as af

    return af.Softmax(beta=beta) if kind == "SA" else af.Unnormalized(beta=beta, shifted=True)


def refined(run: Any, parts: int = 6) -> Any:
    """The run with more rows along the same path, for smooth curves of the energy.

    Tokens are interpolated linearly between two rows, except between the rows before and after a merge.
    """
    import dataclasses

    import jax.numpy as jnp
    import numpy as np

    from attnflow.diagnostics.staircase import before_merges

    run = before_merges(run)
    xs, labels, logs = np.asarray(run.xs), np.asarray(run.labels), np.asarray(run.log_ts)
    whole = ~(labels[1:] != labels[:-1]).any(axis=1)
    part = np.arange(parts) / parts
    place = np.concatenate([np.concatenate([k + part if w else [k] for k, w in enumerate(whole)]), [len(whole)]])
    row = np.minimum(place.astype(int), len(whole) - 1)
    share = (place - row)[:, None, None]
    between = (1 - share) * xs[row] + share * xs[row + 1]
    between /= np.linalg.norm(between, axis=-1, keepdims=True)
    logs = np.interp(place, np.arange(len(logs)), np.where(np.isfinite(logs), logs, logs[1] - 5))
    at = np.where(place == len(whole), len(whole), row)
    with np.errstate(over="ignore"):
        ts = jnp.asarray(np.exp(logs))
    return dataclasses.replace(
        run, xs=jnp.asarray(between), log_ts=jnp.asarray(logs), ts=ts, labels=jnp.asarray(labels[at])
    )


def _in_caps() -> "numpy.ndarray":
    """Two tokens near each of three orthogonal centres: $e_q + a e_{q+1}$ with $a = 0.09$ and with $a = 0.01 q$."""
    import numpy as np

    eye = np.eye(3)
    rows = [eye[q] + a * eye[(q + 1) % 3] for q in range(3) for a in (0.09, 0.01 * (q + 1))]
    return np.stack([row / np.linalg.norm(row) for row in rows])
