r"""The equiangular prediction against particles, and the phase curve (theorems 6.8 and 6.9, figure 3).

Tokens with equal inner products keep them equal, and their common value $g$ solves one scalar equation. Here the
particles are integrated in $\mathbb R^d$, the scalar equation is also solved by SciPy from the formula as printed,
and the time at which $g = 1 - \delta$ is computed in three ways: quadrature, an ODE event, the particles.
"""

import math
from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from .claims import CLAIMS, CROSSED, DELTA
from .figures import particles_over_curve, phase_curve

if TYPE_CHECKING:
    import numpy
    import xarray

SAVED = 201  # times kept in every cell: cells of one shape then share a compiled program


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    flows = [{"part": "flow", "kind": k, "n": n, "beta": 3.0} for k in ("SA", "USA") for n in (5, 32)]
    flows += [{"part": "flow", "kind": "SA", "n": n, "beta": 0.0} for n in (2, 32)]
    if full:
        flows += [{"part": "flow", "kind": k, "n": 256, "beta": b} for k in ("SA", "USA") for b in (1.0, 3.0)]
    random = [{"part": "random", "n": 32, "d": d, "beta": 3.0} for d in ((32, 128, 512, 2048) if full else (32, 512))]
    phase = [{"part": "phase", "n": n, "betas": 91 if full else 37, "delta": DELTA} for n in (32, 128)]
    points = [(n, b) for n in (32, 128) for b in range(9)] if full else [(32, b) for b in CROSSED]
    crossing = [{"part": "crossing", "n": n, "beta": float(b), "delta": DELTA} for n, b in points]
    return flows + random + phase + crossing


def compute(cell: Cell) -> "xarray.Dataset":
    return {"flow": _flow, "random": _random, "phase": _phase, "crossing": _crossing}[cell["part"]](cell)


def _flow(cell: Cell) -> "xarray.Dataset":
    """Orthonormal tokens against the scalar equation."""
    import numpy as np
    import xarray

    import attnflow as af

    n, beta, kind = cell["n"], cell["beta"], cell["kind"]
    ts = np.linspace(0.0, 2.0, SAVED)
    attention = af.Softmax(beta=beta) if kind == "SA" else af.Unnormalized(beta=beta, shifted=False)
    run = af.simulate(af.SelfAttention(attention), af.sphere.orthonormal(n=n, d=n), ts=ts, rtol=1e-11, atol=1e-13)
    inner = _inner_products(run)
    variables = {
        "least": inner.min(axis=1),
        "greatest": inner.max(axis=1),
        "reduced": np.asarray(af.reductions.equiangular_flow(ts, n=n, beta=beta, clock=kind)),
        "reference": _reference(ts, n=n, beta=beta, kind=kind),
    }
    return xarray.Dataset({k: ("time", v) for k, v in variables.items()}, coords={"time": ts})


