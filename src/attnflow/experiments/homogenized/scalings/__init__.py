r"""Random layers and their three limits: what depth, heads and the size of a step do.

Two tokens in dimension 4 in the stochastic and the mixed scaling, at several depths and numbers of heads, against the
limit; four tokens on $S^2$ in the deterministic one, against the averaged equation; the noise read as Itô's and as
Stratonovich's; heads of low rank; tokens that coincide.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from .claims import CLAIMS, DEPTHS, INTEGRATED, MIXED, RANKS, SETTINGS
from .figures import common_noise, depth_and_heads, deviation_from_the_average, two_readings_of_the_noise

if TYPE_CHECKING:
    import xarray

    from attnflow import Run

DETERMINISTIC = 600  # replicas


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    replicas = 40_000 if full else 5000  # one number for all, so that they share their programs
    layers = [
        {"part": "layers", "beta": beta, "v": v, "layers": L, "heads": H, "replicas": replicas}
        for depths, v, betas in ((DEPTHS, 0.0, (0.0, 1.0, 3.0) if full else (1.0,)), (MIXED, 1.0, (0.0,)))
        for beta in betas
        for L, H in (depths if full else depths[:3])
    ]
    return [
        *layers,
        {"part": "limit", "beta": 1.0, "replicas": replicas},
        {"part": "deterministic", "replicas": DETERMINISTIC},
        *({"part": "integrators", "q0": q0, "T": T, "replicas": replicas} for q0, T in INTEGRATED),
        *({"part": "rank", "rank": rank, "replicas": 800_000 if full else 40_000} for rank in RANKS),
        {"part": "coincident", "replicas": replicas},
        {"part": "sphere"},
    ]


def compute(cell: Cell) -> Any:
    parts = {
        "layers": _layers,
        "limit": _limit,
        "deterministic": _deterministic,
        "integrators": _integrators,
        "rank": _rank,
        "coincident": _coincident,
        "sphere": _sphere,
    }
    return parts[cell["part"]](cell)


def two_tokens(**options: Any) -> Any:
    """Layers for two tokens: mixed, which without a mean is stochastic, so that all cells share their programs.

    Weights are drawn as far as the tokens see them, which has the same law and takes a third of the time.
    """
    import attnflow as af

    return af.RandomLayers(**options, scaling="mixed", draw="projected")


def _layers(cell: Cell) -> "xarray.Dataset":
    """Two tokens, orthogonal at first, at time 1."""
    import xarray

    from ..two_tokens.starts import inner_products, pair, seeded

    L, H = cell["layers"], cell["heads"]
    model = two_tokens(beta=cell["beta"], heads=H, eta=(H / L) ** 0.5, mean=cell["v"])
    return xarray.Dataset(inner_products(model, pair(0.0, 4), 1.0, cell["replicas"], seeded(cell, L, H)))


def _limit(cell: Cell) -> "xarray.Dataset":
    """The same, by the limit's own steps."""
    import xarray

    import attnflow as af

    from ..two_tokens.starts import inner_products, pair, seeded

    model = af.RandomLayers(beta=cell["beta"], eta=200**-0.5).limit()
    return xarray.Dataset(inner_products(model, pair(0.0, 4), 1.0, cell["replicas"], seeded(cell)))


def _deterministic(cell: Cell) -> "xarray.Dataset":
    """The distance of four tokens from the averaged flow at time 1, rms over replicas, from one start.

    The start is fixed: how fast the deviation over sqrt(eta/H) becomes constant depends on it.
    """
    import numpy as np
    import xarray

    import attnflow as af

    from ..two_tokens.starts import last_states, seeded

    found, errors = [], []
    x0 = af.sphere.weyl(n=4, d=3)
    models = [af.RandomLayers(beta=2.0, heads=H, eta=eta, mean=1.0, scaling="deterministic") for eta, H in SETTINGS]
    average = af.simulate(models[0].limit(), x0, t1=1.0, save=1, solver="rk4", dt=0.02)
    for k, model in enumerate(models):
        x = last_states(model, x0, 1.0, cell["replicas"], seeded(cell, k))
        square = np.sum((x - np.asarray(average.final)) ** 2, axis=(1, 2))
        found.append(np.sqrt(square.mean()))
        errors.append(square.std() / np.sqrt(len(square)) / 2 / found[-1])
    return xarray.Dataset(
        {
            "deviation": ("setting", found),
            "stderr": ("setting", errors),
            "unit": ("setting", [np.sqrt(eta / H) for eta, H in SETTINGS]),
        }
    )


