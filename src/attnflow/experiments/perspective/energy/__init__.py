r"""The energy, its gain along the flow, and its least value (section 3 of the paper).

Six weighted tokens on $S^2$ and ten in $S^3$ with a matrix $B$, all deterministic, are followed in time. Their
energies and positions are compared with those of SciPy (tests/witness.py), and the gain of energy with the time
integral of the rate that theory gives. The energy of the uniform measure needs no flow.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter, Results
from .claims import BETA_UNIFORM, CLAIMS, DIMENSIONS, GRIDS

if TYPE_CHECKING:
    import numpy
    import xarray

    from attnflow import Run

END = {"cloud": 5.0, "matrix": 4.0}
MARKED = {"cloud": (0.0, 0.5, 1.0, 2.0, 5.0), "matrix": (0.0, 1.0, 4.0)}  # times of the claims
PANELS, NODES = 20, 10  # of the Gauss–Legendre rule in time
CLOUD = 64  # tokens in each random cloud


def cells(scale: str) -> list[Cell]:
    clouds = [{"part": "cloud", "kind": kind, "n": 6, "d": 3, "beta": 2.0} for kind in ("SA", "USA")]
    matrices = [{"part": "matrix", "sign": sign, "n": 10, "d": 4, "beta": 1.5} for sign in (1, -1)]
    draws = 4096 if scale == "full" else 256
    uniform = [{"part": "uniform", "d": d, "beta": BETA_UNIFORM, "draws": draws} for d in DIMENSIONS]
    return clouds + matrices + [{"part": "symmetry", "n": 6, "d": 3, "beta": 2.0}] + uniform


def compute(cell: Cell) -> Any:
    return {"cloud": _cloud, "matrix": _matrix, "symmetry": _symmetry, "uniform": _uniform}[cell["part"]](cell)


def _cloud(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    """Tokens of weights 1/21, ..., 6/21."""
    import numpy as np

    import attnflow as af

    attention = af.Softmax(beta=cell["beta"]) if cell["kind"] == "SA" else af.Unnormalized(beta=cell["beta"])
    weights = np.arange(1, cell["n"] + 1) / 21
    return _follow(cell, af.SelfAttention(attention), scale="E", weights=weights)


def _matrix(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    r"""$B_{kl} = \cos(k + l)$, which is symmetric, and $V = \pm B$."""
    import numpy as np

    import attnflow as af

    k = np.arange(1.0, cell["d"] + 1)
    B = np.cos(np.add.outer(k, k))
    return _follow(cell, af.SelfAttention(af.Softmax(beta=cell["beta"], B=B, V=cell["sign"] * B)), scale="E_B")


def _symmetry(cell: Cell) -> "xarray.Dataset":
    """The weighted tokens, and the same with the last one split, all rotated, and all permuted; transformed back."""
    import numpy as np
    import xarray

    import attnflow as af

    ts = np.union1d(_quadrature(END["cloud"])[0], MARKED["cloud"])  # as above, so that the program is shared
    x0 = np.asarray(af.sphere.weyl(n=cell["n"], d=cell["d"]))
    w = np.arange(1, cell["n"] + 1) / 21
    turn = np.linalg.qr(np.cos(np.add.outer(np.arange(3.0), 2 * np.arange(3.0))))[0]
    order = np.array([3, 0, 5, 1, 4, 2])

    def follow(x: Any, weights: Any) -> "numpy.ndarray":
        run = af.simulate(af.SelfAttention(beta=cell["beta"]), x, ts=ts, weights=weights, rtol=1e-11, atol=1e-13)
        return np.asarray(run.xs)

    halves = follow(np.vstack([x0, x0[-1:]]), np.concatenate([w[:-1], [w[-1] / 2, w[-1] / 2]]))
    variables = {
        "x": follow(x0, w),
        "first_half": halves[:, :-1],
        "second_half": np.concatenate([halves[:, :-2], halves[:, -1:]], axis=1),
        "turned": follow(x0 @ turn, w) @ turn.T,
        "reordered": follow(x0[order], w[order])[:, np.argsort(order)],
    }
    return xarray.Dataset({k: (("time", "token", "coordinate"), v) for k, v in variables.items()}, coords={"time": ts})


def _follow(cell: Cell, model: Any, *, scale: str, weights: Any = None) -> "tuple[xarray.Dataset, Run]":
    """Energy, dissipation and tokens at the marked times and at the nodes of a quadrature in time."""
    import numpy as np
    import xarray

    import attnflow as af

    nodes, gauss = _quadrature(END[cell["part"]])
    ts = np.union1d(nodes, MARKED[cell["part"]])
    x0 = af.sphere.weyl(n=cell["n"], d=cell["d"])
    run = af.simulate(model, x0, ts=ts, weights=weights, rtol=1e-11, atol=1e-13)
    rate = np.asarray(af.diagnostics.dissipation(run, scale=scale))
    data = {
        "energy": ("time", np.asarray(af.energy(run, scale=scale))),
        "dissipation": ("time", rate),
        "integral": gauss @ rate[np.searchsorted(ts, nodes)],
    }
    return xarray.Dataset(data, coords={"time": ts}), run


def _quadrature(t1: float) -> "tuple[numpy.ndarray, numpy.ndarray]":
    """Nodes and weights on [0, t1], the same Gauss–Legendre rule on each of equal panels."""
    import numpy as np

    node, weight = np.polynomial.legendre.leggauss(NODES)
    half = t1 / PANELS / 2
    middles = half * (2 * np.arange(PANELS) + 1)
    return np.add.outer(middles, half * node).ravel(), np.tile(half * weight, PANELS)


def _uniform(cell: Cell) -> "xarray.Dataset":
    """The energy of the uniform measure from random clouds, and on circle and sphere from a grid."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    d, beta, draws = cell["d"], cell["beta"], cell["draws"]
    attention = af.Softmax(beta=beta)

    keys = jax.random.split(jax.random.key(cell["seed"]), draws)
    clouds = np.asarray(jax.vmap(lambda key: af.sphere.uniform(n=CLOUD, d=d, key=key))(keys))
    energies = np.exp(beta * np.einsum("rid,rjd->rij", clouds, clouds)).mean(axis=(1, 2)) / (2 * beta)
    # Without the self-energy of tokens the mean is the energy of the uniform measure.
    apart = (energies - np.exp(beta) / (2 * beta * CLOUD)) * CLOUD / (CLOUD - 1)
    variables = {"sample": apart.mean(), "stderr": apart.std(ddof=1) / np.sqrt(draws)}
    if d in GRIDS:
        x, w = _grid(d)
        variables["grid"] = float(
            attention.energy(af.Sphere()).value(jax.numpy.asarray(x), jax.numpy.asarray(w), scale="E")
        )
    return xarray.Dataset(variables)