def _random(cell: Cell) -> "xarray.Dataset":
    """Independent uniform tokens: in high dimension nearly orthonormal, so they should follow the same curve."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    n, beta = cell["n"], cell["beta"]
    ts = np.linspace(0.0, 8.0, SAVED)
    x0 = af.sphere.uniform(n=n, d=cell["d"], key=jax.random.key(cell["seed"]))
    inner = _inner_products(af.simulate(af.SelfAttention(beta=beta), x0, ts=ts))
    low, middle, high = np.quantile(inner, [0.05, 0.5, 0.95], axis=1)
    reference = _reference(ts, n=n, beta=beta, kind="SA")
    worst = np.abs(inner - reference[:, None]).max(axis=1)
    variables = {"low": low, "median": middle, "high": high, "reference": reference, "worst": worst}
    return xarray.Dataset({k: ("time", v) for k, v in variables.items()}, coords={"time": ts})


def _phase(cell: Cell) -> "xarray.Dataset":
    """The phase curve by quadrature, and again as the time of an event of the ODE."""
    import numpy as np
    import xarray

    import attnflow as af

    n, delta = cell["n"], cell["delta"]
    betas = np.linspace(0.0, 9.0, cell["betas"])
    quadrature = np.asarray(af.reductions.phase_time(betas, n=n, delta=delta))
    event = np.array([_event_time(n=n, beta=beta, delta=delta) for beta in betas])
    return xarray.Dataset({"quadrature": ("beta", quadrature), "event": ("beta", event)}, coords={"beta": betas})


def _crossing(cell: Cell) -> "xarray.Dataset":
    """When the particles themselves pass $1 - \\delta$."""
    import numpy as np
    import xarray
    from scipy.interpolate import CubicSpline
    from scipy.optimize import brentq

    import attnflow as af

    n, beta, delta = cell["n"], cell["beta"], cell["delta"]
    event = _event_time(n=n, beta=beta, delta=delta)
    ts = np.linspace(0.0, 1.1 * event, SAVED)
    run = af.simulate(af.SelfAttention(beta=beta), af.sphere.orthonormal(n=n, d=n), ts=ts)
    # 1 - g falls by orders of magnitude, so a spline interpolates its logarithm.
    gap = CubicSpline(ts, np.log(1 - _inner_products(run).mean(axis=1)) - math.log(delta))
    crossing = brentq(gap, 0.5 * event, ts[-1], xtol=1e-12)
    return xarray.Dataset({"crossing": crossing, "event": event})


def _inner_products(run: Any) -> "numpy.ndarray":
    """`(T, pairs)`: the inner products of distinct tokens, as $1 - |x - y|^2/2$, which keeps digits near 1."""
    import numpy as np

    xs = np.asarray(run.xs)
    i, j = np.triu_indices(xs.shape[1], 1)
    return np.stack([1 - ((x[i] - x[j]) ** 2).sum(axis=1) / 2 for x in xs])


def _rate(g: Any, *, n: int, beta: float, kind: str) -> Any:
    """The scalar equation as the paper prints it, not taken from the library."""
    import numpy as np

    factor = 2 * np.exp(beta * g) * (1 - g) * ((n - 1) * g + 1)
    return factor / (np.exp(beta) + (n - 1) * np.exp(beta * g)) if kind == "SA" else factor / n


def _reference(ts: Any, *, n: int, beta: float, kind: str) -> "numpy.ndarray":
    from scipy.integrate import solve_ivp

    solution = solve_ivp(
        lambda t, g: _rate(g, n=n, beta=beta, kind=kind),
        (ts[0], ts[-1]),
        [0.0],
        method="DOP853",
        t_eval=ts,
        max_step=0.05,  # its interpolant is of lower order than the method
        rtol=1e-12,
        atol=1e-14,
    )
    return solution.y[0]


def _event_time(*, n: int, beta: float, delta: float) -> float:
    from scipy.integrate import solve_ivp

    def reached(t: float, g: Any) -> float:
        return g[0] - (1 - delta)

    reached.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
    solution = solve_ivp(
        lambda t, g: _rate(g, n=n, beta=beta, kind="SA"),
        (0.0, 1e4),
        [0.0],
        method="DOP853",
        events=reached,
        rtol=1e-11,
        atol=1e-13,
    )
    return float(solution.t_events[0][0])


EXPERIMENT = Experiment(
    id="perspective-equiangular",
    paper="perspective",
    title="Equiangular tokens and the phase curve",
    summary=(
        "Tokens that start with equal inner products keep them equal, and the common value g(t) solves a scalar "
        "differential equation. In high dimension independent uniform tokens follow the same curve; the time t* at "
        "which it reaches 1 − δ, with δ = 0.001, separates dispersed from clustered tokens in the (t, β) plane."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[particles_over_curve, phase_curve],
    parameters={
        "n": Parameter("number of tokens", bounds=(2, 1000), where={"part": "random"}),
        "d": Parameter("dimension", bounds=(2, 10000), where={"part": "random"}),
        "beta": Parameter("inverse temperature", bounds=(0, 30), where={"part": "random"}),
    },
)
