"""What `mean_field` computes on the circle."""

from typing import TYPE_CHECKING, Any

from ... import Cell
from .claims import MERGER, MODES

if TYPE_CHECKING:
    import numpy
    import xarray

TOKENS = (4, 8, 16, 32, 64)  # tokens at quantiles
SAVED = 101  # at all scales, so that all laws on one grid share a program
SHOWN = 160  # tokens beside a density
FINE, FINER = 5_000, 40_000  # number of equal masses that represent a density


def smooth(angle: "numpy.ndarray") -> "numpy.ndarray":
    """A density on the circle without symmetry."""
    import numpy as np

    return (1 + 0.4 * np.cos(angle - 0.7) + 0.2 * np.sin(2 * angle + 0.3)) / (2 * np.pi)


def level(angle: "numpy.ndarray") -> "numpy.ndarray":
    """Its mass between the angle 0 and this one."""
    import numpy as np

    def primitive(a: "numpy.ndarray | float") -> "numpy.ndarray":
        return np.asarray(a + 0.4 * np.sin(a - 0.7) - 0.1 * np.cos(2 * a + 0.3))

    return (primitive(angle) - primitive(0.0)) / (2 * np.pi)


def rough(angle: "numpy.ndarray") -> "numpy.ndarray":
    """The uniform density with small perturbations of all modes up to 24."""
    import numpy as np

    phase = np.random.default_rng(3).uniform(0, 2 * np.pi, 24)
    k = np.arange(1, 25)
    return 1 + 0.03 * np.sum(np.cos(angle[..., None] * k + phase), axis=-1)


def concentration(cell: Cell) -> "xarray.Dataset":
    """A law that becomes a sum of Diracs, and tokens from its quantiles."""
    import numpy as np

    import attnflow as af

    model = af.SelfAttention(beta=cell["beta"])
    law = af.mean_field(model, rough, ts=np.linspace(0, 20, SAVED), cells=cell["cells"])
    run = af.simulate(model, law.quantiles(SHOWN, at=0), ts=law.ts)
    data = law.to_xarray()[["density"]]
    data["angle"] = ("cell", law.centres[0])
    data["token"] = (("time", "number"), np.arctan2(run.xs[..., 1], run.xs[..., 0]) % (2 * np.pi))
    data["energy"] = ("time", law.energy())
    data["unresolved"] = ("time", law.unresolved)
    return data


def growth(cell: Cell) -> "xarray.Dataset":
    """All modes at once, initially too small to interact."""
    import numpy as np
    import xarray
    from scipy.special import ive

    import attnflow as af

    beta, k = cell["beta"], np.array(MODES)
    attention = af.Softmax(beta=beta) if cell["clock"] == "SA" else af.Unnormalized(beta=beta, shifted=True)
    norm = ive(0, beta) if cell["clock"] == "SA" else 1.0
    rate = k**2 * ive(k, beta) / (beta * norm)
    small = 1e-7
    # So long that the fastest mode reaches order one.
    ts = np.linspace(0, np.log(3 / small) / rate.max(), SAVED)
    law = af.mean_field(
        af.SelfAttention(attention),
        lambda angle: 1 + small * np.sum(np.cos(angle[..., None] * k), axis=-1),
        ts=ts,
        cells=cell["cells"],
    )
    amplitude = np.stack([2 * law.mean(lambda angle, k=k: np.cos(k * angle)) for k in MODES])
    at = 10
    return xarray.Dataset(
        {
            "amplitude": (("k", "time"), amplitude),
            "rate": ("k", rate),
            "measured": ("k", np.log(amplitude[:, at] / amplitude[:, 0]) / ts[at]),
        },
        coords={"time": ts, "k": k},
    )


def order(cell: Cell) -> "xarray.Dataset":
    """The distance in L1 of the averages of cells to those of a Fourier method."""
    import numpy as np
    import xarray

    import attnflow as af

    from . import witness

    beta, t1, n = cell["beta"], cell["t1"], cell["cells"]
    law = af.mean_field(af.SelfAttention(beta=beta), smooth, ts=np.linspace(0, t1, SAVED), cells=n)
    averages = witness.cell_averages(witness.by_fourier(smooth, beta, t1), n)
    return xarray.Dataset({"error": np.sum(np.abs(law.density[-1] - averages)) * law.width[-1]})


