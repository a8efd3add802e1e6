r"""What the theory says in closed form, against particles and against formulas written a second time.

Two clusters approach by a scalar equation, whose case of no mass is a hyperbolic tangent; patterns grow out of the
uniform measure at rates given by Bessel functions; tokens start in one hemisphere with a probability that Wendel found;
one layer on a long context either merges all tokens or none; and a place of the normalisation is a speed of clustering.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import (
    CASES,
    CLAIMS,
    FASTEST,
    HEMISPHERES,
    HUGE,
    LONG,
    RHOS,
    START,
)
from .figures import growth_of_patterns, long_context, two_clusters, where_to_normalise
from .hemisphere import in_a_hemisphere

if TYPE_CHECKING:
    import numpy
    import xarray

SAVED = 101  # times kept of two tokens: cells of one clock share a compiled program
MODES = 24  # patterns that are measured at once; they are too small to feel one another
END = {"post": 12.0, "ngpt": 24.0, "pre": 1e4, "peri": 1e4}  # before rounding is seen; lengths far beyond 1


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    pairs = [("SA", 4.0, p, 50.0) for p in (0.5, 0.3, 0.05)] + [("shifted USA", 4.0, 0.3, 120.0)]
    if full:
        pairs += [("SA", b, p, 2e4) for b in (0.0, 9.0) for p in (0.5, 0.3, 0.01)] + [("USA", 4.0, 0.3, 2.0)]
    clusters = [{"part": "clusters", "kind": k, "beta": b, "p": p, "t1": t} for k, b, p, t in pairs]
    light = [{"part": "light", "beta": b} for b in (0.0, 3.0, 30.0)]
    merging = [{"part": "merging", "p": p} for p in (0.5, 0.3, 0.05)]
    grown = [("SA", float(b), 1.0) for b in FASTEST]
    if full:  # USA is faster by e^β
        grown += [("SA", 300.0, 1.0), ("shifted USA", 4.0, 1.0), ("shifted USA", 30.0, 1.0), ("USA", 4.0, 0.1)]
    growth = [{"part": "growth", "kind": k, "beta": b, "t1": t, "n": 1600 if b > 100 else 400} for k, b, t in grown]
    one = [{"part": "one mode", "beta": 9.0, "k": 4, "n": 400}]
    draws = 100_000 if full else 4000
    wendel = [{"part": "hemisphere", "n": n, "d": d, "draws": draws} for n, d in HEMISPHERES]
    context = [{"part": "context", "rho": rho, "n": 1000 if full else 200} for rho in RHOS]
    norm = [(s, b, 32) for b in (4.0, *((1.0, 30.0) if full else ())) for s in END]
    norm += [(s, 4.0, 256) for s in END if full]
    schemes = [
        {"part": "scheme", "scheme": s, "beta": b, "n": n, "alpha": 0.5 if s == "ngpt" else 1.0} for s, b, n in norm
    ]
    return clusters + light + merging + growth + one + wendel + context + schemes


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "clusters": _clusters,
        "light": _light,
        "merging": _merging,
        "growth": _growth,
        "one mode": _one_mode,
        "hemisphere": _hemisphere,
        "context": _context,
        "scheme": _scheme,
    }
    return parts[cell["part"]](cell)


def _clusters(cell: Cell) -> "xarray.Dataset":
    """Two weighted tokens on the circle, the scalar equation, and SciPy on the equation as printed."""
    import numpy as np
    import xarray
    from scipy.integrate import solve_ivp

    import attnflow as af

    kind, beta, p = cell["kind"], cell["beta"], cell["p"]
    ts = np.linspace(0.0, cell["t1"], SAVED)
    run = _two_tokens(_attention(kind, beta), START, ts, [p, 1 - p])
    printed = solve_ivp(
        lambda t, u: _printed_rate(u, p=p, beta=beta, kind=kind),
        (0.0, ts[-1]),
        [START],
        method="DOP853",
        t_eval=ts,
        max_step=ts[1],  # its interpolant is of lower order than the method
        rtol=1e-12,
        atol=1e-14,
    )
    angles = {
        "particles": np.asarray(run.model.space.distance(run.xs[:, 0], run.xs[:, 1])),
        "reduced": np.asarray(af.reductions.two_cluster_flow(ts, u0=START, p=p, beta=beta, kind=kind)),
        "reference": printed.y[0],
    }
    return xarray.Dataset({name: ("time", u) for name, u in angles.items()}, coords={"time": ts})


def _printed_rate(u: Any, *, p: float, beta: float, kind: str) -> Any:
    """The scalar equation of docs/theory/sphere.md, not taken from the library."""
    import numpy as np

    q, kernel = 1 - p, np.exp(-2 * beta * np.sin(u / 2) ** 2)
    if kind == "SA":
        return -np.sin(u) * kernel * (q / (p + q * kernel) + p / (q + p * kernel))
    return -np.sin(u) * kernel * (np.exp(beta) if kind == "USA" else 1.0)


def _light(cell: Cell) -> "xarray.Dataset":
    """A token of weight 0 and one of weight 1, from the inner product −0.2."""
    import numpy as np
    import xarray

    import attnflow as af

    ts = np.linspace(0.0, 5.0, SAVED)
    run = _two_tokens(_attention("SA", cell["beta"]), np.arccos(-0.2), ts, [0.0, 1.0])
    cosines = {
        "particles": np.asarray((run.xs[:, 0] * run.xs[:, 1]).sum(axis=-1)),
        "closed": np.asarray(af.reductions.light_token(ts, -0.2)),
    }
    return xarray.Dataset({name: ("time", c) for name, c in cosines.items()}, coords={"time": ts})


def _attention(kind: str, beta: float) -> Any:
    import attnflow as af

    return af.Softmax(beta=beta) if kind == "SA" else af.Unnormalized(beta=beta, shifted=kind == "shifted USA")


def _two_tokens(attention: Any, angle: float, ts: Any, weights: Any) -> Any:
    import numpy as np

    import attnflow as af

    x0 = np.array([[np.cos(angle), np.sin(angle)], [1.0, 0.0]])
    return af.simulate(af.SelfAttention(attention), x0, ts=ts, weights=weights, rtol=1e-11, atol=1e-13)


def _merging(cell: Cell) -> "xarray.Dataset":
    """How long two clusters take to meet, by quadrature, and what the leading order of large β says."""
    import numpy as np
    import xarray

    import attnflow as af

    betas, p = np.linspace(1.0, 30.0, 59), cell["p"]
    barrier = np.exp(betas * (1 - np.cos(START))) / (betas * np.sin(START) ** 2)
    variables = {
        "duration": np.asarray(af.reductions.two_cluster_time(betas, u0=START, u1=1e-3 / np.sqrt(betas), p=p)),
        "leading": barrier / (p / (1 - p) + (1 - p) / p),
    }
    return xarray.Dataset({name: ("beta", t) for name, t in variables.items()}, coords={"beta": betas})


def _growth(cell: Cell) -> "xarray.Dataset":
    """An equispaced grid of tokens, disturbed by many small waves at once, each of which grows by itself."""
    import numpy as np
    import xarray

    import attnflow as af

    k = np.arange(1, MODES + 1)
    small = np.full(MODES, 1e-8)
    beta, kind = cell["beta"], cell["kind"]
    rates = {
        "particles": np.log(_amplitudes(cell, k, small) / small) / cell["t1"],
        "closed": np.asarray(af.reductions.growth_rate(k, beta=beta, kind=kind)),
        "reference": _rates_by_fourier(k, beta, kind),
    }
    variables = {name: ("k", r) for name, r in rates.items()} | {"fastest": int(af.reductions.fastest_mode(beta))}
    return xarray.Dataset(variables, coords={"k": k})


def _one_mode(cell: Cell) -> "xarray.Dataset":
    import numpy as np
    import xarray

    small = np.array([1e-6])
    amplitude = _amplitudes({**cell, "kind": "SA", "t1": 1.0}, np.array([cell["k"]]), small)
    return xarray.Dataset({"rate": float(np.log(amplitude / small)[0])})


def _amplitudes(cell: Cell, k: Any, small: Any) -> "numpy.ndarray":
    """Of the waves sin(k s) in the displacement of the tokens at the end."""
    import numpy as np

    import attnflow as af

    grid = 2 * np.pi * np.arange(1, cell["n"] + 1) / cell["n"]
    waves = np.sin(np.outer(k, grid))
    angles = grid + small @ waves
    x0 = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # Steps of fixed length: an adaptive solver looks at the tokens, which hardly move, and not at the small waves.
    model, t1 = af.SelfAttention(_attention(cell["kind"], cell["beta"])), cell["t1"]
    x = np.asarray(af.simulate(model, x0, ts=[0.0, t1], solver="rk4", dt=t1 / 50).final)
    across = x[:, 1] * np.cos(grid) - x[:, 0] * np.sin(grid)
    along = x[:, 0] * np.cos(grid) + x[:, 1] * np.sin(grid)
    return 2 * waves @ np.arctan2(across, along) / cell["n"]


def _rates_by_fourier(k: Any, beta: float, kind: str) -> "numpy.ndarray":
    """The Bessel functions as what they are, Fourier coefficients of the kernel."""
    import numpy as np

    coefficients = np.fft.rfft(np.exp(beta * (np.cos(2 * np.pi * np.arange(512) / 512) - 1))).real / 512
    scale = {"SA": 1 / coefficients[0], "USA": np.exp(beta), "shifted USA": 1.0}[kind]
    return k**2 * coefficients[k] / beta * scale


def _hemisphere(cell: Cell) -> "xarray.Dataset":
    """How many of many draws lie in an open hemisphere."""
    import numpy as np
    import xarray

    import attnflow as af

    n, d, draws = cell["n"], cell["d"], cell["draws"]
    x = np.random.default_rng([cell["seed"], n, d]).normal(size=(draws, n, d))  # lengths do not matter
    share = in_a_hemisphere(x).mean()
    return xarray.Dataset(
        {
            "share": share,
            "stderr": np.sqrt(share * (1 - share) / draws),
            "closed": af.reductions.hemisphere_probability(n, d),
        }
    )


def _context(cell: Cell) -> "xarray.Dataset":
    """The cosine of two outputs of one layer: the closed form, and tokens through softmax attention."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    rho, n = cell["rho"], cell["n"]
    c = np.linspace(0.0, 4.0, 161)
    ns = np.array(LONG)
    turning = 1 / (1 - rho)
    probes = np.array(CASES) * turning  # below, at and above the critical value
    # The rows of a Cholesky factor are tokens with the wanted inner products.
    tokens = jnp.asarray(np.linalg.cholesky((1 - rho) * np.eye(n) + rho))
    layer = jax.jit(lambda beta: af.Softmax(beta=beta)(tokens[:2], tokens))
    outputs = [np.asarray(layer(beta)) for beta in probes * np.log(n)]
    return xarray.Dataset(
        {
            "cosine": (("n", "c"), np.asarray(af.reductions.long_context_cosine(rho, c[None], ns[:, None]))),
            "limit": ("c", np.asarray(af.reductions.long_context_cosine(rho, c))),
            "tokens": ("case", [y[0] @ y[1] / np.linalg.norm(y[0]) / np.linalg.norm(y[1]) for y in outputs]),
            "closed": ("case", np.asarray(af.reductions.long_context_cosine(rho, probes, n))),
            "far": ("case", np.asarray(af.reductions.long_context_cosine(rho, probes, HUGE))),
            "at_infinity": ("case", np.asarray(af.reductions.long_context_cosine(rho, probes))),
        },
        coords={"c": c, "n": ns, "case": list(CASES)},
    )


