r"""Prompts in motion: positional weights, the clock beta-USA, prefixes, and forces at linear cost.

$$ \dot x_j = \beta\, P_{x_j} \sum_{k<j} w_{jk}\, e^{\beta\langle x_j, x_k\rangle}\, x_k , \qquad
   w_{jk} = \frac{e^{-(\lambda/N)(j-k)}}{\sum_{l<j} e^{-(\lambda/N)(j-l)}} , $$

checked against angles integrated by SciPy, a Bessel series by prefix sums in NumPy, and shorter prompts.
"""

import functools
from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CLAIMS, CLOCKS, CLOUDS, PREFIXES, SERIES, SLOPES
from .figures import four_blocks, weights_of_the_past

if TYPE_CHECKING:
    import xarray

TOKENS, BLOCKS, SPREAD, SEED = 64, 4, 0.075, 17  # the authors' animation
MODES = {2: 40, 3: 16}  # of the prefix sums, by dimension; 40 resolve beta = 16 on the circle
LONG, SHORT = 300, 170  # tokens of a prompt, and of the same cut short: more than two tiles of the prefix sums


def cells(scale: str) -> list[Cell]:
    return [
        {"part": "blocks"},
        {"part": "weights", "n": 1000},
        {"part": "series", "n": 512},
        *({"part": "prefix", "normalize": normalize} for normalize in PREFIXES),
        *({"part": "large", "d": d, "n": 4096} for d in CLOUDS),
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {"blocks": _blocks, "weights": _weights, "series": _series, "prefix": _prefix, "large": _large}
    return parts[cell["part"]](cell)


def _blocks(cell: Cell) -> "xarray.Dataset":
    """Four blocks of tokens, each around an angle of its own, at two temperatures; and the angles alone, by SciPy.

    SciPy integrates unnormalised attention, on the clock USA, and is evaluated at the times βt.
    """
    import numpy as np
    import xarray
    from scipy.integrate import solve_ivp

    import attnflow as af

    block = np.repeat(np.arange(BLOCKS), TOKENS // BLOCKS)
    centers = np.linspace(0.1, 1.9, BLOCKS) * np.pi
    theta = centers[block] + SPREAD * np.random.default_rng(SEED).normal(size=TOKENS)
    ts = np.linspace(0, 10, 51)
    w = _by_formula(TOKENS, 1.0)

    def unit(angle: Any) -> Any:
        return np.stack([np.cos(angle), np.sin(angle)], axis=-1)

    def flow(beta: float) -> Any:
        return np.asarray(
            af.simulate(af.models.causal_model(TOKENS, beta), unit(theta), ts=ts, solver="rk4", dt=0.0025).xs
        )

    def by_scipy(beta: float) -> Any:
        def usa(t: float, theta: Any) -> Any:
            u = theta[:, None] - theta[None, :]
            return -np.sum(w * np.sin(u) * np.exp(beta * np.cos(u)), axis=1)

        return solve_ivp(usa, (0, beta * ts[-1]), theta, "DOP853", beta * ts, rtol=1e-12, atol=1e-14).y.T

    runs = {beta: flow(beta) for beta in CLOCKS}
    one = runs[CLOCKS[0]]
    return xarray.Dataset(
        {
            "angle": (("time", "token"), np.unwrap(np.arctan2(one[..., 1], one[..., 0]), axis=0)),
            "block": ("token", block),
            "difference": ("beta", [float(np.abs(runs[beta] - unit(by_scipy(beta))).max()) for beta in CLOCKS]),
        },
        coords={"time": ts, "beta": list(CLOCKS)},
    )


def _by_formula(n: int, slope: float) -> Any:
    """The weights of the module's docstring, row by row."""
    import numpy as np

    lag = np.arange(n)[:, None] - np.arange(n)[None, :]
    w = np.where(lag > 0, np.exp(-slope / n * lag), 0)
    return w / np.maximum(w.sum(axis=1, keepdims=True), 1e-300)


def _weights(cell: Cell) -> "xarray.Dataset":
    """The weights of 40 tokens for the figure, and those of the last of many tokens against the continuum limit."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    n = cell["n"]
    r = (np.arange(n - 1) + 0.5) / n
    end = (n - 0.5) / n

    @functools.partial(jax.jit, static_argnums=0)
    def weights(n: int, slope: Any) -> Any:
        return af.pairsums.weight_matrix(af.models.causal_model(n, slope=slope).pairs, n)

    small = [np.asarray(weights(40, slope)) for slope in SLOPES]
    last = [n * np.asarray(weights(n, slope))[-1, :-1] for slope in SLOPES]
    limit = [1 / end + 0 * r if s == 0 else s * np.exp(s * r) / np.expm1(s * end) for s in SLOPES]
    return xarray.Dataset(
        {
            "small": (("slope", "query", "key"), np.stack(small)),
            "last": (("slope", "r"), np.stack(last)),
            "limit": (("slope", "r"), np.stack(limit)),
        },
        coords={"slope": list(SLOPES), "r": r},
    )


def _series(cell: Cell) -> "xarray.Dataset":
    r"""The speed of angles from prefix sums of $e^{\lambda k/N} e^{-im\theta_k}$ in NumPy, and by two engines."""
    import equinox as eqx
    import jax.numpy as jnp
    import numpy as np
    import xarray
    from scipy.special import iv

    import attnflow as af

    n = cell["n"]
    theta = np.random.default_rng(cell["seed"]).uniform(0, 2 * np.pi, n)
    tangent = np.stack([-np.sin(theta), np.cos(theta)], axis=-1)
    x = jnp.stack([jnp.cos(theta), jnp.sin(theta)], axis=-1)
    field = eqx.filter_jit(lambda model, kernel: af.models.field(model, 0.0, x, None, kernel=kernel))

    def apart(beta: float, modes: int) -> list[float]:
        m = np.arange(1, modes + 1)
        grown = np.exp(np.arange(n) / n)[:, None] * np.exp(-1j * np.outer(theta, m))
        mass = np.cumsum(np.exp(np.arange(n) / n)) - np.exp(np.arange(n) / n)
        sums = np.imag(np.exp(1j * np.outer(theta, m)) * (np.cumsum(grown, axis=0) - grown))
        speed = -2 * sums @ (m * iv(m, beta)) / np.where(mass > 0, mass, 1)
        model = af.models.causal_model(n, beta=beta)
        speeds = [np.sum(np.asarray(field(model, kernel)) * tangent, axis=1) for kernel in ("dense", "spectral:24")]
        return [float(np.abs(f - speed).max()) for f in speeds]

    return xarray.Dataset({"difference": (("case", "engine"), [apart(*case) for case in SERIES])})


def _prefix(cell: Cell) -> "xarray.Dataset":
    """A prompt and its beginning alone, with equal steps, for slope zero and a positive slope."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    kernel, strict = PREFIXES[cell["normalize"]]
    model = af.models.causal_model(LONG, normalize=cell["normalize"], strict=strict)
    x0 = af.sphere.uniform(n=LONG, d=2, key=jax.random.key(cell["seed"]))
    options = {"ts": np.linspace(0, 2, 5), "solver": "euler", "dt": 0.05, "kernel": kernel}

    def apart(slope: float) -> float:
        # The slope is data, zero too: both run the same program.
        sloped = eqx.tree_at(lambda m: m.pairs.slope, model, jnp.asarray(slope / LONG))
        whole, cut = (af.simulate(sloped, x, **options).xs for x in (x0, x0[:SHORT]))
        return float(abs(whole[:, :SHORT] - cut).max())

    slopes = [SLOPES[0], SLOPES[-1]]
    return xarray.Dataset({"difference": ("slope", [apart(slope) for slope in slopes])}, coords={"slope": slopes})


def _large(cell: Cell) -> "xarray.Dataset":
    """Attention of many causal tokens in one walk, less direct sums in NumPy for every 64th one."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    n, betas = cell["n"], CLOUDS[cell["d"]]
    x = af.sphere.uniform(n=n, d=cell["d"], key=jax.random.key(cell["seed"]))
    rows, y = np.arange(63, n, 64), np.asarray(x)
    lag = rows[:, None] - np.arange(n)[None, :]

    @jax.jit
    def walk(beta: Any) -> Any:
        model = af.SelfAttention(af.Softmax(beta), pairs=af.Causal(slope=1 / n))
        return model.force(0.0, x, None, kernel=f"spectral:{MODES[cell['d']]}")

    def apart(beta: float) -> float:
        weight = np.where(lag >= 0, np.exp(beta * (y[rows] @ y.T - 1) - np.maximum(lag, 0) / n), 0)
        exact = weight @ y / weight.sum(axis=1, keepdims=True)
        return float(np.abs(np.asarray(walk(jnp.asarray(beta)))[rows] - exact).max())

    return xarray.Dataset({"difference": ("beta", [apart(beta) for beta in betas])}, coords={"beta": list(betas)})


EXPERIMENT = Experiment(
    id="causal-dynamics",
    paper="causal",
    title="Prompts in motion",
    summary=(
        "Tokens of a prompt attend to earlier ones with weights that decay with distance and sum to one. The flow is "
        "that of unnormalised attention on its own clock; a shortened prompt moves like the beginning of the longer "
        "one; and one pass along the prompt computes the forces of all tokens."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[four_blocks, weights_of_the_past],
)
