"""The computations of `smoothness` along the flow, and the distance of sequences."""

from typing import TYPE_CHECKING, Any

from ... import Cell
from ..base_case import ALPHA, SIGMA, base_map
from .claims import NORMS

if TYPE_CHECKING:
    import xarray


def stability(cell: Cell) -> "xarray.Dataset":
    """Pairs of clouds in a disc: two independent ones, and one with itself moved in the steepest direction."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    rng = np.random.default_rng(cell["seed"])
    pairs, n, ts = cell["pairs"], 60, np.linspace(0, 1, 9)
    V, B = rng.normal(size=(2, pairs, 2, 2))
    V *= NORMS["V"] / np.linalg.norm(V, 2, axis=(1, 2), keepdims=True)
    B *= NORMS["A"] / np.linalg.norm(B, 2, axis=(1, 2), keepdims=True)
    radius, angle = NORMS["R"] * np.sqrt(rng.random((2, pairs, n))), 2 * np.pi * rng.random((2, pairs, n))
    x, y = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    seen = af.Causal() if cell["masked"] else af.pairsums.Full()

    def follow(x: Any, y: Any, V: Any, B: Any) -> Any:
        softmax = af.Softmax(B=B, V=V)
        z = x + 1e-3 * af.diagnostics.smoothness.local_lipschitz(softmax, x, pairs=seen).direction
        model = af.SelfAttention(softmax, af.Euclidean(), seen)
        return jax.lax.map(
            lambda cloud: af.simulate(model, cloud, ts=jnp.asarray(ts), solver="rk4", dt=0.125).xs, jnp.stack([x, y, z])
        )

    # The disc of the bound contains the moved tokens, too.
    xs, ys, zs = np.moveaxis(np.asarray(jax.jit(jax.vmap(follow))(x, y, V, B)), 1, 0)
    distance = af.measures.conditional_wasserstein if cell["masked"] else af.measures.wasserstein
    kinds = {"independent": (xs, ys), "steepest": (xs, zs)}
    apart = np.array(
        [[[distance(a, b) for a, b in zip(*c, strict=True)] for c in zip(*k, strict=True)] for k in kinds.values()]
    )
    R0 = max(NORMS["R"], float(np.linalg.norm(zs[:, 0], axis=-1).max()))
    of = {"radius": R0, "V": NORMS["V"] * np.eye(2), "B": NORMS["A"] * np.eye(2), "masked": cell["masked"]}
    variables = {
        "ratio": (("kind", "pair", "time"), apart / apart[..., :1]),
        "reach": ("time", np.linalg.norm(xs, axis=-1).max(axis=(0, 2)) / NORMS["R"]),
        "radius": ("time", af.diagnostics.smoothness.support_radius(ts, radius=1.0, V=of["V"])),
        "printed": af.diagnostics.smoothness.stability_factor(1.0, **{**of, "radius": NORMS["R"]}),
    }
    fine = np.linspace(0, 1, 61)
    for name, option in {"bound": {}, "columns": {"bound": "columns", "n": n}}.items():
        variables[name] = ("time", af.diagnostics.smoothness.stability_factor(ts, **of, **option))
        variables[f"{name} curve"] = ("fine", af.diagnostics.smoothness.stability_factor(fine, **of, **option))
    return xarray.Dataset(variables, coords={"time": ts, "fine": fine, "kind": list(kinds)})


def masked_gaussian(cell: Cell) -> "xarray.Dataset":
    """Independent Gaussian tokens under masked attention: the change of their covariance, second half of positions."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    mean, L = jnp.array(ALPHA), jnp.linalg.cholesky(jnp.array(SIGMA))

    def sampler(key: Any) -> Any:
        return mean[None, :] + jax.random.normal(key, (cell["tokens"], 2)) @ L.T

    def covariance(x: Any) -> Any:
        late = np.asarray(x)[:, cell["tokens"] // 2 :]
        late = late - late.mean(axis=1, keepdims=True)
        return np.einsum("rna,rnb->rab", late, late) / late.shape[1]

    key, draws = jax.random.key(cell["seed"]), cell["draws"]
    model = af.SelfAttention(base_map("softmax"), af.Euclidean(), af.Causal())
    last = af.ensemble(model, sampler, realizations=draws, ts=[1.0], reduce=af.flows.LastState(), key=key, dt=0.25)
    start = jax.vmap(lambda r: sampler(jax.random.fold_in(key, r)))(jnp.arange(draws))
    change = (covariance(np.asarray(last.values)) - covariance(start))[:, [0, 0, 1], [0, 1, 1]]
    return xarray.Dataset(
        {
            "change": ("entry", change.mean(axis=0)),
            "stderr": ("entry", change.std(axis=0, ddof=1) / np.sqrt(draws)),
        }
    )


def conditional(cell: Cell) -> "xarray.Dataset":
    """The conditional distance of random sequences: against the root mean square, and against W_p."""
    import numpy as np
    import xarray

    import attnflow as af

    rng = np.random.default_rng(cell["seed"])
    x, y = rng.normal(size=(2, 8, 40, 3))
    distance = af.measures.conditional_wasserstein
    less = [distance(a, b, p) - af.measures.wasserstein(a, b, p) for a, b in zip(x, y, strict=True) for p in (1, 2, 3)]
    law = distance(x, y) - af.measures.wasserstein(x.reshape(-1, 3), y.reshape(-1, 3))
    rms = np.sqrt(np.mean(np.sum((x[0] - y[0]) ** 2, axis=1)))
    return xarray.Dataset(
        {
            "difference": float(distance(x[0], y[0]) - rms),
            "refined": float(distance(np.repeat(x[0], 3, axis=0), y[0], relax="piecewise") - rms),
            "excess": ("case", [*map(float, less), float(law)]),
        }
    )