def random_tokens(cell: Cell) -> "xarray.Dataset":
    """Independent tokens: errors of the first mode, and W1, over realisations."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    n, beta, t1 = cell["n"], cell["beta"], cell["t1"]
    grid = np.linspace(0, 2 * np.pi, 4097)
    at_level, angle = jnp.asarray(level(grid)), jnp.asarray(grid)

    def sampler(key):
        drawn = jnp.interp(jax.random.uniform(key, (n,)), at_level, angle)
        return jnp.stack([jnp.cos(drawn), jnp.sin(drawn)], axis=-1)

    model = af.SelfAttention(beta=beta)
    result = af.ensemble(
        model,
        sampler,
        realizations=cell["realizations"],
        ts=[t1],
        reduce=af.flows.LastState(),
        key=jax.random.key(cell["seed"]),
        dt=0.2,
    )
    law = af.mean_field(model, smooth, ts=np.linspace(0, t1, SAVED), cells=256)
    fine = np.asarray(law.quantiles(FINE))
    tokens = np.asarray(result.values)
    first = tokens.mean(axis=1) - mean_vector(law)
    distances = af.measures.wasserstein_circle(tokens, fine, p=1)
    square = np.sum(first**2, axis=1)
    count = np.sqrt(cell["realizations"])
    return xarray.Dataset(
        {
            "square": square.mean(),
            "square_error": square.std(ddof=1) / count,
            "W1": np.mean(distances),
            "W1_error": np.std(distances, ddof=1) / count,
        }
    )


def mean_vector(law: Any) -> "numpy.ndarray":
    """The mean of the last law, a vector of the plane."""
    import numpy as np

    return np.array([law.mean(np.cos)[-1], law.mean(np.sin)[-1]])


def quantile_tokens(cell: Cell) -> "xarray.Dataset":
    """Tokens at the quantiles of the initial law, moved by SciPy: characteristics of the equation."""
    import numpy as np
    import xarray

    import attnflow as af

    from . import witness

    beta, t1 = cell["beta"], cell["t1"]
    law = af.mean_field(af.SelfAttention(beta=beta), smooth, ts=np.linspace(0, t1, SAVED), cells=cell["cells"])
    fine = np.asarray(law.quantiles(FINER))
    series = witness.by_fourier(smooth, beta, t1)
    exact = 2 * np.pi * np.array([series[-1].real, series[-1].imag])  # of exp(i angle)
    field = witness.softmax_on_the_circle(beta)
    to_law, to_exact, w1 = [], [], []
    for n in TOKENS:
        angle = witness.by_characteristics(field, witness.quantiles(level, n), np.full(n, 1 / n), t1)
        first = np.array([np.mean(np.cos(angle)), np.mean(np.sin(angle))])
        to_law.append(np.linalg.norm(first - mean_vector(law)))
        to_exact.append(np.linalg.norm(first - exact))
        w1.append(af.measures.wasserstein_circle(np.stack([np.cos(angle), np.sin(angle)], axis=-1), fine, p=1))
    return xarray.Dataset(
        {"to_law": ("n", to_law), "to_exact": ("n", to_exact), "W1": ("n", w1)}, coords={"n": list(TOKENS)}
    )


def merger(cell: Cell) -> "xarray.Dataset":
    """Two Diracs, each in one cell, that attract each other: their angle obeys a scalar equation."""
    import numpy as np
    import xarray
    from scipy.integrate import quad

    import attnflow as af

    beta, p, n = MERGER["beta"], MERGER["p"], cell["cells"]
    density = np.zeros(n)
    apart = n * MERGER["turns"] // 32
    density[[n // 4, n // 4 + apart]] = p, 1 - p
    u0 = 2 * np.pi * apart / n

    def rate(u: float) -> float:
        near = np.exp(-2 * beta * np.sin(u / 2) ** 2)
        return np.sin(u) * near * ((1 - p) / (p + (1 - p) * near) + p / (1 - p + p * near))

    exact = quad(lambda u: 1 / rate(u), u0 / 2, u0, epsabs=1e-10)[0]
    law = af.mean_field(af.SelfAttention(beta=beta), density, ts=np.linspace(0, 1.25 * exact, SAVED), cells=n)
    tokens = np.stack([np.asarray(law.quantiles(200, at=at)) for at in range(SAVED)])
    angle = np.arctan2(tokens[..., 1], tokens[..., 0])
    light = round(200 * p)  # the first tokens are those of the first cluster
    separation = angle[:, light:].mean(axis=1) - angle[:, :light].mean(axis=1)
    return xarray.Dataset(
        {"angle": ("time", separation), "exact": exact, "measured": np.interp(-u0 / 2, -separation, law.ts)},
        coords={"time": law.ts},
    )
