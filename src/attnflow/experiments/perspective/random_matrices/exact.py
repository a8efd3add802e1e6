r"""Runs of `random_matrices` with known results; few tokens, 64 bits, tight tolerances."""

from typing import TYPE_CHECKING, Any

from ... import Cell
from ..single_cluster.runs import follow
from .ensembles import ENSEMBLES, draw

if TYPE_CHECKING:
    import xarray

T1 = 6.0
TIMES = 25
STEP = 0.005
BETA = 1.5
SPREAD = 1e-6  # distance of tokens that have nearly met, followed until it has fallen by the factor FALLEN
FALLEN = 100.0


def exact_runs(cell: Cell) -> "xarray.Dataset":
    r"""Energies for $V = \pm B$, two clocks for $GG^\top$, and the motion of tokens that have met.

    With $V = B/c$ the flow climbs $E_B$ on a clock slower by $c$, so the energy rises for every $c > 0$.

    Tokens at one point stay at one point, and $\dot x = P_x V x$ has the solution $e^{tV}x_0/|e^{tV}x_0|$, for all
    $B$ and $\beta$. Tokens close to one another have, up to second order, the same force, so their differences obey
    $\dot\delta = -\langle x, Vx\rangle\delta$ and their length falls by the factor $1/|e^{tV}x_0|$.
    """
    import numpy as np
    import xarray

    shape = {"draws": cell["draws"], "n": cell["n"], "d": cell["d"]}
    ts = np.linspace(0.0, T1, TIMES)
    rng = np.random.default_rng(cell["seed"])
    variables: dict[str, Any] = {}
    for name in ("goe-ascent", "goe-descent"):
        B, V, x = draw(name, rng, **shape)
        xs = follow("SA", x, ts, beta=BETA, step=STEP, B=B, V=V)
        variables[name.replace("-", "_")] = (("draw", "time"), _log_energy(xs, B))
    B, V, x = draw("goe-psd", rng, **shape)
    slow = follow("SA", x, ts, beta=BETA, step=STEP, B=B, V=V)
    clock = np.sqrt(cell["d"])
    # Another number of steps, since with the same number both clocks do the same arithmetic.
    fast = follow("SA", x, ts / clock, beta=BETA, step=0.6 * STEP / clock, B=B, V=V * clock)
    variables["clock_error"] = ("draw", abs(fast - slow).max(axis=(1, 2, 3)))
    met, rates = zip(*(_consensus(name, rng, shape, ts) for name in _MET), strict=True)
    variables["consensus_error"] = (("ensemble", "draw"), np.array(met))
    variables["rate_error"] = (("ensemble", "draw"), np.array(rates))
    return xarray.Dataset(variables, coords={"time": ts, "ensemble": list(_MET)})


_MET = ("ginibre", "goe-psd", "goe-ascent")


def _consensus(name: str, rng: Any, shape: dict[str, int], ts: Any) -> tuple[Any, Any]:
    """Errors of the closed forms for the motion and the spread of tokens that have nearly met."""
    import numpy as np
    from scipy.linalg import expm

    B, V, x = draw(name, rng, **shape)
    near = x[:, :1] + SPREAD * rng.normal(size=x.shape) / np.sqrt(shape["d"])
    near /= np.linalg.norm(near, axis=-1, keepdims=True)
    xs = follow("SA", near, ts, beta=BETA, step=STEP, B=B, V=V)
    power = np.array([[expm(t * v) for t in ts] for v in V])
    linear = np.einsum("rtab,rb->rta", power, near.mean(axis=1))
    growth = np.linalg.norm(linear, axis=-1) / np.linalg.norm(linear[:, :1], axis=-1)
    off = np.linalg.norm(xs.mean(axis=2) - linear / np.linalg.norm(linear, axis=-1, keepdims=True), axis=-1)
    spread = np.linalg.norm(xs - xs.mean(axis=2, keepdims=True), axis=(2, 3))
    seen = growth < FALLEN  # where the spread is far above round-off
    error = np.where(seen, abs(spread * growth / spread[:, :1] - 1), 0.0)
    return off.max(axis=1), error.max(axis=1)


def _log_energy(xs: Any, B: Any) -> Any:
    r"""$\log \frac1{n^2}\sum_{ij} e^{\beta\langle x_i, Bx_j\rangle}$, from the definition."""
    import numpy as np
    from scipy.special import logsumexp

    logits = BETA * np.einsum("rtia,rab,rtjb->rtij", xs, B, xs)
    return logsumexp(logits, axis=(2, 3)) - 2 * np.log(xs.shape[2])


def authors_step(cell: Cell) -> "xarray.Dataset":
    r"""The authors' scheme on rows, $X \leftarrow X + h\,\mathrm{softmax}(\beta XBX^\top)\,XV$, rows divided by their
    norms, against the library's scheme `euler-retract` with $V^\top$ and with $V$, after twenty steps.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray
    from scipy.special import softmax

    import attnflow as af
    from attnflow.flows.steps import fixed_steps

    (B,), (V,), (x,) = draw("ginibre", np.random.default_rng(cell["seed"]), draws=1, n=cell["n"], d=cell["d"])
    rows, h, steps = x, 0.1, 20
    for _ in range(steps):
        rows = rows + h * softmax(BETA * rows @ B @ rows.T, axis=1) @ rows @ V
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    @jax.jit
    def ours(value: Any) -> Any:
        model = af.SelfAttention(af.Softmax(beta=BETA, B=B, V=value))
        step = fixed_steps()["euler-retract"]
        start = (jnp.asarray(x), jnp.asarray(x))
        return jax.lax.fori_loop(0, steps, lambda _, s: step(lambda f, y: f(y), model, 0.0, h, s, None, "dense"), start)

    def off(value: Any) -> float:
        return float(abs(np.asarray(ours(jnp.asarray(value))[1]) - rows).max())

    return xarray.Dataset({"transposed": off(V.T), "as_given": off(V)})


def size_of_values(cell: Cell) -> "xarray.Dataset":
    """Mean of |Vx|² over draws, with its standard error, for every ensemble."""
    import numpy as np
    import xarray

    names, d, draws = list(ENSEMBLES), cell["d"], cell["draws"]
    rng = np.random.default_rng(cell["seed"])

    def squares(name: str) -> Any:
        _, V, x = draw(name, rng, draws=draws, n=1, d=d)
        return (np.einsum("rab,rb->ra", V, x[:, 0]) ** 2).sum(axis=1)

    samples = np.array([squares(name) for name in names])
    return xarray.Dataset(
        {
            "mean": ("ensemble", samples.mean(axis=1)),
            "stderr": ("ensemble", samples.std(axis=1, ddof=1) / np.sqrt(draws)),
        },
        coords={"ensemble": names},
    )