def _integrators(cell: Cell) -> "xarray.Dataset":
    """Layers, Euler's scheme for the equation of Itô, Heun's for that of Stratonovich, and the backward equation."""
    import numpy as np
    import xarray

    from ..two_tokens.starts import inner_products, pair, sd_error, seeded
    from .witness import backward, diffrax_paths

    q0, T, replicas = cell["q0"], cell["T"], cell["replicas"]
    label = round(10 * T + 100 * abs(q0))
    model = two_tokens(beta=1.0, eta=0.1)
    layers = inner_products(model, pair(q0, 4), T, replicas, seeded(cell, label))
    found = {"layers": layers["mean"], "layers_stderr": layers["mean_stderr"]}
    for k, name in enumerate(("euler", "heun")):
        q = diffrax_paths(
            pair(q0, 4),
            T,
            beta=1.0,
            dt=0.01,
            replicas=replicas,
            key=seeded(cell, label, k),
            stratonovich=name == "heun",
        )
        found |= {name: q.mean(), f"{name}_stderr": q.std() / np.sqrt(replicas)}
        found |= {f"{name}_sd": q.std(), f"{name}_sd_stderr": sd_error(q.var(), np.mean((q - q.mean()) ** 4), replicas)}
    ts = np.linspace(0, T, 11)[1:]
    for name, stratonovich in (("ito", False), ("stratonovich", True)):
        found[name] = ("time", backward(q0, ts, d=4, beta=1.0, stratonovich=stratonovich)[0])
    return xarray.Dataset(found, coords={"time": ts})


def _rank(cell: Cell) -> "xarray.Dataset":
    """What two tokens with q = 0.3 read at beta = 1.5, from the covariance of one layer's displacements."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    from ..two_tokens.starts import pair, seeded

    x = jnp.asarray(pair(0.3, 4))
    model = af.RandomLayers(beta=1.5, eta=1.0, rank=cell["rank"] or None)

    def products(key):
        f = model.force(0.0, x, None, key=key)  # eta = 1: the displacement itself, V m
        return jnp.stack([jnp.sum(f * f) / 2, jnp.sum(f[0] * f[1])])

    keys = jax.random.split(seeded(cell, cell["rank"]), cell["replicas"])
    seen = np.asarray(jax.jit(lambda keys: jax.lax.map(products, keys, batch_size=2000))(keys))
    return xarray.Dataset(
        {"covariance": ("entry", seen.mean(0)), "stderr": ("entry", seen.std(0) / np.sqrt(cell["replicas"]))}
    )


def _coincident(cell: Cell) -> "xarray.Dataset":
    """Tokens at one place: their mean distance after fifty layers, for each number of heads and mean of V."""
    import numpy as np
    import xarray

    import attnflow as af

    from ..two_tokens.starts import inner_products, last_states, pair, seeded

    apart = []
    for k, (H, v) in enumerate(((1, 0.0), (4, 1.0))):
        model = two_tokens(beta=1.0, heads=H, eta=(H / 50) ** 0.5, mean=v)
        apart.append(inner_products(model, pair(1.0, 4), 1.0, cell["replicas"], seeded(cell, k))["distance"])
    x = np.asarray(af.sphere.uniform(n=4, d=3, key=seeded(cell, 3)))[[0, 1, 2, 1]]
    model = af.RandomLayers(beta=2.0, heads=4, eta=0.02, mean=1.0, scaling="deterministic")
    x = last_states(model, x, 1.0, DETERMINISTIC, seeded(cell, 4))
    return xarray.Dataset({"apart": ("case", [*apart, np.abs(x[:, 1] - x[:, 3]).max()])})


def _sphere(cell: Cell) -> "Run":
    """Many tokens on the sphere under common noise, for the picture."""
    import attnflow as af

    from ..two_tokens.starts import seeded

    x0 = af.sphere.uniform(n=64, d=3, key=seeded(cell, 0))
    model = af.RandomLayers(beta=1.0, eta=0.1)
    return af.simulate(model, x0, t1=12.0, save=601, solver="layers", key=seeded(cell, 1))


EXPERIMENT = Experiment(
    id="homogenized-scalings",
    paper="homogenized",
    title="Random layers: three limits, and how the noise is to be read",
    summary="depth, heads and step enter through one number; noise shared by all tokens; Itô and not Stratonovich",
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[depth_and_heads, deviation_from_the_average, two_readings_of_the_noise, common_noise],
    parameters={"replicas": Parameter("number of replicas", bounds=(100, 1000000), where={"part": "layers"})},
)