def _scheme(cell: Cell) -> "xarray.Dataset":
    """Tokens of one hemisphere under a normalisation scheme: how far their directions spread within clusters."""
    import numpy as np
    import xarray

    import attnflow as af

    ts = np.concatenate([[0.0], np.geomspace(0.05, END[cell["scheme"]], 120)])
    x0 = np.asarray(af.sphere.weyl(n=cell["n"], d=3)) + np.array([1.5, 0.0, 0.0])
    x0 /= np.linalg.norm(x0, axis=1, keepdims=True)
    model = af.models.NormalizedAttention(beta=cell["beta"], scheme=cell["scheme"], alpha=cell["alpha"])
    xs = np.asarray(af.simulate(model, x0, ts=ts, rtol=1e-10, atol=1e-13).xs)
    lengths = np.linalg.norm(xs, axis=-1, keepdims=True)
    directions = xs / lengths
    # Those who have met at the end; at low temperature there are several clusters, which stay apart.
    labels = af.clusters(directions[-1], eps=0.1, space=af.Sphere()).labels
    groups = [directions[:, labels == label] for label in np.unique(labels)]
    squares = sum(((g - g.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2)) for g in groups)
    return xarray.Dataset(
        {
            "variance": ("time", squares / cell["n"]),
            "length": ("time", lengths.mean(axis=(1, 2))),
            "clusters": len(groups),
        },
        coords={"time": ts},
    )


EXPERIMENT = Experiment(
    id="perspective-closed-forms",
    paper="perspective",
    title="Closed forms: two clusters, growth of patterns, long context, normalisation",
    summary=(
        "Where the theory has a formula, particles must follow it. Two clusters approach by a scalar equation; small "
        "patterns grow out of the uniform measure at rates of Bessel functions, the fastest near the mode √(2β); one "
        "layer on n tokens at β = c log n merges them or not, with a jump in c; and tokens cluster exponentially fast "
        "or like a power of time, depending on where a transformer normalises."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[two_clusters, growth_of_patterns, long_context, where_to_normalise],
)
