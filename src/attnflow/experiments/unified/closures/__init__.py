r"""Gaussian laws under every attention map: the closed equations against clouds of tokens.

The base case is one law in the plane. Tokens start from a scrambled Sobol cloud with the exact mean and covariance, so
that the error at $t = 1$ is due to the finite number of tokens. Beyond that: the coupling of Sinkhorn attention for a
singular score, the law of finitely many tokens near a blow-up of the closed equation, and sigmoid attention, which does
not close.
"""

from typing import TYPE_CHECKING

from ... import Cell, Experiment, Parameter
from ..base_case import ALPHA, AT_ONE, OTHER_ALPHA, OTHER_SIGMA, SIGMA, base_map
from .claims import CLAIMS, RANK_ONE, SIGMOID_ROWS, TIMES
from .figures import finitely_many_tokens, near_a_blow_up, sigmoid_laws

if TYPE_CHECKING:
    import xarray

SIZES = {"quick": (128, 512, 2048), "full": (128, 256, 512, 1024, 2048, 4096, 8192)}
STEP = 0.2  # of Runge and Kutta's method: its error is 1e-7 here
SCRAMBLE = 1  # seed of the scrambled cloud


def cells(scale: str) -> list[Cell]:
    return [
        {"part": "closures"},
        *({"part": "tokens", "n": n} for n in SIZES[scale]),
        {"part": "coupling"},
        *({"part": "blow-up", "n": n} for n in (128, 512, 2048)),
        *({"part": "sigmoid", "row": row} for row in range(len(SIGMOID_ROWS))),
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "closures": _closures,
        "tokens": _tokens,
        "coupling": _coupling,
        "blow-up": _blow_up,
        "sigmoid": _sigmoid,
    }
    return parts[cell["part"]](cell)


def _closures(cell: Cell) -> "xarray.Dataset":
    """Every closed equation up to t = 1, its velocity at the start, and two laws under softmax."""
    import numpy as np
    import xarray

    import attnflow as af

    def flow(name: str, alpha: tuple = ALPHA, Sigma: tuple = SIGMA):
        run = af.gaussian.flow(base_map(name), alpha, Sigma, ts=[0.0, 0.5, 1.0], trusted_spread=None)
        return np.asarray(run.xs[:, 0]), np.asarray(af.gaussian.covariance(run))

    runs = {name: flow(name) for name in AT_ONE}
    other = flow("softmax", OTHER_ALPHA, OTHER_SIGMA)
    apart = af.measures.gaussian_w2(runs["softmax"][0], other[0], runs["softmax"][1], other[1])
    L = np.linalg.cholesky(np.array(SIGMA))
    start = {name: af.gaussian.velocity(base_map(name), ALPHA, L=L) for name in ("softmax", "Sinkhorn", "L2")}
    return xarray.Dataset(
        {
            "final": (("map", "entry"), [_entries(mean[-1], cov[-1]) for mean, cov in runs.values()]),
            "apart": ("time", apart),
            "start": (
                ("at_start", "entry_of_velocity"),
                [[*(np.asarray(f.GL) @ np.linalg.inv(L)).ravel(), *np.asarray(f.c)] for f in start.values()],
            ),
        },
        coords={"map": list(AT_ONE), "time": [0.0, 0.5, 1.0], "at_start": list(start)},
    )


def _tokens(cell: Cell) -> "xarray.Dataset":
    """Mean and covariance of n tokens at t = 1 under every map."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    x0 = af.gaussian.cloud(cell["n"], ALPHA, SIGMA, key=jax.random.key(SCRAMBLE))
    together = {name: base_map(name) for name in AT_ONE if name != "Sinkhorn"}
    many = af.simulate(_side_by_side(list(together.values())), np.tile(x0, (1, len(together))), **_options(1.0))
    # `SelfAttention` computes Sinkhorn's potentials from those of the last step.
    model = af.SelfAttention(base_map("Sinkhorn", tol=1e-7), af.Euclidean())
    alone = af.simulate(model, x0, **_options(1.0))
    clouds = [*np.split(np.asarray(many.final), len(together), axis=1), np.asarray(alone.final)]
    return xarray.Dataset(
        {"final": (("map", "entry"), [_entries(*_moments(x)) for x in clouds])},
        coords={"map": [*together, "Sinkhorn"]},
    )


def _coupling(cell: Cell) -> "xarray.Dataset":
    """Sinkhorn attention: a score of rank one, the growth of the factor, and the family from softmax to Sinkhorn."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    L = np.linalg.cholesky(np.array(SIGMA))
    A = np.outer(*RANK_ONE)
    flat = af.Sinkhorn(B=A.T, V=base_map("softmax").V)
    x = af.gaussian.cloud(1024, ALPHA, SIGMA, key=jax.random.key(SCRAMBLE))
    seen = np.asarray(flat(jnp.asarray(x), jnp.asarray(x)))
    fitted = np.linalg.lstsq(np.column_stack([x - ALPHA, np.ones(len(x))]), seen, rcond=None)[0][:2].T
    G = np.asarray(af.gaussian.velocity(flat, ALPHA, L=L).GL) @ np.linalg.inv(L)

    def field(attention: "af.attention.AbstractAttention") -> np.ndarray:
        velocity = af.gaussian.velocity(attention, ALPHA, L=L)
        return np.column_stack([np.asarray(velocity.GL) @ np.linalg.inv(L), np.asarray(velocity.c)])

    arguments = {name: getattr(base_map("softmax"), name) for name in "QKV"}
    many = [field(af.Sinkhorn(**arguments, half_steps=N)) for N in (1, 25)]
    sinkhorn, times = base_map("Sinkhorn"), (0.5, 1.0, 2.0, 4.0, 8.0)
    speed = np.linalg.norm(np.asarray(arguments["V"]), 2)
    runs = [af.gaussian.flow(sinkhorn, ALPHA, L0=L, t1=t, save=2, trusted_spread=None) for t in times]
    size = np.array([np.linalg.norm(np.asarray(run.info["L"][-1])) for run in runs])
    bound = np.linalg.norm(L) * np.exp(speed * np.array(times))
    return xarray.Dataset(
        {
            "rank_one": float(np.abs(fitted - G).max()),
            "first": float(np.abs(many[0] - field(af.Softmax(**arguments))).max()),
            "twenty_fifth": float(np.abs(many[1] - field(af.Sinkhorn(**arguments))).max()),
            "growth": float((size / bound).max()),
        }
    )