def _grid(d: int) -> "tuple[numpy.ndarray, numpy.ndarray]":
    """Points and weights that integrate polynomials of degree 31 exactly over the circle or the sphere."""
    import numpy as np

    angles = 2 * np.pi * np.arange(32) / 32
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if d == 2:
        return circle, np.full(32, 1 / 32)
    heights, weights = np.polynomial.legendre.leggauss(16)
    points = [np.column_stack([np.sqrt(1 - z * z) * circle, np.full(32, z)]) for z in heights]
    return np.concatenate(points), np.repeat(weights / 2, 32) / 32


def energy_and_its_gain(results: Results) -> Any:
    """Left: the energy of six weighted tokens climbs, faster without the denominator. Right: with a symmetric matrix B
    it climbs for V = B and falls for V = −B. Dots: the energy at the start plus the integral of Σ wᵢ Zᵢ |dxᵢ/dt|² (for
    USA of Σ wᵢ |dxᵢ/dt|²), the trapezium rule over the times of the computation.
    """
    from attnflow import plot

    shown = {"cloud": ("kind", "energy $E(t)$", "{}"), "matrix": ("sign", "energy $E_B(t)$", "$V = {}B$")}
    with plot.style():
        figure = plot.new_figure(8.4, 3.6)
        for axes, (part, (key, label, name)) in zip(figure.subplots(1, 2), shown.items(), strict=True):
            for (cell, data), colour in zip(results.where(part=part), plot.PALETTE.values(), strict=False):
                text = name.format({1: "", -1: "-"}.get(cell[key], cell[key]))
                axes.plot(data["time"], data["energy"], color=colour, label=text)
                gained = data["energy"][0] + data["dissipation"].cumulative_integrate("time")
                axes.plot(data["time"][::8], gained[::8], "o", color=colour, ms=3.2)
            axes.set(xlabel="time $t$", ylabel=label, xlim=(0, END[part]), ylim=(0, None))
            axes.grid()
            axes.legend()
    return figure


EXPERIMENT = Experiment(
    id="perspective-energy",
    paper="perspective",
    title="The energy and its dissipation",
    summary=(
        "Attention with V = B, symmetric, climbs an interaction energy, whose rate is the sum of the squared "
        "speeds of the tokens, weighted by their denominators. Two small deterministic clouds are followed and "
        "compared with numbers of SciPy. The uniform measure has the "
        "least energy of all, which a Bessel function gives."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[energy_and_its_gain],
    parameters={"beta": Parameter("inverse temperature", bounds=(0.1, 30), where={"part": "cloud"})},
)