def _blow_up(cell: Cell) -> "xarray.Dataset":
    """On the line: a = v = 1 from the standard normal law, whose variance 1/(1 - 2t) is infinite at t = 1/2."""
    import numpy as np
    import xarray

    import attnflow as af

    model = af.SelfAttention(af.Softmax(), af.Euclidean())
    run = af.simulate(model, af.gaussian.midpoints(cell["n"])[:, None], ts=[0.0, *TIMES], solver="rk4", dt=0.05)
    return xarray.Dataset(
        {"variance": ("time", np.var(np.asarray(run.xs[:, :, 0]), axis=1))}, coords={"time": [0.0, *TIMES]}
    )


def _sigmoid(cell: Cell) -> "xarray.Dataset":
    """Sigmoid attention on the line: tokens, and the Gaussian that follows them in mean and variance."""
    import numpy as np
    import xarray

    import attnflow as af

    a, b, alpha, t = SIGMOID_ROWS[cell["row"]]
    attention = af.Sigmoid(abs(a), bias=b, B=[[np.sign(a)]])
    z = af.gaussian.midpoints(2048)
    x0 = (alpha + z / z.std())[:, None]
    ts = np.linspace(0, t, 11)
    run = af.simulate(af.SelfAttention(attention, af.Euclidean()), x0, ts=ts, solver="rk4", dt=t / 10)
    law = af.gaussian.flow(attention, [alpha], [[1.0]], ts=ts, rtol=1e-7, atol=1e-10, trusted_spread=None)
    x = np.asarray(run.xs[:, :, 0])
    centred = x - x.mean(axis=1, keepdims=True)
    variance = np.mean(centred**2, axis=1)
    return xarray.Dataset(
        {
            "mean": ("time", x.mean(axis=1)),
            "variance": ("time", variance),
            "kurtosis": ("time", np.mean(centred**4, axis=1) / variance**2 - 3),
            "projected_mean": ("time", np.asarray(law.xs[:, 0, 0])),
            "projected_variance": ("time", np.asarray(af.gaussian.covariance(law))[:, 0, 0]),
            "x": ("token", x[-1]),
        },
        coords={"time": ts},
    )


def _side_by_side(maps: list):
    """Independent clouds as blocks of columns of one cloud: one compiled program for all maps."""
    import jax.numpy as jnp

    import attnflow as af

    def force(t, x, w):
        return jnp.concatenate([m(c, c) for m, c in zip(maps, jnp.split(x, len(maps), axis=1), strict=True)], axis=1)

    return af.Flow(force, af.Euclidean())


def _options(t1: float) -> dict:
    return {"t1": t1, "solver": "rk4", "dt": STEP, "save": 1}


def _moments(x):
    return x.mean(axis=0), (x - x.mean(axis=0)).T @ (x - x.mean(axis=0)) / len(x)


def _entries(mean, covariance) -> list[float]:
    return [*mean.tolist(), covariance[0, 0], covariance[0, 1], covariance[1, 1]]


EXPERIMENT = Experiment(
    id="unified-closures",
    paper="unified",
    title="Gaussian laws under every attention map",
    summary=(
        "Softmax, multi-head, L2, Sinkhorn (converged, and after 3 and 5 half-steps) and linear attention take a "
        "Gaussian law to a Gaussian law, by an equation for its mean and covariance. Clouds of tokens follow it where "
        "scores are not spread too widely; near a blow-up of the equation they cannot. Sigmoid attention does not "
        "close, and its Gaussian projection is compared with tokens."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[finitely_many_tokens, near_a_blow_up, sigmoid_laws],
    parameters={"n": Parameter("number of tokens", bounds=(8, 100000), where={"part": "tokens"})},
)
